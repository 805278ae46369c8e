# SPDX-License-Identifier: BSD-3-Clause
"""Values and shapes of tensors on the device: right where known, else flagged."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import torchtraceap

from .shared_run import Seen

Make = Callable[[str], Tensor]


def _slice_assignment(device: str) -> Tensor:
    x = torch.arange(12.0, device=device).view(3, 4)
    x[1] = 7
    x[:, 2] += 1
    return x


def _views_of_views(device: str) -> Tensor:
    x = torch.arange(24, device=device).view(2, 3, 4)
    x.transpose(0, 2)[1:, ::2].mul_(-1)
    return x.flatten().flip(0)


def _data_and_detach(device: str) -> Tensor:
    x = torch.ones(3, device=device, requires_grad=True)
    x.data.add_(1)
    x.detach().mul_(3)
    return x.detach()


def _gradient(device: str) -> Tensor:
    x = torch.arange(4.0, device=device, requires_grad=True)
    (x**2).sum().backward()
    assert x.grad is not None
    return x.grad


def _swapped(device: str) -> Tensor:
    layer = torch.nn.Linear(2, 2)
    torch.nn.init.constant_(layer.weight, 0.5)
    weight = layer.weight
    layer.to(device)
    assert layer.weight is weight
    return layer.weight.detach()


def _out(device: str) -> Tensor:
    out = torch.empty(3, device=device)
    torch.add(torch.ones(3, device=device), 2, out=out)
    return out


def _copied_in_part(device: str) -> Tensor:
    x = torch.zeros(6, device=device)
    x[2:4].copy_(torch.tensor([5.0, 6.0]))
    return x


def _deep(device: str) -> Tensor:
    x = torch.arange(3.0, device=device)
    y = copy.deepcopy(x)
    x.zero_()
    return y


EXACT: dict[str, Make] = {
    "constructors": lambda d: torch.full((2, 2), 3, device=d).cumsum(0),
    "slices": _slice_assignment,
    "views of views": _views_of_views,
    "data and detach": _data_and_detach,
    "gradient": _gradient,
    "moved module": _swapped,
    "out=": _out,
    "copied in part": _copied_in_part,
    "deepcopy": _deep,
    "mask": lambda d: torch.arange(9, device=d)[torch.arange(9, device=d) % 2 == 0],
    "nonzero": lambda d: torch.tensor([0, 3, 0, 4], device=d).nonzero(),
    "unique": lambda d: torch.unique(torch.tensor([3, 1, 3], device=d)),
    "repeats": lambda d: torch.arange(3, device=d).repeat_interleave(
        torch.tensor([1, 0, 2], device=d)
    ),
    "masked_select": lambda d: torch.arange(6, device=d).masked_select(
        torch.arange(6, device=d) > 3
    ),
    "bincount": lambda d: torch.bincount(torch.tensor([0, 2, 2], device=d)),
    "complex": lambda d: torch.tensor([1 + 2j, 3j], device=d).conj() * 2,
    "half": lambda d: torch.tensor([1.5, 2.5], device=d).half() + 1,
    "topk": lambda d: torch.tensor([3.0, 9.0, 4.0], device=d).topk(2).indices,
    "index_put": lambda d: torch.zeros(4, device=d).index_put_(
        (torch.tensor([1, 3], device=d),), torch.tensor([8.0, 9.0], device=d)
    ),
    "masked fill": lambda d: torch.arange(4, device=d).masked_fill_(
        torch.arange(4, device=d) > 1, 0
    ),
    "from the host": lambda d: torch.arange(5).to(d).flip(0),
}


@pytest.mark.parametrize("name", EXACT)
def test_values_are_those_of_the_cpu(name: str, seen: Seen) -> None:
    expected = EXACT[name]("cpu")
    found = EXACT[name]("cuda").cpu()
    assert found.dtype == expected.dtype and torch.equal(found, expected)
    assert seen.syncs[-1].value == "known"


def test_what_follows_from_a_guess_agrees_with_it(seen: Seen) -> None:
    scores = torch.randn(1000, 1000, device="cuda").mean(1)  # too much to work out
    keep = scores > 0.5
    count = int(keep.sum())
    assert scores[keep].shape == (count,) == tuple(keep.nonzero().flatten().shape)
    assert count == len(keep.tolist()) - keep.logical_not().sum().item()
    best = scores.argmax()
    assert scores[best].item() == scores.max().item()
    assert 0 <= best.item() < 1000
    assert {sync.value for sync in seen.syncs} == {"guessed"}


@pytest.mark.parametrize("dial", ["none", "small"])
def test_a_check_for_bad_numbers_finds_none(dial: Any) -> None:
    with torchtraceap.dry_run(values=dial) as run:
        large = torch.randn(1000, 60, device="cuda")
        loss = large.mean()
        assert torch.isfinite(loss)
        assert torch.isfinite(loss).all() and torch.isfinite(large).all().item()
        assert not torch.isnan(loss).any()
        assert not (torch.isinf(large) | torch.isnan(large)).any()
        assert not torch.isfinite(loss).logical_not()
        not_itself = loss != loss
        assert not not_itself
        itself = loss == loss
        assert itself
    assert [sync.value for sync in run.syncs] == ["guessed"] * 8


@pytest.mark.parametrize("shape", [(3,), (128, 64)])
def test_checks_of_distributions_find_no_fault_with_guesses(
    shape: Any, seen: Seen
) -> None:
    def normal(mean: Any, spread: Tensor) -> torch.distributions.Normal:
        # Said, for other libraries switch the default off.
        return torch.distributions.Normal(mean, spread, validate_args=True)

    spread = torch.randn(shape, device="cuda").exp()
    assert normal(spread.log(), spread).rsample().shape == shape
    with pytest.raises(ValueError, match="constraint GreaterThan"):
        normal(0.0, torch.tensor([1.0, -1.0], device="cuda"))


def test_running_means_do_not_become_nonsense(seen: Seen) -> None:
    norm = torch.nn.BatchNorm1d(4).to("cuda")
    norm(torch.randn(64, 4, device="cuda"))
    assert torch.isfinite(norm.running_var).all()
    assert norm.num_batches_tracked is not None
    assert norm.num_batches_tracked.item() == 1


def test_what_equals_itself_is_not_looked_at(seen: Seen) -> None:
    x = torch.randn(4, device="cuda")
    assert torch.equal(x, x)
    assert not seen.syncs
    assert torch.equal(x, x.clone())
    assert len(seen.syncs) == 1


def _attention(device: str, dtype: torch.dtype, grad: bool, **options: Any) -> Any:
    torch.manual_seed(0)
    key_heads = 2 if options.get("enable_gqa") else 4
    shapes = (2, 4, 6, 8), (2, key_heads, 6, 8), (2, key_heads, 6, 8)
    parts = [torch.randn(shape).to(device, dtype) for shape in shapes]
    if "attn_mask" in options:
        options["attn_mask"] = torch.rand(6, 6).triu(-2).to(device, dtype)
        options["attn_mask"].requires_grad_(grad)
        parts.append(options["attn_mask"])
    parts = [part.requires_grad_(grad) for part in parts]
    attend = torch.nn.functional.scaled_dot_product_attention
    out = attend(*parts[:3], **options)
    if grad:
        (out * torch.linspace(-1, 1, 8, dtype=dtype, device=device)).sum().backward()
    found = [out, *(part.grad for part in parts if grad)]
    return [tensor.detach().cpu() for tensor in found]


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("option", ["plain", "is_causal", "attn_mask", "enable_gqa"])
def test_attention_is_worked_out(
    option: str, dtype: torch.dtype, grad: bool, seen_all: Seen
) -> None:
    """The kernels of a GPU, flash and memory-efficient, give what the CPU's do."""
    options = {} if option == "plain" else {option: True}
    found = _attention("cuda", dtype, grad, **options)
    if option != "attn_mask":  # whose gradient is part of a larger piece of memory
        assert {sync.value for sync in seen_all.syncs} <= {"known", "none"}
    kernels = {name for name in seen_all.names if "attention" in name}
    if option != "enable_gqa" or dtype is torch.bfloat16:
        assert len(kernels) == 1 + grad, kernels
    near = {"rtol": 0.05, "atol": 0.05} if dtype is torch.bfloat16 else {}
    expected = _attention("cpu", dtype, grad, **options)
    torch.testing.assert_close(found, expected, **near)


def test_guesses_are_the_same_for_the_same_seed() -> None:
    def draw(seed: int) -> list[Any]:
        torch.manual_seed(8)  # Not what the run begins with.
        with torchtraceap.dry_run(seed=seed):
            assert torch.cuda.initial_seed() == seed
            x = torch.randn(4096, 4096, device="cuda").sum(0)
            return [torch.rand(3, device="cuda").tolist(), x.argmax().item()]

    assert draw(0) == draw(0) != draw(1)


def test_all_works_out_what_small_guesses() -> None:
    torch.manual_seed(0)
    data, layer = torch.randn(64, 300), torch.nn.Linear(300, 300)
    expected = layer(data).pow(2).mean().item()
    seen = {}
    for dial in ("none", "small", "all"):
        with torchtraceap.dry_run(values=dial) as run:
            moved = copy.deepcopy(layer).to("cuda")
            seen[dial] = moved(data.to("cuda")).pow(2).mean().item()
        assert run.syncs[-1].value == ("known" if dial == "all" else "guessed")
    assert seen["all"] == expected != seen["small"]


def test_the_dial_at_none_works_out_nothing() -> None:
    with torchtraceap.dry_run(values="none") as run:
        torch.ones((), device="cuda").item()
        assert torch.ones(8, device="cuda").nonzero().shape == (4, 1)
        torch.ones(8, device="cuda", dtype=torch.bool).all().item()
    assert [sync.value for sync in run.syncs] == ["guessed"] * 3


@pytest.mark.parametrize("dial", ["none", "small"])
def test_gradients_that_nobody_asked_for_are_none(dial: Any) -> None:
    def run(layer: nn.Module, *shape: int, frozen: str = "", inputs: bool) -> None:
        layer.cuda()
        if frozen:
            getattr(layer, frozen).requires_grad_(False)
        x = torch.randn(*shape, device="cuda").requires_grad_(inputs)
        layer(x).sum().backward()
        assert (x.grad is not None) == inputs
        if frozen:
            assert getattr(layer, frozen).grad is None

    with torchtraceap.dry_run(values=dial):
        for inputs in (True, False):
            run(nn.BatchNorm2d(4), 3, 4, 5, 5, inputs=inputs)
            run(nn.BatchNorm2d(4).eval(), 3, 4, 5, 5, inputs=inputs)
            run(nn.InstanceNorm2d(4, affine=True), 3, 4, 5, 5, inputs=inputs)
            run(nn.GroupNorm(2, 4), 3, 4, 5, inputs=inputs)
            run(nn.LayerNorm(4), 3, 4, inputs=inputs)
            for frozen in ("weight", "bias"):
                for conv in (nn.Conv2d(4, 4, 3), nn.ConvTranspose2d(4, 4, 3)):
                    run(conv, 3, 4, 5, 5, frozen=frozen, inputs=inputs)


# --- Shapes that were worked out before -----------------------------------------------


CALLS: dict[str, Callable[[Any], Any]] = {
    "transpose_": lambda x: x.clone().transpose_(0, 1),
    "squeeze_": lambda x: x[None].clone().squeeze_(0),
    "unsqueeze_": lambda x: x.clone().unsqueeze_(1),
    "t_": lambda x: x.clone().t_(),
    "as_strided_": lambda x: x.clone().as_strided_((2, 2), (1, 2)),
    "resize_": lambda x: x.clone().resize_(5, 7),
    "resize_as_": lambda x: x.clone().resize_as_(torch.empty(2, 9, device=x.device)),
    "set_": lambda x: x.clone().set_(torch.empty(3, device=x.device)),
    "swapaxes_": lambda x: x.clone().swapaxes_(0, 1),
    "out": lambda x: torch.add(x, x, out=torch.empty(0, device=x.device)),
    "add_": lambda x: x.clone().add_(1),
    "matmul": lambda x: x @ x.t(),
    "sum": lambda x: x.sum(1, keepdim=True),
    "view": lambda x: x.view(-1),
    "dtype": lambda x: (x.half() + 1, x + 1),
    "strides": lambda x: x.t() * 2,
    "tangent": lambda x: torch.func.jvp(lambda a: a[None] @ x.t(), (x[0],), (x[1],)),
}


@pytest.mark.filterwarnings("ignore:.torch.jit.script")  # torch.func's own
@pytest.mark.parametrize("name", CALLS)
def test_shapes_are_those_of_the_cpu_each_time(name: str, seen: Seen) -> None:
    def shapes(x: Any) -> list[Any]:
        made = CALLS[name](x)
        all_of = made if isinstance(made, tuple) else (made,)
        return [(t.shape, t.stride(), t.dtype) for t in all_of]

    expected = shapes(torch.ones(4, 8))
    x = torch.ones(4, 8, device="cuda")
    for _ in range(3):
        assert shapes(x) == expected
