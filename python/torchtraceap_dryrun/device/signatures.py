# SPDX-License-Identifier: BSD-3-Clause
"""signatures.py: the names of arguments, and which are written to, by the schemas of
operators. Loads torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True)
class _Signature:
    """The arguments that an operator writes to."""

    places: tuple[int, ...]  # of those that may be given by place
    names: tuple[str, ...]  # of all


@cache
def _signature(func: Any) -> _Signature:
    places, names = [], []
    for at, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            names.append(argument.name)
            if not argument.kwarg_only:
                places.append(at)
    return _Signature(tuple(places), tuple(names))


def written_by(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """Return the arguments of a call that are written to: tensors and lists of them."""
    signature = _signature(func)
    if not signature.names:
        return []
    values = [args[at] for at in signature.places if at < len(args)]
    return values + [kwargs[name] for name in signature.names if name in kwargs]


def named(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return all arguments of a call by their names, with defaults."""
    given = {a.name: a.default_value for a in func._schema.arguments}
    given.update(zip(given, args, strict=False))
    given.update(kwargs)
    return given
