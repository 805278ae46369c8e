# SPDX-License-Identifier: BSD-3-Clause
"""changes.py: what changed between two sides, as data.

docs/ci.md states what counts as a change.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from torchtraceap import _core
from torchtraceap.gate.side import Seen, Side

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
class ComparisonData:
    """What changed between two traces; ``Comparison`` adds the forms to have it in."""

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


def comparison_form(comparison: ComparisonData) -> dict[str, Any]:
    """Return a comparison in its JSON form, as docs/ci.md describes it."""
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
        "findings": [asdict(finding) for finding in comparison.findings],
    }


def _side_form(side: Side) -> dict[str, Any]:
    return {
        "path": side.path,
        "quality": side.verdict,
        "span_us": side.span_us,
        "devices": list(side.devices),
        "steps": side.steps,
    }
