# SPDX-License-Identifier: BSD-3-Clause
"""outcome.py: the checks of one test, of which at most one watches code at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from torchtraceap.base.units import counted
from torchtraceap.checking.device import NAME, Device
from torchtraceap.waits.verdict import LaunchVerdict, Verdict

#: What becomes of a test one of whose checks could not be made.
Unknown = Literal["fail", "skip", "pass"]
UNKNOWN: tuple[Unknown, ...] = ("fail", "skip", "pass")
Status = Literal["passed", "failed", "unknown"]
#: Of the names of properties.
PREFIX = "torchtraceap."

_MOST_PLACES = 10  # In the failure itself; the section of the report has all.


def checked_unknown(value: str | None) -> Unknown | None:
    """Return the value of an option ``unknown``; ValueError if it is invalid."""
    if value is not None and value not in UNKNOWN:
        raise ValueError(f"unknown must be one of {UNKNOWN}, but is {value!r}")
    return value


@dataclass(frozen=True)
class Outcome:
    """One check: passed, failed, or could not be made."""

    check: str  # The fixture, and what was called of it if it has several checks.
    mode: str  # How it was made: "" if it was not.
    status: Status
    headline: str  # One line, the worst place first.
    places: tuple[str, ...] = ()  # A line each.
    details: tuple[str, ...] = ()  # What else a reader of a failure wants to know.
    notes: tuple[str, ...] = ()  # Lines true of all checks alike, shown once.
    evidence: tuple[str, ...] = ()  # For ``-v``.
    count: int = 0  # Of what was found and not tolerated.
    wasted_us: float | None = None  # By it; None: not known.
    unknown: Unknown = "fail"  # What becomes of the test if `status` is "unknown".

    @property
    def fixture(self) -> str:
        """The name of the fixture."""
        return self.check.partition(" ")[0]

    @property
    def fails(self) -> bool:
        """Whether the test must not pass."""
        return self.status == "failed" or (
            self.status == "unknown" and self.unknown == "fail"
        )

    @property
    def skips(self) -> bool:
        """Whether the test is one that could not be made."""
        return self.status == "unknown" and self.unknown == "skip"


def _status(verdict: Verdict | LaunchVerdict) -> Status:
    if not verdict.told:
        return "unknown"
    return "passed" if verdict.ok else "failed"


def of_verdict(verdict: Verdict, unknown: Unknown) -> Outcome:
    """Put a verdict on waits for the GPU into these words."""
    return Outcome(
        NAME,
        verdict.observation.mode,
        _status(verdict),
        verdict.headline,
        places=verdict.places,
        details=verdict.details,
        notes=verdict.notes,
        count=verdict.count,
        wasted_us=verdict.wasted_us,
        unknown=unknown,
    )


def of_launches(verdict: LaunchVerdict, mode: str, unknown: Unknown) -> Outcome:
    """Put a verdict on launches into these words."""
    return Outcome(
        f"{NAME} assert_launches({verdict.max_per_step})",
        mode,
        _status(verdict),
        verdict.headline,
        details=verdict.details,
        unknown=unknown,
    )


def failure_text(outcomes: Sequence[Outcome]) -> str:
    """Write what a test fails with. Its first line is all that pytest's short summary
    shows: the worst place of the check that found most, and how many more there are."""
    lines: list[str] = []
    for one in sorted(
        outcomes, key=lambda one: (one.status != "failed", -(one.wasted_us or 0))
    ):
        # The place as far left as can be: terminals cut the line off.
        lines.append(f"{one.headline} [{one.fixture}]")
        lines += [f"  {place}" for place in one.places[:_MOST_PLACES]]
        if (more := len(one.places) - _MOST_PLACES) > 0:
            lines.append(f"  and {more} more places")
    if len(outcomes) > 1:
        others = counted(len(outcomes) - 1, "more failing check")
        lines[0] += f" and {others}"
    return "\n".join(lines)


def section_text(outcomes: Sequence[Outcome], verbosity: int) -> str:
    """Write the section of a test's report: all its checks, how they were made, what
    they found, what to do."""
    word = {"passed": "passed", "failed": "FAILED", "unknown": "NOT CHECKED"}
    lines: list[str] = []
    for one in outcomes:
        mode = f" [{one.mode}]" if one.mode else ""
        lines.append(f"{word[one.status]} {one.check}{mode}")
        evidence = one.evidence if verbosity > 0 else ()
        lines += [f"  {line}" for line in (one.headline, *one.details, *evidence)]
    return "\n".join([*lines, *dict.fromkeys(n for one in outcomes for n in one.notes)])


def properties(outcomes: Sequence[Outcome]) -> list[tuple[str, object]]:
    """Sum a test's checks up for machines: JUnit's properties."""
    wasted = [one.wasted_us for one in outcomes if one.wasted_us is not None]
    # Of one test, several checks may name one place: once is enough.
    lines = dict.fromkeys(place for one in outcomes for place in one.places)
    modes = dict.fromkeys(one.mode for one in outcomes if one.mode)
    not_made = [one.check for one in outcomes if one.status == "unknown"]
    found = {
        "mode": "; ".join(modes),
        "stalls": sum(one.count for one in outcomes),
        "wasted_us": round(sum(wasted), 3) if wasted else None,
        "lines": "; ".join(lines) or None,
        "not_checked": "; ".join(not_made) or None,
    }
    return [
        (f"{PREFIX}{key}", value) for key, value in found.items() if value is not None
    ]


class Watching(Protocol):
    """A check, while it watches code."""

    def step(self) -> None:
        """End an iteration."""


class CheckLog:
    """What the checks of one test came to, in their order.

    They do not raise, so that all of a test are reported; the plugin takes what is new
    at the end of each phase of the test and fails it.
    """

    def __init__(self, unknown: Unknown | None, device: Device = "auto") -> None:
        #: What becomes of checks that cannot be made; None: the check's own default.
        self.unknown = unknown
        #: What checks are made on that do not say so themselves.
        self.device = device
        #: The errors of which an outcome says already what they mean.
        self.explained: list[BaseException] = []
        #: Checks add what they came to.
        self.outcomes: list[Outcome] = []
        self._taken = 0
        self._watched: tuple[str, Watching] | None = None
        self._waiting: dict[object, Outcome] = {}

    @property
    def new(self) -> Sequence[Outcome]:
        """What was added since the last `take`."""
        return self.outcomes[self._taken :]

    def take(self) -> Sequence[Outcome]:
        """Return what is new, which it is no longer."""
        new = self.new
        self._taken = len(self.outcomes)
        return new

    def announce(self, check: object, otherwise: Outcome) -> None:
        """Note a check that ends as ``otherwise`` unless `begun` is called for it."""
        self._waiting[check] = otherwise

    def begun(self, check: object) -> None:
        """Note that a check that was announced is being made."""
        self._waiting.pop(check, None)

    def give_up_waiting(self) -> None:
        """Add what the checks come to that were announced and never begun."""
        self.outcomes += self._waiting.values()
        self._waiting.clear()

    def watch(self, check: str, watched: Watching) -> None:
        """Note that a check watches code now.

        Raises RuntimeError if another one does already.
        """
        __tracebackhide__ = True
        if self._watched:
            raise RuntimeError(
                f"{check} inside {self._watched[0]}: code can be watched by one check "
                "at a time (a GPU has one profiler). Put one after the other, or take "
                "one of the two out."
            )
        self._watched = check, watched

    def unwatch(self) -> None:
        """Note that the check is over."""
        self._watched = None

    def watched(self, asked: str) -> Watching:
        """Return the check that watches code now; RuntimeError if none does, where
        ``asked`` is what was asked of it."""
        __tracebackhide__ = True
        if self._watched is None:
            raise RuntimeError(f"{asked} of code that is being watched, and none is")
        return self._watched[1]
