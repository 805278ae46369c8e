# SPDX-License-Identifier: BSD-3-Clause
"""autocast.py: `torch.autocast("cuda")` for tensors on the device of a dry run.

Autocast is a dispatch key that tensors of a GPU carry and those on "meta" do not, with
kernels that cast only what is "cuda". Both are mended here, for the operators of
autocast_table.py. Loads torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from torchtraceap_dryrun.device.replacements import is_here
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.overrides.autocast_table import (
    FLOAT32,
    GIVE_FLOAT32,
    GIVE_FLOAT32_BY,
    LOWER,
    WIDEST,
)
from torchtraceap_dryrun.overrides.kernels import exists, key_set, operator, replaced
from torchtraceap_dryrun.private_names import private

KEY = "AutocastCUDA"


def eligible(value: Any) -> bool:
    """Tell whether autocast would cast this on a GPU."""
    return (
        is_here(value)
        and value.is_floating_point()
        and value.dtype is not torch.float64
    )


class Casts:
    """Casts arguments; parameters once until autocast ends, as its cache on a GPU."""

    def __init__(self) -> None:
        #: id of a parameter: itself, so that the id stays its own, and its cast.
        self._kept: dict[int, tuple[Tensor, Tensor]] = {}
        self._off = key_set(KEY)

    def clear(self) -> None:
        """Forget all casts."""
        self._kept.clear()

    def cast(self, value: Any, dtype: torch.dtype) -> Any:
        """Return ``value`` with each eligible tensor in it in ``dtype``."""
        if isinstance(value, (list, tuple)):
            return [self.cast(part, dtype) for part in value]
        if not eligible(value) or value.dtype is dtype:
            return value
        if not (
            dtype is torch.get_autocast_dtype("cuda")
            and value.dtype is torch.float32
            and value.requires_grad
            and value.is_leaf
            and not value._is_view()
            and torch.is_autocast_cache_enabled()
        ):
            return value.to(dtype)
        kept = self._kept.get(id(value))
        if kept is None:
            kept = self._kept[id(value)] = value, value.to(dtype)
        return kept[1]

    def kernel(
        self, name: str, dtype_of: Callable[..., torch.dtype]
    ) -> Callable[..., Any]:
        """Return an autocast kernel that casts all to what ``dtype_of(args)`` says."""
        run = operator(name)

        def kernel(*args: Any, **kwargs: Any) -> Any:
            with self.off():
                dtype = dtype_of((*args, *kwargs.values()))
                kwargs = {key: self.cast(part, dtype) for key, part in kwargs.items()}
                return run(*(self.cast(part, dtype) for part in args), **kwargs)

        return kernel

    def off(self) -> Any:
        """Return a context in which autocast does not cast again."""
        return private("torch._C._ExcludeDispatchKeyGuard")(self._off)

    def giving(self, name: str, by: str) -> Callable[..., Any]:
        """Return an autocast kernel for what is told to give float32."""
        same, other = operator(name), operator(by)
        names = [each.name for each in same._schema.arguments]

        def kernel(*args: Any, **kwargs: Any) -> Any:
            with self.off():
                given = dict(zip(names, args, strict=False)) | kwargs
                if not eligible(args[0]):
                    return same(*args, **kwargs)
                # A trailing default does not reach a kernel; the other overload may
                # have none there.
                for each in same._schema.arguments:
                    if each.name not in given:
                        given[each.name] = each.default_value
                if given.get("dtype") is None:
                    given["dtype"] = torch.float32
                return other(**given)

        return kernel


def _lower(_: Any) -> torch.dtype:
    return torch.get_autocast_dtype("cuda")


def _float32(_: Any) -> torch.dtype:
    return torch.float32


def _widest(args: Any) -> torch.dtype:
    widest = torch.get_autocast_dtype("cuda")
    flat = [each for arg in args for each in (arg if isinstance(arg, list) else [arg])]
    for each in filter(eligible, flat):
        if torch.float32 in (widest, each.dtype):
            widest = torch.float32
        elif each.dtype is not widest:
            raise RuntimeError(
                "Unexpected floating ScalarType in at::autocast::prioritize: "
                f"{each.dtype} under autocast to {widest}"
            )
    return widest


def _kernels(casts: Casts) -> dict[tuple[str, str], Callable[..., Any]]:
    made = {
        name: casts.kernel(name, _lower) for name in LOWER.split() if exists(name, KEY)
    }
    for names, dtype_of in ((FLOAT32, _float32), (WIDEST, _widest)):
        made |= {n: casts.kernel(n, dtype_of) for n in names.split() if exists(n, KEY)}
    made |= {name: casts.giving(name, name) for name in GIVE_FLOAT32.split()}
    made |= {name: casts.giving(name, by) for name, by in GIVE_FLOAT32_BY.items()}
    return {(name, KEY): kernel for name, kernel in made.items()}


@contextmanager
def installed() -> Iterator[Casts]:
    """Let `torch.autocast("cuda")` cast tensors on the device, in this thread."""
    casts, clear = Casts(), torch.clear_autocast_cache

    def clear_both() -> None:
        casts.clear()
        clear()

    with replaced(_kernels(casts)):
        try:
            with _seen(), Replacements() as attributes:
                attributes.set(torch, "clear_autocast_cache", clear_both)
                yield casts
        finally:
            casts.clear()


@contextmanager
def _seen() -> Iterator[None]:
    """Let autocast see tensors on the device."""
    # No guard, which would put back all keys as they were: modes that were entered
    # since need theirs when the run is suspended.
    include = private("torch._C._dispatch_tls_set_dispatch_key_included")
    here = private("torch._C.DispatchKey").AutocastCUDA
    try:
        include(here, True)
        yield
    finally:
        include(here, False)
