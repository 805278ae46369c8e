# SPDX-License-Identifier: BSD-3-Clause
"""Modes and default devices that a program enters around, in and beyond a dry run."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils._python_dispatch import (
    _get_current_dispatch_mode_stack,
)
from torch.utils.flop_counter import FlopCounterMode

import torchtraceap

from .real_ops import RealOps


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
