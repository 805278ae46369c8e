# SPDX-License-Identifier: BSD-3-Clause
"""conditions.py: when an operator of the table waits, by its arguments.

They are called with the arguments as dispatched, and know tensors by what these have,
so that torch need not be loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Args = Sequence[Any]
Kwargs = Mapping[str, Any]


def always(_args: Args, _kwargs: Kwargs) -> bool:
    return True


def by_mask(args: Args, _kwargs: Kwargs) -> bool:
    """Indexing by a mask: its number of True values is the size of the result."""
    masks = ("torch.bool", "torch.uint8")
    indices = args[1] if len(args) > 1 else ()
    return any(str(getattr(index, "dtype", "")) in masks for index in indices)


def tensor_by_mask(args: Args, kwargs: Kwargs) -> bool:
    """As above, but one value by a mask is a masked_fill, which needs no size."""
    return by_mask(args, kwargs) and (len(args) < 3 or args[2].numel() != 1)


def without_output_size(_args: Args, kwargs: Kwargs) -> bool:
    return kwargs.get("output_size") is None


def value_on_device(args: Args, _kwargs: Kwargs) -> bool:
    """The last argument is a tensor, and not known to be one of the host."""
    return _is_tensor(args[-1]) and args[-1].device.type != "cpu"


def tensor_as_std(args: Args, _kwargs: Kwargs) -> bool:
    """normal(mean, std): whether std is negative is asked if it is a tensor."""
    return len(args) > 1 and _is_tensor(args[1])


def tensor_as_end(args: Args, _kwargs: Kwargs) -> bool:
    """linspace(start, end, steps): one of both ends is a tensor."""
    return any(map(_is_tensor, args[:2]))


def without_range(args: Args, kwargs: Kwargs) -> bool:
    """histc(x, bins, min, max): equal ends mean those of the values."""
    low = args[2] if len(args) > 2 else kwargs.get("min", 0)
    high = args[3] if len(args) > 3 else kwargs.get("max", 0)
    return bool(low == high)


def among_many(args: Args, kwargs: Kwargs) -> bool:
    """isin(elements, among): many are sorted and made unique, few are compared each."""
    if kwargs.get("assume_unique") or not all(map(_is_tensor, args[:2])):
        return False
    few = int(10 * args[0].numel() ** 0.145)
    return bool(args[0].numel() and args[1].numel() >= few)


def checking_errors(_args: Args, kwargs: Kwargs) -> bool:
    """inv_ex(t, check_errors=True) and its like."""
    return bool(kwargs.get("check_errors"))


def with_checks(_args: Args, kwargs: Kwargs) -> bool:
    """segment_reduce: lengths are checked unless the caller declares them right."""
    return kwargs.get("lengths") is not None and not kwargs.get("unsafe")


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "numel")
