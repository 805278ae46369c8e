# SPDX-License-Identifier: BSD-3-Clause
"""What is called known is what a GPU would have read, and nothing else; random
operators follow the state of the device's generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import torchtraceap
from torchtraceap_dryrun.estimate.launches import launches_of

from .shared_run import Seen

Make = Callable[[], Tensor]


def _how(make: Make, seen: Seen) -> tuple[str, float]:
    """Return how the sum of what ``make`` gives was known when it was read, and it."""
    read = make().sum().item()
    return seen.syncs[-1].value, read


def _cuda(*shape: int) -> Tensor:
    return torch.ones(shape, device="cuda")


def _empty(*shape: int) -> Tensor:
    return torch.empty(shape, device="cuda")


def _storage_grown() -> Tensor:
    x = _cuda(4)
    x.untyped_storage().resize_(0)
    x.untyped_storage().resize_(16)
    return x


UNSET: dict[str, Make] = {
    "empty": lambda: _empty(3),
    "empty_like": lambda: torch.empty_like(_cuda(3)),
    "new_empty": lambda: _cuda(2).new_empty(3),
    "empty_strided": lambda: torch.empty_strided((3,), (2,), device="cuda"),
    "new_empty_strided": lambda: _cuda(2).new_empty_strided((3,), (1,)),
    "empty_permuted": lambda: torch.empty_permuted((3, 2), (1, 0), device="cuda"),
    "grown": lambda: _cuda(2).resize_(5),
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


def _foreach() -> Tensor:
    x = _empty(3)
    torch._foreach_copy_([x], [_cuda(3) * 2])
    return x


WRITTEN: dict[str, Make] = {
    "filled": lambda: _empty(3).fill_(2),
    "copied": lambda: _empty(3)[:].copy_(_cuda(3) * 2),
    "foreach": _foreach,
    "grown and written": lambda: _empty(0).resize_(3).fill_(2),
    "grown as out": lambda: torch.add(_cuda(3), 1, out=_empty(0)),
}


@pytest.mark.parametrize("make", WRITTEN.values(), ids=WRITTEN)
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


def _guess(*shape: int) -> Tensor:
    """An unknown value, on the host."""
    return torch.randn(shape, device="cuda").cpu()


BY_HOST: dict[str, Make] = {
    "and back": lambda: _guess(3).cuda(),
    "changed": lambda: (_guess(3) * 2).cuda(),
    "view": lambda: _guess(3)[1:].reshape(2, 1).cuda(),
    "pinned": lambda: _guess(3).pin_memory().cuda(),
    "several": lambda: torch.stack([torch.zeros(3), _guess(3)]).split(1)[0].cuda(),
    "copied to": lambda: torch.zeros(3).copy_(torch.randn(3, device="cuda")).cuda(),
    "written to": lambda: torch.zeros(3).add_(_guess(3)).cuda(),
    "out": lambda: torch.add(_guess(3), 1, out=torch.zeros(3)).cuda(),
    "number beside": lambda: _cuda(3) * _guess(3).sum(),
    "number to fill with": lambda: _cuda(3).masked_fill(_cuda(3) > 0, _guess()),
    "mask": lambda: _cuda(3)[_guess(3) > -9],
}


@pytest.mark.parametrize("name", BY_HOST)
def test_a_guess_that_went_over_the_host_is_one(name: str, seen: Seen) -> None:
    assert _how(BY_HOST[name], seen)[0] == "guessed"


def test_other_tensors_of_the_host_are_known(seen: Seen) -> None:
    torch.randn(3, device="cuda").cpu().add_(1)
    for make in (torch.ones(3), torch.ones(3, device="cuda").cpu()):
        assert _how(lambda host=make: (host * 2).cuda(), seen) == ("known", 6)


# --- Copies that convert, checks, and indices outside of a tensor ---------------------


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
            assert "test_known.py:" in note and "device-side assert" in note, name
    assert "device-side assert" in run.summary()


def test_guessed_indices_are_not(seen: Seen) -> None:
    places = torch.randint(5, 9, (1,), device="cuda")
    torch.ones(3, device="cuda")[places]
    assert not seen.notes


# --- Random numbers -------------------------------------------------------------------


def _ones(*shape: int) -> Any:
    return torch.ones(*shape, device="cuda")


DRAWS: dict[str, Callable[[], Any]] = {
    "randn": lambda: torch.randn(9, device="cuda"),
    "randperm": lambda: torch.randperm(99, device="cuda"),
    "rand_like": lambda: torch.rand_like(_ones(9)),
    "normal_": lambda: _ones(9).normal_(),
    "dropout": lambda: F.dropout(_ones(99), 0.5),
    "multinomial": lambda: torch.multinomial(_ones(999), 9),
    "gamma": lambda: torch.distributions.Gamma(_ones(9), _ones(9)).sample(),
    "binomial": lambda: torch.binomial(_ones(9) * 50, _ones(9) / 2),
    # Guesses: of something large, and of a kernel that the CPU does not have.
    "of-large": lambda: torch.multinomial(torch.empty(9, 9999, device="cuda"), 3),
    "attention": lambda: F.scaled_dot_product_attention(
        *[_ones(1, 1, 4, 8)] * 3, dropout_p=0.5
    ),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_the_same_seed_gives_the_same_numbers(
    draw: Callable[[], Any], seen: Seen
) -> None:
    torch.manual_seed(4)
    first, second = draw().tolist(), draw().tolist()
    torch.cuda.manual_seed_all(4)
    assert draw().tolist() == first != second
    torch.manual_seed(5)
    assert draw().tolist() != first


def test_states_are_kept_and_put_back(seen: Seen) -> None:
    def draw() -> list[float]:
        return torch.rand(4, device="cuda").tolist()

    state = torch.cuda.get_rng_state()
    first = draw()
    torch.cuda.set_rng_state(state)
    assert draw() == first
    with torch.random.fork_rng():
        inside = draw()
    assert draw() == inside != first
    copied = torch.cuda.default_generators[0].clone_state()
    assert copied.device.type == "cuda"
    assert torch.rand(4, device="cuda", generator=copied).tolist() == draw()
    chosen = torch.cuda.default_generators[0].seed()
    assert torch.cuda.initial_seed() == chosen


def test_a_generator_of_the_programs_own(seen: Seen) -> None:
    own = torch.Generator("cuda").manual_seed(3)
    assert isinstance(own, torch.Generator) and str(own.device) == "cuda:0"
    assert str(torch.Generator().device) == "cpu"
    first = torch.randn(4, device="cuda", generator=own)
    second = torch.empty(4, device="cuda").normal_(generator=own)
    own.manual_seed(3)
    again = torch.randn(4, device="cuda", generator=own)
    assert torch.equal(first, again) and not torch.equal(first, second)


def test_the_host_has_a_state_of_its_own(seen: Seen) -> None:
    torch.manual_seed(3)
    expected = torch.rand(8)
    torch.manual_seed(3)
    first = torch.rand(4)
    for draw in DRAWS.values():
        draw()
    torch.cuda.manual_seed(9)
    torch.randn(9999, device="cuda")
    F.dropout(torch.ones(9, device="cuda")).sum().item()
    torch.cuda.set_rng_state(torch.cuda.get_rng_state())
    assert torch.equal(torch.cat([first, torch.rand(4)]), expected)


@pytest.mark.parametrize("values", ["none", "small"])
def test_what_draws_nothing_leaves_the_state(values: Any) -> None:
    with torchtraceap.dry_run(values=values):
        x = torch.randn(2, 2, 64, 64, device="cuda", requires_grad=True)
        lstm = torch.nn.LSTM(64, 8, 2, dropout=0.5).cuda().eval()
        dropped = F.scaled_dot_product_attention(x, x, x, dropout_p=0.5).sum()
        before = torch.cuda.get_rng_state()
        torch.Generator("cuda").manual_seed(1)
        F.scaled_dot_product_attention(x, x, x).sum().backward()
        dropped.backward()  # The mask is that of forward.
        lstm(x[0])
        x.sum().item()  # A guess.
        assert torch.equal(torch.cuda.get_rng_state(), before)
        F.scaled_dot_product_attention(x, x, x, dropout_p=0.5)
        assert not torch.equal(torch.cuda.get_rng_state(), before)


def _checkpointed(device: str, reentrant: bool) -> tuple[Any, Any]:
    torch.manual_seed(2)
    weight = torch.ones(32, device=device, requires_grad=True)
    x = torch.ones(32, device=device, requires_grad=True)
    out = checkpoint(
        lambda x: F.dropout(x * weight, 0.5) * weight, x, use_reentrant=reentrant
    )
    torch.rand(3, device=device)  # What comes between is not to matter.
    out.sum().backward()
    return out.tolist(), weight.grad.tolist()


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_drops_out_the_same_again(reentrant: bool) -> None:
    out, grad = _checkpointed("cpu", reentrant)
    assert grad == [2 * one for one in out] and 0 < sum(one > 0 for one in out) < 32
    for values in ("small", "all"):
        with torchtraceap.dry_run(values=values):
            assert _checkpointed("cuda", reentrant) == (out, grad)
