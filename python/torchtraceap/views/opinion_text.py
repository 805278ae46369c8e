# SPDX-License-Identifier: BSD-3-Clause
"""opinion_text.py: a language model's second opinion, in words that are marked as its.

All text of the model passes through `printable`.
"""

from __future__ import annotations

from torchtraceap.base.location import NAME_WIDTH
from torchtraceap.base.safe_text import printable
from torchtraceap.data.opinion import LLM, NONE, Opinion, Ranked
from torchtraceap.report_data import ReportData

_WIDTH = 2000  # Of what a model says at once.


def opinion_texts(opinion: Opinion) -> list[str]:
    """Return a paragraph each: the verdict and its model, invented facts, explanation,
    advice, and the reason for a missing answer."""
    name = printable(opinion.model, NAME_WIDTH)
    out = []
    if opinion.pattern is not None:
        pattern = (
            "no pattern" if opinion.pattern == NONE else printable(opinion.pattern)
        )
        agrees = {True: ", as above", False: ", unlike above", None: ""}[opinion.agrees]
        out.append(
            f"A second opinion, by {name}: {pattern}{agrees}. It comes from a language "
            "model: it proves nothing and changes no figure."
        )
    if opinion.problems:
        what = printable("; ".join(opinion.problems), _WIDTH)
        out.append(f"UNRELIABLE, not in the facts it was shown: {what}")
    mark = "[?] " if opinion.problems else ""
    words = [opinion.explanation, opinion.advice]
    out += [f'{mark}"{printable(text, _WIDTH)}"' for text in words if text]
    if opinion.failure:
        why = printable(opinion.why, _WIDTH).rstrip(".")
        out.append(f"No {'words' if opinion.pattern else 'answer'} from {name}: {why}.")
    return out


def ranked_by(report: ReportData) -> str:
    """Name whose opinion orders the findings; "" if there is no opinion."""
    models = {row.opinion.model: None for row in report.ranking if row.opinion}
    if not models:
        return ""
    names = ", ".join(printable(name, NAME_WIDTH) for name in models)
    return f"as {names} ranks them ({LLM}: no figure is changed by it)"


def rank_text(row: Ranked, place: int) -> str:
    """Return an opinion on a finding at a place of the order, and the finding's former
    place; "" if there is nothing to report."""
    moved = f"was {row.was + 1}" if row.was != place else ""
    return ", ".join(text for text in (row.text, moved) if text)
