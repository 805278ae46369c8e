# SPDX-License-Identifier: BSD-3-Clause
"""sync_verdict.py: are these waits for the GPU too much? Needs no torch, no pytest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from torchtraceap import _core
from torchtraceap.report import Report
from torchtraceap.source_lines import Line, display_path, resolve
from torchtraceap.sync_ops import BY_OPERATOR
from torchtraceap.units import us_from_ns

#: A shorter wait costs no more than a few launches.
OVER_US = 50.0

#: What a recorded wait is and what to do instead, by the core's kinds of sync_stall.
KINDS = {
    "scalar_read": (
        ".item(), float(t), `if t:`, equal(a, b): the CPU waited for one value",
        "keep the value on the device; read it every N steps, or after the loop",
    ),
    "data_dependent_shape": (
        "the CPU waited for the size of the result",
        "work on full size with a mask: where(mask, x, 0); or nonzero_static",
    ),
    "blocking_copy": (
        ".to(device), .cpu(), .tolist(): the CPU waited for a copy to end",
        "copy with non_blocking=True from and to pinned memory, or after the loop",
    ),
    "event": ("the CPU waited for an event", "let the device: stream.wait_event()"),
    "explicit": (
        "the CPU waited for a stream or for the whole device",
        "take torch.cuda.synchronize() out; streams can wait for one another",
    ),
}

_SCOPE = (
    "Measured on the GPU: each call in which the CPU was blocked by it, whatever the "
    "GPU did\nmeanwhile. A blocked CPU cannot launch work ahead."
)
_NO_WORK = (
    "To check code for the CPU as if it had one, hide it: "
    "CUDA_VISIBLE_DEVICES= pytest ..."
)


@dataclass(frozen=True)
class Stall:
    """Waits of one kind at one line, or operators that would wait."""

    line: Line | None
    operator: str  # The deepest around it; the call itself if there is none.
    count: int
    wasted_us: float | None  # How long the CPU was blocked in all. None: not known.
    what: str
    advice: str
    names: tuple[str, ...] = ()  # what else `allow` may call the operator


@dataclass(frozen=True)
class Observation:
    """What one run showed, what it could show, and what it could not."""

    stalls: tuple[Stall, ...]  # Where times are known, each is one wait.
    scope: str
    problem: str = ""  # Why nothing can be said at all; "" if something can.


@dataclass(frozen=True)
class Verdict:
    ok: bool
    stalls: tuple[Stall, ...]  # By place, longest first; none allowed or too short.
    message: str


def decide(
    observation: Observation,
    *,
    over_us: float = OVER_US,
    max_count: int = 0,
    allow: Sequence[str] = (),
) -> Verdict:
    """Judges an observation by a budget. See sync_check.py for the options."""
    if observation.problem:
        message = f"{observation.problem}\n{observation.scope}".rstrip()
        return Verdict(False, (), message)
    counted = _by_place(
        stall
        for stall in observation.stalls
        if not _too_short(stall, over_us) and not _allowed(stall, allow)
    )
    total = sum(stall.count for stall in counted)
    left_out = sum(stall.count for stall in observation.stalls) - total
    lines = [f"{_headline(counted)} (max_count={max_count})"]
    explained: set[str] = set()
    for stall in counted:
        lines.append(_describe(stall))
        if stall.what not in explained:
            explained.add(stall.what)
            lines += [f"      {stall.what}", f"      instead: {stall.advice}"]
    if left_out:
        lines.append(f"  and {left_out} that are allowed or shorter than over_us")
    lines.append(observation.scope)
    return Verdict(total <= max_count, tuple(counted), "\n".join(lines))


def from_report(
    report: Report, line_of: Callable[[int, str], Line | None], end_ns: int
) -> Observation:
    """Reads out of a report on a GPU run which calls blocked the CPU before `end_ns`.

    `line_of` tells the line that was running an operator at a time, or None to have
    it from the trace. Times are on the trace's clock.
    """
    notes = report.quality.warnings
    launched = any(note.kind == "no_device_work" for note in notes)
    if not report.trace.working_devices and not launched:
        problem = "Nothing was checked: the code ran nothing on the GPU."
        return Observation((), _NO_WORK, problem)
    if report.quality.verdict != "ok":
        # What is missing from the recording may be the very waits.
        reasons = " ".join(note.detail for note in report.quality.reasons)
        return Observation((), "", f"The recording cannot be judged: {reasons}")
    stalls = []
    for wait in report._core.waits:
        if wait.begin_ns >= end_ns:
            break
        operator = wait.operator_name or report._trace.name(wait.row)
        line = line_of(wait.begin_ns, operator) or _where_it_begins(wait.location)
        what, advice = KINDS[wait.subtype]
        known = BY_OPERATOR.get(operator)
        stalls.append(
            Stall(
                line=line,
                operator=operator,
                count=1,
                wasted_us=us_from_ns(wait.end_ns - wait.begin_ns),
                what=what,
                advice=advice,
                names=(wait.subtype, *(known.names if known else ())),
            )
        )
    return Observation(tuple(stalls), _SCOPE)


def _where_it_begins(place: _core.Frame | None) -> Line | None:
    if place is None:
        return None
    return Line(resolve(place.file), place.line, place.function, exact=False)


def _by_place(stalls: Iterable[Stall]) -> list[Stall]:
    places: dict[Stall, Stall] = {}
    for stall in stalls:
        place = replace(stall, count=0, wasted_us=None)
        count, time = stall.count, stall.wasted_us
        if (known := places.get(place)) is not None:
            count += known.count
            time = None if time is None else time + (known.wasted_us or 0.0)
        places[place] = replace(place, count=count, wasted_us=time)
    return sorted(places.values(), key=lambda s: (-(s.wasted_us or 0.0), -s.count))


def _too_short(stall: Stall, over_us: float) -> bool:
    return stall.wasted_us is not None and stall.wasted_us < over_us


def _allowed(stall: Stall, allow: Sequence[str]) -> bool:
    names = [stall.operator, stall.operator.removeprefix("aten::"), *stall.names]
    if stall.line is not None:
        file = stall.line.file
        for path in (file, display_path(file), file.rpartition("/")[2]):
            names += [path, f"{path}:{stall.line.line}"]
    return any(
        name and fnmatchcase(name, pattern) for name in names for pattern in allow
    )


def _describe(stall: Stall) -> str:
    place = str(stall.line) if stall.line else "(no Python line was recorded)"
    cost = "" if stall.wasted_us is None else f", {stall.wasted_us:,.0f} µs blocked"
    operator = f"  {stall.operator}" if stall.operator else ""
    return f"  {place}{operator}  ×{stall.count}{cost}"


def _headline(stalls: Sequence[Stall]) -> str:
    """Comes first, as pytest's own summary shows nothing else."""
    if not stalls:
        return "nothing waits for the GPU"
    first = stalls[0]
    what = first.operator or "something"
    more = f" and {len(stalls) - 1} more" if len(stalls) > 1 else ""
    verb = "wait" if more else "waits"
    return f"{first.line or 'no line known'}: {what}{more} {verb} for the GPU"
