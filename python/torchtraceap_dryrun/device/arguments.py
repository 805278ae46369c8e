# SPDX-License-Identifier: BSD-3-Clause
"""arguments.py: the tensors among the arguments of operators, and the arguments in
schemas: their names, and which are written to. Loads torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from torch import Tensor


def tensors_in(values: Any) -> Iterator[Tensor]:
    """Yield the tensors among arguments, also in lists."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from tensors_in(value)


def map_tensors(values: Any, change: Callable[[Tensor], Any]) -> Any:
    """Return arguments with their tensors changed."""
    if isinstance(values, Tensor):
        return change(values)
    if isinstance(values, list | tuple):
        return type(values)(map_tensors(value, change) for value in values)
    if isinstance(values, dict):
        return {key: map_tensors(value, change) for key, value in values.items()}
    return values


def pairs(ours: Any, theirs: Any) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the tensors at the same places of two results: either may have None where
    the other has one, as for a gradient that was not requested."""
    if isinstance(ours, Tensor):
        if isinstance(theirs, Tensor):
            yield ours, theirs
    elif isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        for one, other in zip(ours, theirs, strict=False):
            yield from pairs(one, other)


@cache
def _written(func: Any) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the arguments that an operator writes to: the places of those that may be
    given by place, and the names of all."""
    written = [
        (at, argument)
        for at, argument in enumerate(func._schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    places = tuple(at for at, argument in written if not argument.kwarg_only)
    return places, tuple(argument.name for _, argument in written)


def written_by(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """Return the arguments of a call that are written to: tensors and lists of them."""
    places, names = _written(func)
    values = [args[at] for at in places if at < len(args)]
    return values + [kwargs[name] for name in names if name in kwargs]


def named(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return all arguments of a call by their names, with defaults."""
    given = {a.name: a.default_value for a in func._schema.arguments}
    given.update(zip(given, args, strict=False))
    given.update(kwargs)
    return given


def aten(names: str) -> frozenset[str]:
    """Return operators as the dispatcher names them, of a list of aten's."""
    return frozenset(f"aten::{name}" for name in names.split())
