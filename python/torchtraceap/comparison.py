# SPDX-License-Identifier: BSD-3-Clause
"""comparison.py: two reports, before and after a change: what went, came and grew.

docs/ci.md states what counts as a change.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from torchtraceap import _core
from torchtraceap.analysis import Source, analyze
from torchtraceap.analysis_plan import of_torch
from torchtraceap.gate.side import Seen, Side

if TYPE_CHECKING:
    from torchtraceap.config import Config
    from torchtraceap.gate.worse import Worse
    from torchtraceap.report import Report
    from torchtraceap.rules import Rule

#: What of a finding counts as changed: at least this share of the larger figure,
RELATIVE = 0.10
#: and this share of the time; and more than the spread between steps explains.
LEAST_SHARE = 0.005
#: The same of the median step.
STEP_RELATIVE = 0.05


@dataclass(frozen=True)
class Change:
    """A figure on both sides, in the unit of the comparison."""

    before: float
    after: float
    #: Differences up to this one are noise; None: too few steps to tell.
    noise: float | None
    counts: bool  #: It is a change, by the rule that docs/ci.md states.

    @property
    def relative(self) -> float | None:
        """The change as a share of what was before; None of nothing."""
        return (self.after - self.before) / self.before if self.before else None


@dataclass(frozen=True)
class FindingChange:
    """A finding on both sides, or on one."""

    status: str  #: "new", "gone", "grown", "shrunk", "same".
    before: Seen | None
    after: Seen | None
    cost: Change
    #: Of a wait of two dry runs that costs no time on any side: how often the host
    #: waits, in a step if both have steps. None of all else.
    often: Change | None = None

    @property
    def seen(self) -> Seen:
        """The finding, as it is after the change if it is there."""
        seen = self.after or self.before
        assert seen is not None
        return seen


@dataclass(frozen=True)
class Comparison:
    """What changed between two traces. Made by ``torchtraceap.compare``."""

    before: Side
    after: Side
    #: Of `causes` and `findings`: "us_per_step" (and device), where both sides have
    #: steps, else "share" of the time.
    unit: str
    notes: tuple[str, ...]  #: What makes the two unequal.
    comparable: bool  #: False: one is unusable, and no change is told.
    step_us: Change | None  #: The median step; None: one side has none.
    busy: Change | None  #: Share of the devices' time.
    causes: dict[str, Change]  #: Time by pattern, most change first.
    findings: tuple[FindingChange, ...]  #: Most change first.

    def of(self, status: str) -> tuple[FindingChange, ...]:
        """Return the findings of one status whose change counts."""
        return tuple(f for f in self.findings if f.status == status and f.cost.counts)

    def worse(self, kinds: Iterable[str] = ("new", "grown", "slower")) -> list[Worse]:
        """Return what got worse, of these kinds or of one; also what cannot be told.

        What cannot be told is not ``known``. Raises ValueError of another kind.
        """
        from torchtraceap.gate.worse import find_worse

        return list(find_worse(self, kinds))

    def summary(self) -> str:
        """Return the comparison as plain text for people."""
        from torchtraceap.gate.compare_text import comparison_text

        return comparison_text(self)

    def to_markdown(self) -> str:
        """Return it as Markdown, with all names made harmless."""
        from torchtraceap.gate.compare_markdown import comparison_markdown

        return comparison_markdown(self)

    def to_dict(self) -> dict[str, Any]:
        """Return it in its JSON form, as docs/ci.md describes it."""
        return {
            "schema_version": 1,
            "tool": {"name": "torchtraceap", "version": _core.__version__},
            "comparable": self.comparable,
            "unit": self.unit,
            "notes": list(self.notes),
            "before": _side_form(self.before),
            "after": _side_form(self.after),
            "step_us": self.step_us and asdict(self.step_us),
            "busy": self.busy and asdict(self.busy),
            "causes": {name: asdict(change) for name, change in self.causes.items()},
            "findings": [asdict(finding) for finding in self.findings],
        }


def compare(
    before: Source | Report | Mapping[str, Any],
    after: Source | Report | Mapping[str, Any],
    *,
    config: Config | None = None,
    rules: Iterable[Rule | str] = (),
    roots: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
) -> Comparison:
    """Say what changed between two traces::

        comparison = torchtraceap.compare("before.json.gz", "after.json.gz")
        print(comparison.summary())
        assert not comparison.worse()

    Args:
        before: A trace as ``analyze`` takes it, a report, or the JSON form of one: its
            file, or what ``Report.to_dict`` gives.
        after: The same, of the changed program.
        config: As of ``analyze``, for what is a trace.
        rules: As of ``analyze``, for what is a trace.
        roots: Folders that the program lies in, before or after, or one: a finding's
            file is known by its path below. The working folder is always one.

    Raises:
        ConfigError: A report's JSON is not whole, or of another version.
        TraceError: A trace is of another profiler than torch's.
        Exception: What ``analyze`` raises.
    """
    from torchtraceap.gate.differences import make_comparison

    plan: dict[str, Any] = {"config": config, "rules": tuple(rules)}
    sides = read_side(before, **plan), read_side(after, **plan)
    given = (roots,) if isinstance(roots, str | os.PathLike) else roots
    return make_comparison(*sides, roots=[os.fspath(root) for root in given])


def read_side(source: Source | Report | Mapping[str, Any], **options: Any) -> Side:
    """Return what `compare` takes as a side of a comparison.

    ``options`` are those of ``analyze``, for a trace. Raises what `compare` does.
    """
    from torchtraceap.gate.side import read_form, side_of
    from torchtraceap.report import Report

    if isinstance(source, Report | Mapping):
        return side_of(source)
    if isinstance(source, str | os.PathLike) and (form := read_form(source)):
        return side_of(form, os.fsdecode(source))
    return side_of(of_torch(analyze(source, **options)))


def _side_form(side: Side) -> dict[str, Any]:
    return {
        "path": side.path,
        "quality": side.verdict,
        "span_us": side.span_us,
        "devices": list(side.devices),
        "steps": side.steps,
    }
