# SPDX-License-Identifier: BSD-3-Clause
"""test_record_size.py: a record holds what is the same once."""

from __future__ import annotations

import torch

from torchtraceap.dryrun.dry_run import dry_run


def test_the_same_tensors_and_lines_are_held_once() -> None:
    with dry_run() as run:
        data = torch.ones(300, 300, device="cuda")
        for _ in range(5):
            data + data
    adds = [op for op in run.ops if op.name == "aten::add"]
    assert len(adds) == 5
    assert len({id(op.stack) for op in adds}) == 1
    assert len({id(info) for op in adds for info in (*op.args, *op.outputs)}) == 1
