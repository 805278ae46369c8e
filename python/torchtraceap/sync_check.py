# SPDX-License-Identifier: BSD-3-Clause
"""sync_check.py: does a piece of code make the CPU wait for the GPU, and where?

What happened is recorded by sync_watch.py (no GPU: operators that would wait) or
sync_run.py (GPU: idle time that waiting cost). What that means is decided here, which
needs neither torch nor pytest. The pytest plugin shows the outcome.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import TracebackType
from typing import Protocol

from torchtraceap.findings import Event, Finding
from torchtraceap.report import Report
from torchtraceap.source_lines import Line, display_path, resolve

#: The pattern that this check is about, as in the core's table.
PATTERN = "sync_stall"


@dataclass(frozen=True)
class Stall:
    """Operators of one kind that wait, or would, at one line."""

    line: Line | None
    operator: str  # "" if no operator was recorded around it
    count: int
    wasted_us: float | None  # device idle time it cost; None where that is unknown
    what: str
    advice: str
    names: tuple[str, ...] = ()  # what else `allow` may call the operator


@dataclass(frozen=True)
class Observation:
    """What one run showed, what it could show, and what it could not."""

    stalls: tuple[Stall, ...]
    scope: str
    problem: str = ""  # Why nothing can be said at all; "" if something can.


@dataclass(frozen=True)
class Verdict:
    ok: bool
    stalls: tuple[Stall, ...]  # Those neither allowed nor too short, costliest first.
    message: str


class SyncStalls(AssertionError):
    """The code waits for the GPU, or it could not be told; the text says where."""


def decide(
    observation: Observation,
    *,
    over_us: float = 50.0,
    max_count: int = 0,
    allow: Sequence[str] = (),
) -> Verdict:
    """Judges an observation by a budget. See `SyncCheck` for the options."""
    if observation.problem:
        return Verdict(False, (), f"{observation.problem}\n{observation.scope}")
    counted = [
        stall
        for stall in observation.stalls
        if not _too_short(stall, over_us) and not _allowed(stall, allow)
    ]
    counted.sort(key=lambda stall: (-(stall.wasted_us or 0.0), -stall.count))
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
    report: Report, line_of: Callable[[Finding, Event], Line | None] | None = None
) -> tuple[Stall, ...]:
    """Reads the waits that cost device time out of a report.

    `line_of` tells the line of an event, where more is known than the trace says.
    A finding then falls apart into its lines, each with its share of the time.
    """
    stalls = []
    for finding in report.findings:
        if finding.pattern != PATTERN:
            continue
        counts: Counter[Line | None] = Counter()
        if line_of is not None:
            counts.update(line_of(finding, event) for event in finding.events)
        # A finding names only its costliest events.
        counts[None] += finding.count - counts.total()
        stalls += [
            Stall(
                line=line or _where_it_begins(finding),
                operator=finding.operator,
                count=count,
                wasted_us=finding.wasted_us * count / finding.count,
                what=finding.message,
                advice=finding.advice,
                names=(finding.subtype,),
            )
            for line, count in counts.items()
            if count > 0
        ]
    return tuple(stalls)


def _where_it_begins(finding: Finding) -> Line | None:
    place = finding.location
    if place is None:
        return None
    return Line(resolve(place.file), place.line, place.function, exact=False)


class Recorder(Protocol):
    def start(self) -> None: ...
    def stop(self) -> Observation: ...
    def abandon(self) -> None: ...


class SyncCheck:
    """A context manager that fails if the code in it waits for the GPU::

        with SyncCheck():
            train_step()

    Args:
        over_us: With a GPU, a wait that left the device idle for less than this on
            average is tolerated. Without one, times are unknown and it is ignored.
        max_count: How many waits are tolerated in all.
        allow: What is tolerated: names of operators ("item", "aten::nonzero"), files
            or lines ("metrics.py", "train.py:88"), each with wildcards ("*/hooks/*").
        warmup: How many calls of `step()` to wait for before checking, for code that
            compiles, tunes or allocates in its first iterations::

                with SyncCheck(warmup=2) as check:
                    for batch in batches:
                        train_step(batch)
                        check.step()

    Raises, on leaving the block, SyncStalls if the check fails; ValueError if
    ``warmup`` ended nothing, because `step()` was called too seldom.
    """

    def __init__(
        self,
        *,
        over_us: float = 50.0,
        max_count: int = 0,
        allow: Iterable[str] = (),
        warmup: int = 0,
    ) -> None:
        if isinstance(allow, str):
            raise ValueError(f"allow must be a list of names, but is {allow!r}")
        for name, value in (
            ("over_us", over_us),
            ("max_count", max_count),
            ("warmup", warmup),
        ):
            if value < 0:
                raise ValueError(f"{name} must not be negative, but is {value}")
        self._over_us = over_us
        self._max_count = max_count
        self._allow = tuple(allow)
        self._to_skip = warmup
        self._recorder: Recorder | None = None
        #: What came out, once the block is left.
        self.verdict: Verdict | None = None

    def __enter__(self) -> SyncCheck:
        if self._to_skip == 0:
            self._start()
        return self

    def step(self) -> None:
        """Ends an iteration of the user's loop. Needed for ``warmup`` only."""
        if self._to_skip > 0:
            self._to_skip -= 1
            if self._to_skip == 0:
                self._start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            if self._recorder is not None:
                self._recorder.abandon()
            return
        if self._recorder is None:
            raise ValueError(
                f"nothing was checked: the block ended {self._to_skip} calls of "
                "step() before the end of warmup"
            )
        self.verdict = decide(
            self._recorder.stop(),
            over_us=self._over_us,
            max_count=self._max_count,
            allow=self._allow,
        )
        if not self.verdict.ok:
            raise SyncStalls(self.verdict.message)

    def _start(self) -> None:
        recorder = _new_recorder()
        recorder.start()
        self._recorder = recorder


def _new_recorder() -> Recorder:
    import torch

    # Both need torch, which nobody should load who only asks for a fixture's name.
    if torch.cuda.is_available():
        from torchtraceap.sync_run import SyncRun

        return SyncRun()
    from torchtraceap.sync_watch import SyncWatch

    return SyncWatch()


def _too_short(stall: Stall, over_us: float) -> bool:
    return stall.wasted_us is not None and stall.wasted_us / stall.count < over_us


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
    cost = "" if stall.wasted_us is None else f", {stall.wasted_us:,.0f} µs idle"
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
