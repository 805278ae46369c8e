# SPDX-License-Identifier: BSD-3-Clause
"""from_core.py: what the core's objects say, as dataclasses filled by field names."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

from torchtraceap import _core
from torchtraceap.base.units import us_from_ns

_TEXT = 1 << 62  # From here on the core's numbers stand for texts, see trace/columns.h.
_Data = TypeVar("_Data")


def from_core(
    cls: type[_Data], core: Any, trace: _core.Trace | None = None, **given: Any
) -> _Data:
    """Make a ``cls`` of one of the core's objects, field by field.

    A field in microseconds, ``x_us``, is the core's ``x_ns`` (``start_us`` its
    ``begin_ns``); ``pid`` and ``tid`` are as the file has them, None if unknown; a list
    becomes a tuple; all else stays as it is.

    Args:
        cls: A dataclass. AttributeError if the core's object lacks a field that is not
            given: a default would hide that one of the two was renamed.
        core: The core's object.
        trace: What pids and tids are of.
        **given: Fields that are no field of the core's object.
    """
    kind: Any = cls
    for name, source, is_time in _sources(kind, frozenset(given)):
        value = getattr(core, source)
        if is_time:
            value = us_from_ns(value)
        elif name in ("pid", "tid"):
            assert trace is not None
            value = process(trace, value)
        elif isinstance(value, list):
            value = tuple(value)
        given[name] = value
    return cls(**given)


@cache
def _sources(cls: Any, given: frozenset[str]) -> tuple[tuple[str, str, bool], ...]:
    """Return of each field to fill its name, its name in the core, and whether it is a
    time."""
    found = []
    for field in fields(cls):
        name = field.name
        is_time = name.endswith("_us")
        source = name.removesuffix("_us") + "_ns" if is_time else name.lstrip("_")
        source = "begin_ns" if name == "start_us" else source
        if name not in given:
            found.append((name, source, is_time))
    return tuple(found)


def identity(trace: _core.Trace, number: int) -> int | str:
    """Return a pid or tid as the file has it: a number, or a text such as "rank 0"."""
    return number if number < _TEXT else trace.identity(number)


def process(trace: _core.Trace, number: int) -> int | str | None:
    """Return a pid as the file has it; None if it is not known."""
    return None if number == _core.NO_ID else identity(trace, number)
