# SPDX-License-Identifier: BSD-3-Clause
"""Copies that convert, checks that give nothing, and indices outside of a tensor."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import torchtraceap
from torchtraceap.dryrun.estimate.launches import launches_of


def test_a_copy_to_the_host_that_waits_is_converted_there() -> None:
    with torchtraceap.dry_run() as run:
        x = torch.ones(8, device="cuda")
        x.to("cpu", torch.half)
        torch.empty(8, dtype=torch.half).copy_(x)
        x.to("cpu", torch.half, non_blocking=True)
    copies = [op.copy.nbytes for op in run.ops if op.copy is not None]
    assert copies == [32, 32, 16]


def test_an_assertion_on_the_device_is_a_launch() -> None:
    with torchtraceap.dry_run() as run:
        torch._assert_async(torch.ones((), device="cuda"))
    assert run.ops[-1].name == "aten::_assert_async"
    assert len(launches_of(run.ops[-1])) == 1
    assert not run.syncs


def _place(at: int) -> torch.Tensor:
    return torch.full((1,), at, device="cuda")


OUTSIDE: dict[str, Callable[[torch.Tensor], object]] = {
    "index": lambda x: x[_place(3)],
    "gather": lambda x: x.gather(0, _place(3)),
    "index_select": lambda x: x.index_select(0, _place(3)),
    "embedding": lambda x: torch.nn.functional.embedding(_place(3), x.view(3, 1)),
    "scatter": lambda x: x.scatter(0, _place(3), 1.0),
    "in place": lambda x: x.index_add_(0, _place(3), x[:1].clone()),
    "target": lambda x: torch.nn.functional.nll_loss(x.view(1, 3), _place(3)),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_known_indices_outside_are_noted_once(name: str) -> None:
    with torchtraceap.dry_run() as run:
        x = torch.ones(3, device="cuda")
        for _ in range(2):
            OUTSIDE[name](x)
    (note,) = (n for n in run.record.notes if "device-side assert" in n)
    assert "test_kernel_ends.py:" in note
    assert "device-side assert" in run.summary()


def test_guessed_indices_are_not() -> None:
    with torchtraceap.dry_run() as run:
        places = torch.randint(5, 9, (1,), device="cuda")
        torch.ones(3, device="cuda")[places]
    assert not run.record.notes
