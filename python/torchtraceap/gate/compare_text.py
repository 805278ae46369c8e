# SPDX-License-Identifier: BSD-3-Clause
"""compare_text.py: a comparison in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchtraceap.base.location import NAME_WIDTH
from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import align, wrapped
from torchtraceap.base.units import share_text, time_text
from torchtraceap.gate.changes import LEAST_SHARE, RELATIVE, STEP_RELATIVE
from torchtraceap.views.markdown import code, plain, table

if TYPE_CHECKING:
    from torchtraceap.gate.changes import Change, ComparisonData, FindingChange
    from torchtraceap.gate.side import Side

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


def find_worse(comparison: ComparisonData, kinds: Iterable[str]) -> Iterator[Worse]:
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


def _slower(comparison: ComparisonData) -> Iterator[Worse]:
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


STATUSES = ("gone", "new", "grown", "shrunk")
_CAUSES, _FINDINGS = 8, 20  # Shown.


def comparison_text(comparison: ComparisonData) -> str:
    """Return the text."""
    blocks = [
        list(_heading(comparison)),
        list(_causes(comparison)),
        list(_findings(comparison)),
        list(_rule(comparison)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def step_text(step: Change) -> str:
    """Return the median step before and after, and what that means."""
    word = "no change"
    if step.counts:
        word = "slower" if step.after > step.before else "faster"
    noise = ""
    if step.noise:  # Of simulations it is 0.
        noise = f"; ±{time_text(step.noise)} is noise"
    change = "" if step.relative is None else f" ({step.relative:+.1%})"
    return f"{time_text(step.before)} -> {time_text(step.after)}{change}: {word}{noise}"


def busy_text(busy: Change) -> str:
    """Return the busy share before and after."""
    return f"{share_text(busy.before, 1.0)} -> {share_text(busy.after, 1.0)}"


def counts_text(comparison: ComparisonData) -> str:
    """Return how many findings went, came, grew, shrank."""
    counts = [f"{len(comparison.of(status))} {status}" for status in STATUSES]
    rest = len(comparison.findings) - sum(len(comparison.of(s)) for s in STATUSES)
    return ", ".join(counts) + f", {rest} unchanged or too small to count"


def unit_text(comparison: ComparisonData) -> str:
    """Return what the figures are."""
    if comparison.unit == "share":
        return "shares of the time"
    several = comparison.before.units > 1 or comparison.after.units > 1
    return "time per step and device" if several else "time per step"


def _heading(comparison: ComparisonData) -> Iterator[str]:
    for name, side in (("Before:", comparison.before), ("After: ", comparison.after)):
        yield f"{name} {_side(side)}"
    for note in comparison.notes:
        yield from wrapped(f"Note: {printable(note)}.", "  ")
    if comparison.step_us is not None:
        yield f"Median step: {step_text(comparison.step_us)}"
    if comparison.busy is not None:
        yield f"Busy: {busy_text(comparison.busy)}"


def _side(side: Side) -> str:
    steps = f", {side.steps} step{'s' * (side.steps > 1)}" if side.steps else ""
    quality = "" if side.verdict == "ok" else f", quality {side.verdict}"
    devices = ", ".join(dict.fromkeys(printable(n) or "no name" for n in side.devices))
    return (
        f"{printable(side.path)}: {time_text(side.span_us)}{steps}, "
        f"{devices or 'no device work'}{quality}"
    )


def _causes(comparison: ComparisonData) -> Iterator[str]:
    changed = [(name, c) for name, c in comparison.causes.items() if c.counts]
    if not changed:
        return
    yield f"Time by cause, {unit_text(comparison)}:"
    unit = comparison.unit
    rows = [
        (printable(name), figure(c.before, unit), "->", figure(c.after, unit))
        for name, c in changed[:_CAUSES]
    ]
    for line in align(rows, right=(1, 3)):
        yield f"  {line.rstrip()}"


def _findings(comparison: ComparisonData) -> Iterator[str]:
    if not comparison.comparable:
        return
    yield f"Findings, {unit_text(comparison)}: {counts_text(comparison)}"
    rows = []
    for status in STATUSES:
        for found in comparison.of(status):
            kind = printable(found.seen.kind)
            rows.append((status, place(found), kind, *figures(found, comparison.unit)))
    table = [(*row[:4], "->", row[4]) for row in rows[:_FINDINGS]]
    for line in align(table, right=(3, 5)):
        yield f"  {line.rstrip()}"
    if more := len(rows) - _FINDINGS:
        yield from [f"  and {more} more"] if more > 0 else []


def _rule(comparison: ComparisonData) -> Iterator[str]:
    if not comparison.comparable:
        return
    if comparison.before.simulated is not None:
        least = "any difference"
        if comparison.before.steps != comparison.after.steps:
            least = "what differs by over one step's share (their numbers differ)"
        yield from wrapped(
            f"What counts: {least}, for simulations have no noise, and of waits that "
            "cost no time how often they come. The first step, which setting up is "
            "part of, is not in the median.",
            "  ",
        )
        return
    noise = ", and by more than the spread between steps explains"
    known = comparison.step_us is not None and comparison.step_us.noise is not None
    yield from wrapped(
        f"What counts: a finding's cost that differs by over {RELATIVE:.0%} and by "
        f"over {LEAST_SHARE:.1%} of the time; a median step, by over "
        f"{STEP_RELATIVE:.0%}{noise if known else ''}.",
        "  ",
    )


_SHOWN = 30


def comparison_markdown(comparison: ComparisonData) -> str:
    """Return the text, under 64 KiB."""
    return "\n\n".join(_parts(comparison))


def _parts(comparison: ComparisonData) -> Iterator[str]:
    before, after = code(comparison.before.path), code(comparison.after.path)
    yield f"### Compared with {before}: {after}"
    facts = [f"- Note: {code(note, 400)}" for note in comparison.notes]
    if comparison.step_us is not None:
        facts.append(f"- Median step: **{plain(step_text(comparison.step_us))}**")
    if comparison.busy is not None:
        facts.append(f"- Busy: {plain(busy_text(comparison.busy))}")
    if comparison.comparable:
        facts.append(f"- Findings: {counts_text(comparison)}")
    yield "\n".join(facts)
    unit = comparison.unit
    rows = [
        (
            code(found.seen.place) or "(no source line)",
            code(found.seen.kind),
            status,
            *figures(found, unit),
        )
        for status in STATUSES
        for found in comparison.of(status)
    ]
    if rows:
        yield table(("where", "what", "", "before", "after"), rows[:_SHOWN], 3)
        if len(rows) > _SHOWN:
            yield f"and {len(rows) - _SHOWN} more"
        yield f"Figures are {unit_text(comparison)}."
