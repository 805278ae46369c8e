# SPDX-License-Identifier: BSD-3-Clause
"""changes.py: what changed between two sides.

docs/ci.md states what counts as a change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from torchtraceap import _core
from torchtraceap._core import Finding
from torchtraceap.gate.side import Side

if TYPE_CHECKING:
    from torchtraceap.gate.compare_text import Worse

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
    before: Finding | None
    after: Finding | None
    cost: Change
    #: Of a wait of two dry runs that costs no time on any side: how often the host
    #: waits, in a step if both have steps. None of all else.
    often: Change | None = None

    @property
    def seen(self) -> Finding:
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
        """Return what got worse, of these kinds or of one.

        What is undetermined is not ``known``. Raises ValueError of another kind.
        """
        from torchtraceap.gate.compare_text import find_worse

        return list(find_worse(self, kinds))

    def summary(self) -> str:
        """Return the comparison as plain text for people."""
        from torchtraceap.gate.compare_text import comparison_text

        return comparison_text(self)

    def to_markdown(self) -> str:
        """Return it as Markdown, under 64 KiB, with all names made harmless."""
        from torchtraceap.gate.compare_text import comparison_markdown

        return comparison_markdown(self)

    def to_dict(self) -> dict[str, Any]:
        """Return it in its JSON form, as docs/ci.md describes it."""
        return _form(self)


def _form(comparison: Comparison) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "tool": {"name": "torchtraceap", "version": _core.__version__},
        "comparable": comparison.comparable,
        "unit": comparison.unit,
        "notes": list(comparison.notes),
        "before": _side_form(comparison.before),
        "after": _side_form(comparison.after),
        "step_us": comparison.step_us and asdict(comparison.step_us),
        "busy": comparison.busy and asdict(comparison.busy),
        "causes": {name: asdict(change) for name, change in comparison.causes.items()},
        "findings": [
            {
                "status": change.status,
                "before": change.before and _finding_form(change.before),
                "after": change.after and _finding_form(change.after),
                "cost": asdict(change.cost),
                "often": change.often and asdict(change.often),
            }
            for change in comparison.findings
        ],
    }


def _side_form(side: Side) -> dict[str, Any]:
    return {
        "path": side.trace.path,
        "quality": side.quality.verdict,
        "span_us": side.trace.span_us,
        "devices": list(side.devices),
        "steps": side.steps,
    }


def _finding_form(finding: Finding) -> dict[str, Any]:
    where = finding.location
    return {
        "id": finding.id,
        "pattern": finding.pattern,
        "subtype": finding.subtype or "",
        "file": where.file if where else "",  # "" with line 0: there is no place.
        "line": where.recorded_line if where else 0,
        "function": where.function if where else "",
        "operator": finding.operator,
        "count": finding.count,
        "wasted_us": finding.wasted_us,
        "shown": where.line if where else None,  # Of the call, if it is known.
    }
