# SPDX-License-Identifier: BSD-3-Clause
"""What is called known is what a GPU would have read, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import torchtraceap

from .shared_run import Seen

Make = Callable[[], Tensor]


def _how(make: Make, seen: Seen) -> tuple[str, float]:
    """Return how the sum of what ``make`` gives was known when it was read, and it."""
    read = make().sum().item()
    return seen.syncs[-1].value, read


def _cuda(*shape: int) -> Tensor:
    return torch.ones(shape, device="cuda")


def _grown() -> Tensor:
    x = _cuda(2)
    return x.resize_(5)


def _storage_grown() -> Tensor:
    x = _cuda(4)
    x.untyped_storage().resize_(0)
    x.untyped_storage().resize_(16)
    return x


UNSET: dict[str, Make] = {
    "empty": lambda: torch.empty(3, device="cuda"),
    "empty_like": lambda: torch.empty_like(_cuda(3)),
    "new_empty": lambda: _cuda(2).new_empty(3),
    "empty_strided": lambda: torch.empty_strided((3,), (2,), device="cuda"),
    "new_empty_strided": lambda: _cuda(2).new_empty_strided((3,), (1,)),
    "empty_permuted": lambda: torch.empty_permuted((3, 2), (1, 0), device="cuda"),
    "grown": _grown,
    "storage grown": _storage_grown,
}


def test_memory_that_nobody_wrote_to_is_a_guess_and_always_the_same() -> None:
    def read(before: float) -> dict[str, tuple[str, float]]:
        found = {}
        with torchtraceap.dry_run() as run:
            for name, make in UNSET.items():
                torch.full((3,), before)  # What the host's next tensor finds there.
                found[name] = _how(make, Seen(run))
        return found

    first = read(7.0)
    assert first == read(9.0)
    for name, (how, value) in first.items():
        assert how == "guessed" and 0 <= value <= 6, name


def _filled() -> Tensor:
    return torch.empty(3, device="cuda").fill_(2)


def _copied() -> Tensor:
    x = torch.empty(3, device="cuda")
    x[:] = _cuda(3) * 2
    return x


def _foreach() -> Tensor:
    x = torch.empty(3, device="cuda")
    torch._foreach_copy_([x], [_cuda(3) * 2])
    return x


def _grown_and_written() -> Tensor:
    return torch.empty(0, device="cuda").resize_(3).fill_(2)


def _grown_as_out() -> Tensor:
    out = torch.empty(0, device="cuda")
    return torch.add(_cuda(3), 1, out=out)


@pytest.mark.parametrize(
    "make", [_filled, _copied, _foreach, _grown_and_written, _grown_as_out]
)
def test_what_was_written_all_over_is_known(make: Make, seen: Seen) -> None:
    assert _how(make, seen) == ("known", 6)


def test_what_was_there_before_it_grew_stays(seen: Seen) -> None:
    x = torch.arange(3.0, device="cuda")
    x.resize_(6)
    assert x[:3].tolist() == [0, 1, 2]
    assert x.resize_(2).tolist() == [0, 1]


def test_memory_of_resized_tensors_is_counted() -> None:
    with torchtraceap.dry_run() as run:
        x = torch.empty(1 << 10, device="cuda")
        x.resize_(1 << 20)
        assert torch.cuda.memory_allocated() == 4 << 20
        x.untyped_storage().resize_(0)
        assert torch.cuda.memory_allocated() == 0
        x.untyped_storage().resize_(8 << 20)
        assert torch.cuda.memory_allocated() == 8 << 20
        del x
        assert torch.cuda.memory_allocated() == 0
    assert run.peak_bytes == 8 << 20


def _of_number() -> Tensor:
    return _cuda(3) * torch.empty(3).copy_(torch.randn(3, device="cuda")).sum()


def _by_host(change: Callable[[Tensor], Tensor]) -> Make:
    return lambda: change(torch.randn(3, device="cuda").cpu()).cuda()


def _host_target() -> Tensor:
    target = torch.zeros(3)
    target.copy_(torch.randn(3, device="cuda"))
    return target.cuda()


def _written_on_host() -> Tensor:
    target = torch.zeros(3)
    target.add_(torch.randn(3, device="cuda").cpu())
    return target.cuda()


def _as_out() -> Tensor:
    out = torch.zeros(3)
    torch.add(torch.randn(3, device="cuda").cpu(), 1, out=out)
    return out.cuda()


def _filled_by_host() -> Tensor:
    number = torch.randn((), device="cuda").cpu()
    return _cuda(3).masked_fill(_cuda(3) > 0, number)


def _by_host_mask() -> Tensor:
    mask = torch.randn(3, device="cuda").cpu() > -9
    return _cuda(3)[mask]


BY_HOST: dict[str, Make] = {
    "and back": _by_host(lambda x: x),
    "changed": _by_host(lambda x: x * 2),
    "view": _by_host(lambda x: x[1:].reshape(2, 1)),
    "pinned": _by_host(lambda x: x.pin_memory()),
    "several": _by_host(lambda x: torch.stack([torch.zeros(3), x]).split(1)[0]),
    "copied to": _host_target,
    "written to": _written_on_host,
    "out": _as_out,
    "number beside": _of_number,
    "number to fill with": _filled_by_host,
    "mask": _by_host_mask,
}


@pytest.mark.parametrize("name", BY_HOST)
def test_a_guess_that_went_over_the_host_is_one(name: str, seen: Seen) -> None:
    assert _how(BY_HOST[name], seen)[0] == "guessed"


def test_other_tensors_of_the_host_are_known(seen: Seen) -> None:
    torch.randn(3, device="cuda").cpu().add_(1)
    for make in (torch.ones(3), torch.ones(3, device="cuda").cpu()):
        assert _how(lambda host=make: (host * 2).cuda(), seen) == ("known", 6)
