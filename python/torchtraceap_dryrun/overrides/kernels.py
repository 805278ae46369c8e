# SPDX-License-Identifier: BSD-3-Clause
"""kernels.py: gives operators other kernels for as long as a dry run lasts.

What differs between a GPU and the "meta" device below the level of Python functions
(the casts of autocast, the choice of an attention kernel) is put right where torch
itself makes the difference: in the dispatcher. Loads torch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any

import torch

from torchtraceap_dryrun.device.modes import without_function_modes
from torchtraceap_dryrun.private_names import private

#: (operator with overload as "softmax.int", dispatch key): what is called instead.
Kernels = Mapping[tuple[str, str], Callable[..., Any]]


def operator(name: str) -> Any:
    """Return the operator of aten called ``name`` ("addmm", "softmax.int")."""
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def exists(name: str, key: str) -> bool:
    """Tell whether this version of torch has a kernel of its own there."""
    has = private("torch._C._dispatch_has_kernel_for_dispatch_key")
    try:
        operator(name)
    except AttributeError:
        return False
    return bool(has(f"aten::{name}", key))


def key_set(key: str) -> Any:
    """Return the set of dispatch keys with this one alone."""
    return private("torch._C.DispatchKeySet")(
        getattr(private("torch._C.DispatchKey"), key)
    )


@contextmanager
def replaced(kernels: Kernels) -> Iterator[None]:
    """Register ``kernels``; at the end those from before are back.

    A composite operator that gets a kernel for "AutogradMeta" is taken apart by that
    kernel where autograd is off too, as in inference mode.
    """
    composite = private("torch._C.DispatchKey").CompositeImplicitAutograd
    with private("torch.library._scoped_library")("aten", "IMPL") as library:
        apart = []
        with warnings.catch_warnings():  # of kernels that take the place of others
            warnings.simplefilter("ignore")
            for (name, key), kernel in kernels.items():
                # Not library.impl, which refuses "Meta" for what can be taken apart.
                library.m.impl(name, key, below_functions(kernel), False)
                if key == "AutogradMeta":
                    apart.append((operator(name).py_kernels, kernel))
        for table, kernel in apart:
            table[composite] = below_functions(kernel)
        try:
            yield
        finally:
            for table, _ in apart:
                del table[composite]


def below_functions(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with function modes off: to them a device is not "meta"."""

    @wraps(kernel)
    def call(*args: Any, **kwargs: Any) -> Any:
        with without_function_modes():
            return kernel(*args, **kwargs)

    return call
