# SPDX-License-Identifier: BSD-3-Clause
"""compare_markdown.py: a comparison as Markdown, for a pull request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchtraceap.gate.compare_text import (
    STATUSES,
    busy_text,
    counts_text,
    step_text,
    unit_text,
)
from torchtraceap.gate.markdown_text import code, plain, table
from torchtraceap.gate.worse import figures

if TYPE_CHECKING:
    from torchtraceap.comparison import Comparison

_SHOWN = 30


def comparison_markdown(comparison: Comparison) -> str:
    """Return the text, under 64 KiB."""
    return "\n\n".join(_parts(comparison))


def _parts(comparison: Comparison) -> Iterator[str]:
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
