# SPDX-License-Identifier: BSD-3-Clause
"""worse.py: what a comparison shows to have got worse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchtraceap.places import NAME_WIDTH
from torchtraceap.safe_text import printable
from torchtraceap.units import share_text, time_text

if TYPE_CHECKING:
    from torchtraceap.comparison import Comparison, FindingChange

#: What may get worse, in the order it is told.
WORSE = ("slower", "new", "grown")


@dataclass(frozen=True)
class Worse:
    """Something that got worse, or of which it cannot be told whether it did."""

    kind: str  # One of WORSE.
    message: str  # One line, safe to print.
    known: bool = True
    finding: FindingChange | None = None
    found: float | None = None  # The figure after the change.


def find_worse(comparison: Comparison, kinds: Iterable[str]) -> Iterator[Worse]:
    """Yield what got worse, of these kinds or of this one."""
    wanted = {kinds} if isinstance(kinds, str) else set(kinds)
    if unknown := wanted - set(WORSE):
        raise ValueError(f"{min(map(repr, unknown))} is none of {', '.join(WORSE)}")
    for kind in WORSE:
        if kind not in wanted:
            continue
        if not comparison.comparable:
            unusable = "unusable" in (
                comparison.before.verdict,
                comparison.after.verdict,
            )
            what = "unusable" if unusable else "simulated, the other recorded"
            message = f"{kind}: cannot be told, one of the traces is {what}"
            yield Worse(kind, message, known=False)
        elif kind == "slower":
            yield from _slower(comparison)
        else:
            if comparison.after.incomplete:
                why = "records of the device are missing from the trace"
                yield Worse(kind, f"{kind}: cannot be told, {why}", known=False)
            for finding in comparison.of(kind):
                yield Worse(
                    kind,
                    f"{place(finding)}: {kind} {printable(finding.seen.kind)}, "
                    f"{costs(finding, comparison.unit)}",
                    finding=finding,
                    found=finding.cost.after,
                )


def place(finding: FindingChange) -> str:
    """Return where a finding is, safe to print."""
    seen = finding.seen
    if seen.file:
        return printable(seen.place)
    return printable(seen.operator, NAME_WIDTH) or "(no single place)"


def costs(finding: FindingChange, unit: str) -> str:
    """Return what a finding costs on the sides that have it; of a wait that costs no
    time, how often the host waits."""
    before, after = figures(finding, unit)
    if finding.often is not None:
        each = " a step" if unit == "us_per_step" else " in all"
        was = f", was {before}" if finding.before and finding.after else ""
        return f"{after if finding.after else before}{each}{was}"
    texts = [
        text
        for seen, text in ((finding.before, before), (finding.after, after))
        if seen is not None
    ]
    return " -> ".join(texts) + (" a step" if unit == "us_per_step" else "")


def figures(finding: FindingChange, unit: str) -> tuple[str, str]:
    """Return the figures of a finding before and after, "-" where it is not."""
    there = finding.before is not None, finding.after is not None
    often, cost = finding.often, finding.cost
    if often is not None:
        texts = f"×{often.before:.3g}", f"×{often.after:.3g}"
    else:
        texts = figure(cost.before, unit), figure(cost.after, unit)
    return texts[0] if there[0] else "-", texts[1] if there[1] else "-"


def figure(value: float, unit: str) -> str:
    """Return a figure of a comparison for people."""
    return time_text(value) if unit == "us_per_step" else share_text(value, 1.0)


def _slower(comparison: Comparison) -> Iterator[Worse]:
    step = comparison.step_us
    if step is None:
        message = "slower: cannot be told, for not both traces have steps"
        yield Worse("slower", message, known=False)
    elif step.counts and step.after > step.before:
        yield Worse(
            "slower",
            f"the median step takes {time_text(step.before)} -> "
            f"{time_text(step.after)} ({step.relative:+.1%})",
            found=step.after,
        )
