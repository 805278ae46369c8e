# SPDX-License-Identifier: BSD-3-Clause
"""replacements.py: what stands in for a function of torch above the dispatcher.

Loads torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor

from torchtraceap_dryrun.device.devices import on_device
from torchtraceap_dryrun.device.memory import is_users
from torchtraceap_dryrun.without_modes import without_function_modes

if TYPE_CHECKING:
    from torchtraceap_dryrun.device.border import Border

#: Called with the mode, the function, its arguments; returns what the function would.
Replacement = Callable[["Border", Any, Sequence[Any], dict[str, Any]], Any]
#: By function, as the mode is asked for it.
FunctionTable = Mapping[Any, Replacement]


def is_here(value: Any) -> bool:
    """Tell whether something is a tensor on the device; under function modes too."""
    with without_function_modes():
        return isinstance(value, Tensor) and on_device(value) and not is_users(value)


def answer(value: Any) -> Replacement:
    """Answer for a tensor on the device; ask those of the host."""

    def replacement(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
        return value if is_here(args[0]) else func(*args, **kwargs)

    return replacement
