# SPDX-License-Identifier: BSD-3-Clause
"""Modes and default devices that a program leaves behind in a dry run."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils._python_dispatch import (
    TorchDispatchMode,
    _get_current_dispatch_mode_stack,
)

import torchtraceap


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

    class Operators(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func(*args, **(kwargs or {}))

    functions, operators = Functions(), Operators()
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
