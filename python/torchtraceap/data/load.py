# SPDX-License-Identifier: BSD-3-Clause
"""load.py: the options of loading, checked, and the loading itself.

What is not given is not set, so that every default is the core's own
(cpp/trace/trace.h).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Rational, Real
from typing import TYPE_CHECKING, Any, TypedDict

from torchtraceap import _core
from torchtraceap.base.arguments import checked_int, of_type
from torchtraceap.base.errors import trace_error
from torchtraceap.base.files import read_file
from torchtraceap.base.progress import Progress, reporting

if TYPE_CHECKING:
    from typing_extensions import Unpack

# More take memory (2 MiB each) and gain nothing.
_MOST_THREADS = 256
# Nanoseconds are counted in 64 bits.
_MOST_US = 2**63 / 1000


class LoadOptions(TypedDict, total=False):
    """What ``load`` takes beside the source; it says what each means."""

    recover: bool
    threads: int | None
    categories: Iterable[str] | None
    skip_categories: Iterable[str] | None
    steps: int | tuple[int, int] | None
    time_range_us: tuple[float | None, float | None] | None
    max_text_bytes: int | None
    max_ratio: float | None
    progress: bool | Progress | None


@dataclass(frozen=True)
class LoadPlan:
    """Checked options, good for any number of loads."""

    settings: dict[str, Any] = field(default_factory=dict)  # Of _core.LoadOptions.
    steps: tuple[int, int] | None = None
    progress: bool | Progress | None = None

    def core_options(self, **more: Any) -> _core.LoadOptions:
        """Return the core's options, with ``more`` in place of what is set here."""
        options = _core.LoadOptions()
        for name, value in (self.settings | more).items():
            setattr(options, name, value)
        return options


def plan_load(**options: Unpack[LoadOptions]) -> LoadPlan:
    """Check the options of ``load``; a TypeError or ValueError names what is wrong."""
    if unknown := options.keys() - LoadOptions.__annotations__.keys():
        raise TypeError(f"there is no option {min(unknown)!r}")
    given: dict[str, Any] = {
        name: value for name, value in options.items() if value is not None
    }
    settings = {
        name: check(given[name]) for name, check in _CHECKS.items() if name in given
    }
    if "categories" in given or "skip_categories" in given:
        settings["categories"] = _kept_categories(
            given.get("categories"), given.get("skip_categories")
        )
    if "time_range_us" in given:
        if "steps" in given:
            raise ValueError(
                "steps and time_range_us exclude each other: steps means the time "
                "range of those steps"
            )
        settings |= _time_range(given["time_range_us"])
    progress = given.get("progress")
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise TypeError(
            "progress must be True, False, None or a callable that takes fraction, "
            f"text_bytes and events, but is {of_type(progress)}"
        )
    return LoadPlan(settings, _checked_steps(given.get("steps")), progress)


def read_trace(source: str | bytes, plan: LoadPlan) -> _core.Trace:
    """Load a trace from its path or bytes. Raises what the core raises."""
    read, title = _reader(source)
    with reporting(plan.progress, title) as report:
        if plan.steps is None:
            trace = read(plan.core_options(progress=report))
        else:
            # Twice, so that the whole is never in memory: not its Python frames.
            stamp = _stamp(source)
            first = plan.core_options(
                categories=_core.step_categories(), progress=_part(report, 0)
            )
            begin_ns, end_ns = _core.step_range(read(first), *plan.steps)
            second = plan.core_options(
                begin_ns=begin_ns, end_ns=end_ns, progress=_part(report, 1)
            )
            trace = read(second)
            if _stamp(source) != stamp:
                cause = "the file was changed while it was read"
                hint = "Load it again when it is complete"
                raise trace_error(os.fsdecode(source), "changed", cause, hint)
        if report is not None:
            report(1.0, trace.text_bytes, len(trace) + trace.left_out)
        return trace


def refuse_loading(given: Sequence[str], source: str, instead: str) -> None:
    """Raise TypeError if options of loading are given for what is loaded already."""
    if given:
        raise TypeError(
            f"{', '.join(given)}: options of loading do not apply to {source}, which "
            f"is loaded already. {instead}."
        )


def _checked_bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"recover must be True or False, but is {of_type(value)}")
    return value


def _checked_ratio(ratio: object) -> float:
    if isinstance(ratio, bool) or not isinstance(ratio, Real):
        raise TypeError(f"max_ratio must be a number, but is {of_type(ratio)}")
    number = _as_float(ratio)
    if not number > 0:
        raise ValueError(f"max_ratio must be greater than 0, but is {number}")
    return number


# What the core takes under the same name.
_CHECKS: dict[str, Callable[[Any], Any]] = {
    "recover": _checked_bool,
    "threads": lambda value: checked_int("threads", value, 1, _MOST_THREADS),
    "max_text_bytes": lambda value: checked_int("max_text_bytes", value, 1, 2**64 - 1),
    "max_ratio": _checked_ratio,
}


def _checked_steps(steps: object) -> tuple[int, int] | None:
    if steps is None:
        return None
    both = steps if isinstance(steps, Sequence) else (steps, steps)
    if isinstance(steps, str | bytes) or len(both) != 2:
        raise TypeError("steps must be the number of a step or a pair (first, last)")
    first, last = (checked_int("steps", number, 0, 2**63 - 1) for number in both)
    if first > last:
        raise ValueError(f"steps must be (first, last), but {first} is after {last}")
    return first, last


def _kept_categories(categories: object, skip_categories: object) -> int:
    mask = 2**64 - 1
    if categories is not None:
        mask = _mask("categories", categories)
    if skip_categories is not None:
        mask &= ~_mask("skip_categories", skip_categories)
    if mask & (2 ** len(_core.category_names()) - 1) == 0:
        raise ValueError("categories and skip_categories leave no category to load")
    return mask


def _mask(option: str, names: object) -> int:
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise TypeError(
            f"{option} must be a list of names such as ['kernel'], but is "
            f"{of_type(names)}"
        )
    mask = 0
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                f"{option} must hold names of type str, but one is {of_type(name)}"
            )
        number = _core.category_number(name) if name.isascii() else None
        if number is None:
            raise ValueError(
                f"{option}: {name[:80]!r} is not a category; there are "
                + ", ".join(_core.category_names())
            )
        mask |= 1 << number
    return mask


def _time_range(time_range: object) -> dict[str, int]:
    if (
        isinstance(time_range, str | bytes)
        or not isinstance(time_range, Sequence)
        or len(time_range) != 2
    ):
        raise TypeError(
            "time_range_us must be a pair (begin, end) of microseconds, either of "
            "which may be None"
        )
    names = ("begin_ns", "end_ns")
    bounds = {
        name: _nanoseconds(bound)
        for name, bound in zip(names, time_range, strict=True)
        if bound is not None
    }
    if len(bounds) == 2 and bounds["begin_ns"] >= bounds["end_ns"]:
        begin, end = time_range
        raise ValueError(
            f"time_range_us must end after it begins, but is ({begin}, {end})"
        )
    return bounds


def _nanoseconds(us: object) -> int:
    if isinstance(us, bool) or not isinstance(us, Real):
        raise TypeError(f"time_range_us must hold numbers or None, not {of_type(us)}")
    if not abs(_as_float(us)) < _MOST_US:
        raise ValueError(
            "time_range_us must hold times that a trace can have (None leaves an end "
            f"open), but one is {_as_float(us)}"
        )
    # Exactly as the core reads the same number in a file.
    return round(Fraction(us if isinstance(us, Rational) else float(us)) * 1000)


def _as_float(number: Real) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf")


def _reader(
    source: str | bytes,
) -> tuple[Callable[[_core.LoadOptions], _core.Trace], str]:
    """Return what reads the source, any number of times, and what to call it."""
    title = "trace"
    if isinstance(source, str):
        path, title = source, os.path.basename(source)
        try:
            path.encode()
        except UnicodeEncodeError:  # A name whose bytes are not UTF-8.
            source = read_file(path)
        else:
            return lambda options: _core.load_file(path, options), title
    data = source
    return lambda options: _core.load_bytes(data, options), title


def _stamp(source: str | bytes) -> tuple[int, ...]:
    """Return what tells one state of a file from the next; nothing of bytes."""
    if isinstance(source, str):
        with contextlib.suppress(OSError):  # The core says best what is wrong.
            found = os.stat(source)
            return (found.st_ino, found.st_size, found.st_mtime_ns)
    return ()


def _part(report: Progress | None, number: int) -> Progress | None:
    """Return what reports the first (0) or second half (1) of two passes."""
    if report is None:
        return None
    return lambda fraction, text_bytes, events: report(
        (number + fraction) / 2, text_bytes, events
    )
