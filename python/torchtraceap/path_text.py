# SPDX-License-Identifier: BSD-3-Clause
"""path_text.py: a critical path as one sentence: what kinds of time, and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from torchtraceap.places import place_text
from torchtraceap.units import share_text, time_text

if TYPE_CHECKING:
    from torchtraceap.recovery import CriticalPath

_NOTABLE = 0.01  # Of the path: kinds of time below are left out.
_MOST_PLACES = 3


def kinds_text(by_category: Mapping[str, float]) -> str:
    """Write what a path is made of, the most first: ``host 61.0 %, compute 38.2 %``."""
    whole = sum(by_category.values())
    kinds = sorted(by_category.items(), key=lambda item: -item[1])
    return ", ".join(
        f"{name.replace('_', ' ')} {share_text(us, whole)}"
        for name, us in kinds
        if us >= _NOTABLE * whole and us > 0
    )


def path_line(path: CriticalPath) -> str:
    """Write the path of the whole trace, with the places it is longest at."""
    kinds = kinds_text(path.by_category) or "nothing"
    text = f"Critical path, the chain of work that sets the trace's length: {kinds}"
    places = [
        f"{place.strip()} ({time_text(p.us)})"
        for p in path.places
        if p.us >= _NOTABLE * path.span_us and (place := place_text(p.location, p.name))
    ][:_MOST_PLACES]
    return text + (f"; longest at {', '.join(places)}." if places else ".")
