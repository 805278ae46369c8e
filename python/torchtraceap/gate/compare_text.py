# SPDX-License-Identifier: BSD-3-Clause
"""compare_text.py: a comparison as plain text for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchtraceap.comparison import LEAST_SHARE, RELATIVE, STEP_RELATIVE
from torchtraceap.gate.worse import figure, figures, place
from torchtraceap.safe_text import printable
from torchtraceap.text_table import align, wrapped
from torchtraceap.units import share_text, time_text

if TYPE_CHECKING:
    from torchtraceap.comparison import Change, Comparison
    from torchtraceap.gate.side import Side

STATUSES = ("gone", "new", "grown", "shrunk")
_CAUSES, _FINDINGS = 8, 20  # Shown.


def comparison_text(comparison: Comparison) -> str:
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


def counts_text(comparison: Comparison) -> str:
    """Return how many findings went, came, grew, shrank."""
    counts = [f"{len(comparison.of(status))} {status}" for status in STATUSES]
    rest = len(comparison.findings) - sum(len(comparison.of(s)) for s in STATUSES)
    return ", ".join(counts) + f", {rest} unchanged or too small to count"


def unit_text(comparison: Comparison) -> str:
    """Return what the figures are."""
    if comparison.unit == "share":
        return "shares of the time"
    several = comparison.before.units > 1 or comparison.after.units > 1
    return "time per step and device" if several else "time per step"


def _heading(comparison: Comparison) -> Iterator[str]:
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


def _causes(comparison: Comparison) -> Iterator[str]:
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


def _findings(comparison: Comparison) -> Iterator[str]:
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


def _rule(comparison: Comparison) -> Iterator[str]:
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
