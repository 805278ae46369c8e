# SPDX-License-Identifier: BSD-3-Clause
"""test_drawing.py: random operators on the device follow the state of its generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import torchtraceap

from .shared_run import Seen


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
    # Guesses: of something large, and of a kernel that the CPU has not.
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


def test_the_seed_of_the_run_is_where_it_begins() -> None:
    torch.manual_seed(8)  # Not what the run begins with.
    with torchtraceap.dry_run(seed=6):
        assert torch.cuda.initial_seed() == 6
        first = torch.rand(4, device="cuda").tolist()
        torch.cuda.manual_seed(6)
        assert torch.rand(4, device="cuda").tolist() == first
