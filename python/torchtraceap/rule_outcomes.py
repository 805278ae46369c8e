# SPDX-License-Identifier: BSD-3-Clause
"""rule_outcomes.py: which settings differed, and what became of users' own rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchtraceap import _core
from torchtraceap.units import time_text, us_from_ns

if TYPE_CHECKING:
    from torchtraceap.report import Report


@dataclass(frozen=True)
class RuleOutcome:
    """What a user's own rule claimed, and what it got of that."""

    rule: str
    claims: int
    asked_us: float  #: Together, whatever the devices did meanwhile.
    claimed_us: float  #: Idle or busy time in them that was still to be had.
    taken_us: float  #: More that it would have had but for rules before it.
    counted: bool  #: False: too little, so it is in no finding and no balance.


def read_outcome(core: _core.OwnOutcome) -> RuleOutcome:
    """Convert the core's outcome."""
    return RuleOutcome(
        rule=core.pattern,
        claims=core.requests,
        asked_us=us_from_ns(core.asked_ns),
        claimed_us=us_from_ns(core.claimed_ns),
        taken_us=us_from_ns(core.taken_ns),
        counted=core.counted,
    )


def outcome_lines(report: Report) -> Iterator[str]:
    """Yield what a reader must know of settings and own rules; often nothing."""
    changes = [
        f"{pattern} off" if name == "enabled" else f"{pattern}.{name} = {value:g}"
        for pattern, names in report.settings.items()
        for name, value in names.items()
    ]
    if changes:
        yield "Settings that differ from the defaults: " + ", ".join(changes)
    for own in report.rules:
        text = (
            f"Rule {own.rule}: {own.claims} claim{'' if own.claims == 1 else 's'} on "
            f"{time_text(own.asked_us)}, of which {time_text(own.claimed_us)} was lost"
        )
        if own.taken_us:
            text += f" and {time_text(own.taken_us)} is other patterns'"
        if own.claims and not own.counted:
            text += "; too little to be counted"
        yield text + "."
