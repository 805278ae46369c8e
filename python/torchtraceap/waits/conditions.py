# SPDX-License-Identifier: BSD-3-Clause
"""conditions.py: when an operator of the table waits, by its arguments.

Conditions are called with (args, kwargs) as they are dispatched; they know tensors by
what these have, so that torch need not be loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Arguments = tuple[Sequence[Any], Mapping[str, Any]]


def always(_: Arguments) -> bool:
    return True


def by_mask(arguments: Arguments) -> bool:
    """Indexing by a mask: its number of True values is the size of the result."""
    args, _ = arguments
    indices = args[1] if len(args) > 1 else ()
    return any(
        str(getattr(index, "dtype", "")) in ("torch.bool", "torch.uint8")
        for index in indices
    )


def tensor_by_mask(arguments: Arguments) -> bool:
    """As above, but one value by a mask is a masked_fill, which needs no size."""
    args, _ = arguments
    return by_mask(arguments) and (len(args) < 3 or args[2].numel() != 1)


def without_output_size(arguments: Arguments) -> bool:
    _, kwargs = arguments
    return kwargs.get("output_size") is None


def value_on_device(arguments: Arguments) -> bool:
    """The last argument is a tensor, and not known to be one of the host."""
    args, _ = arguments
    return _is_tensor(args[-1]) and args[-1].device.type != "cpu"


def tensor_as_std(arguments: Arguments) -> bool:
    """normal(mean, std): whether std is negative is asked if it is a tensor."""
    args, _ = arguments
    return len(args) > 1 and _is_tensor(args[1])


def tensor_as_end(arguments: Arguments) -> bool:
    """linspace(start, end, steps): one of both ends is a tensor."""
    args, _ = arguments
    return any(map(_is_tensor, args[:2]))


def without_range(arguments: Arguments) -> bool:
    """histc(x, bins, min, max): equal ends stand for those of the values."""
    args, kwargs = arguments
    low = args[2] if len(args) > 2 else kwargs.get("min", 0)
    high = args[3] if len(args) > 3 else kwargs.get("max", 0)
    return bool(low == high)


def among_many(arguments: Arguments) -> bool:
    """isin(elements, among): many are sorted and made unique, few are compared each."""
    args, kwargs = arguments
    if kwargs.get("assume_unique") or not all(map(_is_tensor, args[:2])):
        return False
    few = int(10 * args[0].numel() ** 0.145)
    return bool(args[0].numel() and args[1].numel() >= few)


def checking_errors(arguments: Arguments) -> bool:
    """inv_ex(t, check_errors=True) and its like."""
    _, kwargs = arguments
    return bool(kwargs.get("check_errors"))


def with_checks(arguments: Arguments) -> bool:
    """segment_reduce: lengths are checked unless they are said to be right."""
    _, kwargs = arguments
    return kwargs.get("lengths") is not None and not kwargs.get("unsafe")


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "numel")
