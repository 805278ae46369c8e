# SPDX-License-Identifier: BSD-3-Clause
"""Modes, autocast and default devices, in and beyond a dry run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack
from torch.utils.flop_counter import FlopCounterMode

import torchtraceap
from torchtraceap_dryrun.overrides import autocast
from torchtraceap_dryrun.overrides.kernels import operator

from .real_ops import RealOps
from .shared_run import Seen


def test_a_mode_around_the_run_sees_each_operator_once() -> None:
    with RealOps() as seen, torchtraceap.dry_run() as run:
        x = torch.ones(3, device="cuda")
        for _ in range(3):
            seen.ops.clear()
            x = x * 2
            assert seen.names == ["mul"]
        assert x.sum().item() == 24
        host = torch.ones(3)
        seen.ops.clear()
        host.cuda()
        assert seen.names == ["_to_copy"]
    assert [op.name for op in run.ops].count("aten::mul") == 3


@pytest.mark.parametrize("times", [1, 3])
def test_flops_are_counted_once_outside_as_inside(times: int) -> None:
    def work(device: str) -> None:
        x = torch.ones(4, 4, device=device, requires_grad=True)
        for _ in range(times):
            x = x @ x
        x.sum().backward()

    with FlopCounterMode(display=False) as expected:
        work("cpu")
    with FlopCounterMode(display=False) as around, torchtraceap.dry_run():
        work("cuda")
    with torchtraceap.dry_run(), FlopCounterMode(display=False) as within:
        work("cuda")
    assert around.get_total_flops() == expected.get_total_flops()
    assert within.get_total_flops() == expected.get_total_flops()


def test_modes_are_in_place_after_an_error() -> None:
    with RealOps() as seen, torchtraceap.dry_run():
        x = torch.ones(3, device="cuda")
        with pytest.raises(RuntimeError):
            x + torch.ones(4, device="cuda")
        seen.ops.clear()
        assert (x + 1).tolist() == [2, 2, 2]
        assert seen.names[0] == "add"


def test_the_default_device_is_what_it_was() -> None:
    with torchtraceap.dry_run() as run:
        torch.set_default_device("cuda")
        assert torch.ones(3).is_cuda and torch.tensor([1.0]).is_cuda
        with run.suspended():
            assert torch.ones(3).device.type == "cpu"
            assert torch.get_default_device().type == "cpu"
        assert torch.ones(3).is_cuda
    assert torch.ones(3).device.type == "cpu"
    with torch.device("meta"), pytest.raises(KeyError), torchtraceap.dry_run():
        torch.set_default_device("cuda")
        raise KeyError
    torch.set_default_device("cpu")
    try:
        with torchtraceap.dry_run():
            torch.set_default_device(None)
        assert len(_get_current_function_mode_stack()) == 1
    finally:
        torch.set_default_device(None)
    assert not _get_current_function_mode_stack()


def test_modes_that_are_left_entered_do_not_keep_the_run_in() -> None:
    class Functions(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func(*args, **(kwargs or {}))

    functions, operators = Functions(), RealOps()
    with torchtraceap.dry_run() as run:
        functions.__enter__()
        operators.__enter__()
        torch.ones(2, device="cuda")
    seen = len(run.ops)
    try:
        assert _get_current_function_mode_stack() == [functions]
        assert _get_current_dispatch_mode_stack() == [operators]
        with pytest.raises((RuntimeError, AssertionError)):
            torch.ones(2).to("cuda")
        assert len(run.ops) == seen
    finally:
        operators.__exit__(None, None, None)
        functions.__exit__(None, None, None)
    assert not _get_current_function_mode_stack()
    assert not _get_current_dispatch_mode_stack()


# --- What autocast casts is what it casts on a GPU ------------------------------------


HALF, FLOAT = torch.float16, torch.float32
HEADER = Path(torch.__file__).parent / "include" / "ATen" / "autocast_mode.h"


def _macro(name: str) -> set[str]:
    body = re.search(rf"#define {name}\(_\)(.*?)\n\n", HEADER.read_text(), re.S)
    assert body is not None
    if "DIFFERENT" in name:
        return set(re.findall(r'"([\w.]+)"', body.group(1)))
    rows = re.findall(r"_\((\w+)(?:, (\w+))?\)", body.group(1))
    return {f"{op}.{overload}" if overload else op for op, overload in rows}


@pytest.mark.skipif(not HEADER.exists(), reason="this torch comes without headers")
@pytest.mark.parametrize(
    ("macro", "ours"),
    [
        ("AT_FORALL_LOWER_PRECISION_FP", autocast.LOWER.split()),
        ("AT_FORALL_FP32", autocast.FLOAT32.split()),
        ("AT_FORALL_FP32_SET_OPT_DTYPE", autocast.GIVE_FLOAT32.split()),
        ("AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE", [*autocast.GIVE_FLOAT32_BY]),
        ("AT_FORALL_PROMOTE", autocast.WIDEST.split()),
    ],
)
def test_the_lists_are_those_of_torch(macro: str, ours: list[str]) -> None:
    only_cuda = {"cudnn_convolution", "cudnn_convolution_transpose"}
    assert set(ours) - only_cuda == _macro(macro)


def test_every_kernel_of_autocast_has_another() -> None:
    registered = torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCUDA")
    ours = {name for name, _ in autocast._kernels(autocast.Casts())}
    there = {name.removeprefix("aten::") for name in registered}
    assert there - ours == {"binary_cross_entropy"}  # which raises, as it should


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: x @ x, HALF),
        (lambda x: F.linear(x, x, x[0]), HALF),
        (lambda x: torch.einsum("ij,jk->ik", x, x), HALF),
        (lambda x: F.conv1d(x[None], x[:, :, None]), HALF),
        (lambda x: (x @ x).exp(), FLOAT),
        (lambda x: F.layer_norm(x.half(), (4,)), FLOAT),
        (lambda x: F.mse_loss(x.half(), x.half()), FLOAT),
        (lambda x: x.half().sum(), FLOAT),
        (lambda x: x.half().softmax(-1), FLOAT),
        (lambda x: x.half().sum(dtype=torch.float64), torch.float64),
        (lambda x: x.half().norm(), FLOAT),
        (lambda x: x.half().norm(2, 1), FLOAT),
        (lambda x: torch.addcmul(x.half(), x.half(), x), FLOAT),
        (lambda x: torch.addcmul(x.half(), x.half(), x.half()), HALF),
        (lambda x: x.half() + 1, HALF),
        (lambda x: x.relu(), FLOAT),
        (lambda x: x.double() @ x.double(), torch.float64),
        (lambda x: x.cpu() @ x.cpu(), FLOAT),
    ],
)
def test_types_of_results(call: Any, expected: torch.dtype, seen: Seen) -> None:
    x = torch.randn(4, 4, device="cuda")
    with torch.autocast("cuda"):
        assert call(x).dtype is expected


def _casts(seen: Seen) -> int:
    return sum(op.name == "aten::_to_copy" and op.copy is None for op in seen.ops)


@pytest.mark.parametrize(("cache", "expected"), [(True, 4), (False, 8)])
def test_a_parameter_is_cast_once_in_a_block(
    cache: bool, expected: int, seen: Seen
) -> None:
    net = nn.Linear(4, 4).to("cuda")
    x = torch.randn(2, 4, device="cuda")
    for _ in range(2):
        since = seen.anew()
        with torch.autocast("cuda", cache_enabled=cache):
            net(net(x)) + net.weight.mean()  # input, weight, bias; none for mean
            with torch.autocast("cuda", enabled=False):
                assert net(x).dtype is FLOAT
            with torch.autocast("cuda"):
                net(x.detach())  # input; weight and bias are kept
        assert _casts(since) == expected


def test_decorators_and_functions_with_a_gradient_of_their_own(seen: Seen) -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cuda", cast_inputs=FLOAT)
        def forward(ctx: Any, x: Any) -> Any:
            assert x.dtype is FLOAT
            assert not torch.is_autocast_enabled("cuda")
            ctx.save_for_backward(x)
            return x @ x

        @staticmethod
        @torch.amp.custom_bwd(device_type="cuda")
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad @ x.T + x.T @ grad

    @torch.autocast("cuda")
    def loss_of(x: Any) -> Any:
        assert Square.apply(x).dtype is FLOAT
        assert (x @ x).dtype is HALF
        return Square.apply(x).sum()

    x = torch.randn(4, 4, device="cuda", requires_grad=True)
    loss_of(x).backward()
    assert x.grad.dtype is FLOAT


def test_what_autocast_refuses(seen: Seen) -> None:
    p = torch.rand(3, device="cuda")
    with torch.autocast("cuda"), pytest.raises(RuntimeError, match="unsafe to auto"):
        F.binary_cross_entropy(p, p)
    with (
        torch.autocast("cuda", dtype=torch.bfloat16),
        pytest.raises(RuntimeError, match="prioritize"),
    ):
        torch.dot(p.half(), p.half())


def test_autocast_is_off_again_after_the_run() -> None:
    with torchtraceap.dry_run():
        pass
    x = torch.randn(2, 2, device="meta")
    torch.set_autocast_enabled("cuda", True)
    try:
        assert (x @ x).dtype is FLOAT
        assert x.half().sum().dtype is HALF
    finally:
        torch.set_autocast_enabled("cuda", False)
    assert operator("softmax.int").py_kernels == {}


def test_one_that_was_made_too_early_is_off_and_said() -> None:
    with pytest.warns(UserWarning, match="Disabling autocast"):

        @torch.autocast("cuda")
        def early(x: Any) -> Any:
            return x @ x

    off = torch.autocast("cuda", enabled=False)
    with torchtraceap.dry_run() as run:
        x = torch.ones(2, 2, device="cuda")

        @torch.autocast("cuda")
        def late(x: Any) -> Any:
            return x @ x

        assert late(x).dtype is torch.float16
        with torch.autocast("cuda", enabled=False):
            assert (x @ x).dtype is torch.float32
        with torch.autocast("cpu", enabled=False):
            assert not run.record.notes
        for _ in range(2):
            assert early(x).dtype is torch.float32
        assert len(run.record.notes) == 1
        with off:  # It may have been meant.
            pass
    assert len(run.record.notes) == 2
    for note in run.record.notes:
        assert "test_modes.py" in note and "autocast is off here" in note
