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
    """Return who says what, a paragraph each: verdict, explanation, advice, what of
    that is made up, and why there is no more."""
    name = printable(opinion.model, NAME_WIDTH)
    out = []
    if opinion.pattern is not None:
        verdict = "no pattern at all" if opinion.pattern == NONE else opinion.pattern
        agrees = {True: ", as above", False: ", not as above", None: ""}[opinion.agrees]
        out.append(
            f"{name} (a language model, which proves nothing) says: {verdict}{agrees}."
        )
    words = [opinion.explanation, opinion.advice]
    out += [f'"{printable(text, _WIDTH)}"' for text in words if text]
    if opinion.problems:
        what = printable(", ".join(opinion.problems), _WIDTH)
        out.append(f"Do not trust these words: what they name was not shown: {what}.")
    if opinion.failure:
        why = printable(opinion.why, _WIDTH).rstrip(".")
        out.append(f"No {'words' if opinion.pattern else 'answer'} of {name}: {why}.")
    return out


def ranked_by(report: ReportData) -> str:
    """Say whose opinion orders the findings; "" if nobody's does."""
    models = {row.opinion.model: None for row in report.ranking if row.opinion}
    if not models:
        return ""
    names = ", ".join(printable(name, NAME_WIDTH) for name in models)
    return f"as {names} ranks them ({LLM}: no figure is changed by it)"


def rank_text(row: Ranked, place: int) -> str:
    """Say what an opinion is of a finding at a place of the order, and where it was; ""
    where nothing is to be said."""
    moved = f"was {row.was + 1}" if row.was != place else ""
    return ", ".join(text for text in (row.text, moved) if text)
