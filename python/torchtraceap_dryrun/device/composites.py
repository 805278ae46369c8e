# SPDX-License-Identifier: BSD-3-Clause
"""composites.py: operators that are only made of others. Loads torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from torchtraceap_dryrun.private_names import private

_Key = private("torch._C.DispatchKey")
_IMPLICIT, _EXPLICIT = _Key.CompositeImplicitAutograd, _Key.CompositeExplicitAutograd


def is_composite(func: Any) -> bool:
    """Tell whether an operator is only made of others, as arrive in inference_mode."""
    return _IMPLICIT in func.py_kernels or _is_built_so(func)


@cache
def _is_built_so(func: Any) -> bool:
    has_kernel = private("torch._C._dispatch_has_kernel_for_dispatch_key")
    name = func.name()
    return has_kernel(name, _IMPLICIT) and not has_kernel(name, "Meta")


def kernel_of(func: Any) -> Callable[..., Any] | None:
    """Return what an operator that takes functions, as flex_attention, is made of on
    each device; None if it says nothing of that."""
    return func.py_kernels.get(_EXPLICIT)  # type: ignore[no-any-return]
