# SPDX-License-Identifier: BSD-3-Clause
"""test_versions.py: the basic program, on whatever torch is there.

It is what to run first with another version of torch.
"""

from __future__ import annotations

import torch

import torchtraceap
from torchtraceap_dryrun.private_names import check_names


def test_all_names_are_there() -> None:
    check_names()


def test_the_basic_program() -> None:
    with torchtraceap.dry_run() as run:
        assert torch.cuda.is_available()
        model = torch.nn.Linear(64, 10).to("cuda")
        optimizer = torch.optim.AdamW(model.parameters())
        scaler = torch.amp.GradScaler("cuda")
        for _ in range(3):
            batch = torch.randn(32, 64).to("cuda")
            with torch.autocast("cuda", dtype=torch.float16):
                loss = model(batch).square().mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            if torch.isnan(loss):
                break
            run.step()
    assert not torch.cuda.is_available()
    assert model.weight.device.type == "cpu"
    assert [step.waits for step in run.steps[1:]] == [3, 3]
    assert {place.api for place in run.waits} >= {"aten::_local_scalar_dense"}
    assert "backward" in {op.phase for op in run.ops}
