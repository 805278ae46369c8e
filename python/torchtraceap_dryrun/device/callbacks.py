# SPDX-License-Identifier: BSD-3-Clause
"""callbacks.py: keeps a function mode in the program's code that torch calls back.

torch takes a mode away while it handles a function, and with it from what that function
calls: in backward hooks, functions with a gradient of their own and the forward of what
is checkpointed; in forward what packs the tensors that are kept for it. Loads torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.private_names import private


@contextmanager
def kept(mode: TorchFunctionMode) -> Iterator[None]:
    """Have ``mode``, which is to be entered in this block, in such code as well."""
    on = private("torch._C._EnableTorchFunction")  # it may be off where torch calls
    off = private("torch._C._is_torch_function_all_disabled")
    modes = private("torch.overrides._get_current_function_mode_stack")

    def in_mode(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if not off() and any(one is mode for one in modes()):
                return function(*args, **kwargs)
            with on(), mode:
                return function(*args, **kwargs)

        return call

    run = private("torch.autograd._engine_run_backward")
    push = private("torch._C._autograd._push_saved_tensors_default_hooks")

    def push_in_mode(pack: Callable[..., Any], unpack: Callable[..., Any]) -> None:
        push(in_mode(pack), in_mode(unpack))

    with Replacements() as replaced:
        replaced.set(torch.autograd, "_engine_run_backward", in_mode(run))
        autograd = torch._C._autograd
        replaced.set(autograd, "_push_saved_tensors_default_hooks", push_in_mode)
        yield
