# SPDX-License-Identifier: BSD-3-Clause
"""Copies that convert, checks that give nothing, and indices outside of a tensor."""

from __future__ import annotations

from collections.abc import Callable

import torch

import torchtraceap
from torchtraceap_dryrun.estimate.launches import launches_of

from .shared_run import Seen


def test_a_copy_to_the_host_that_waits_is_converted_there(seen: Seen) -> None:
    x = torch.ones(8, device="cuda")
    x.to("cpu", torch.half)
    torch.empty(8, dtype=torch.half).copy_(x)
    x.to("cpu", torch.half, non_blocking=True)
    copies = [op.copy.nbytes for op in seen.ops if op.copy is not None]
    assert copies == [32, 32, 16]


def test_an_assertion_on_the_device_is_a_launch(seen: Seen) -> None:
    torch._assert_async(torch.ones((), device="cuda"))
    last = seen.ops[-1]
    assert last.name == "aten::_assert_async" and len(launches_of(last)) == 1
    assert not seen.syncs


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


def test_known_indices_outside_are_noted_once() -> None:
    with torchtraceap.dry_run() as run:
        for name, use in OUTSIDE.items():
            seen = Seen(run)
            for _ in range(2):
                use(torch.ones(3, device="cuda"))
            (note,) = seen.notes
            assert "test_kernel_ends.py:" in note and "device-side assert" in note, name
    assert "device-side assert" in run.summary()


def test_guessed_indices_are_not(seen: Seen) -> None:
    places = torch.randint(5, 9, (1,), device="cuda")
    torch.ones(3, device="cuda")[places]
    assert not seen.notes
