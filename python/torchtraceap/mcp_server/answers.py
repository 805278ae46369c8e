# SPDX-License-Identifier: BSD-3-Clause
"""answers.py: what of a report's JSON form the answers for agents hold, and bounds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from torchtraceap.base.safe_text import printable
from torchtraceap.explain.explanation import Explanation
from torchtraceap.ranks.job_report import JobReport
from torchtraceap.views.job_answer import job_verdict_texts
from torchtraceap.views.job_json import job_json
from torchtraceap.views.job_words import trust_texts

MOST_ROWS, ROWS = 100, 20  #: Rows of a page.
_MOST_DEVICES = 16
_WORST = 5  # Findings and windows of a summary.
_TEXT_WIDTH = 4000


def summary(form: Mapping[str, Any], findings: int) -> dict[str, Any]:
    """Return the most informative part of a report, with that many findings."""
    trace, replay = form["trace"], form["replay"]
    worst = sorted(form["windows"], key=_saved, reverse=True)[:_WORST]
    return {
        "trace": {**trace, "devices": trace["devices"][:_MOST_DEVICES]},
        "step_us": _steps(form["steps"]),
        "answer": form["answer"],
        "story": form["story"],
        "balance": [_balance(row) for row in form["balance"][:_MOST_DEVICES]],
        "unlisted_devices": max(0, len(form["balance"]) - _MOST_DEVICES),
        "replay": {name: replay[name] for name in ("refusal", "doubts", "together")},
        "finding_count": len(form["findings"]),
        "findings": [row(one) for one in form["findings"][:findings]],
        "worst_windows": [_window(one) for one in worst if _saved(one) > 0],
        "detector": form["detector"],
    }


def _steps(steps: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Tell how long steps are, in microseconds."""
    if not steps:
        return None
    lengths = [step["end_us"] - step["start_us"] for step in steps]
    longest, number = max(zip(lengths, (step["number"] for step in steps), strict=True))
    return {"median": median(lengths), "longest": longest, "longest_step": number}


def job_summary(job: JobReport, rows: int) -> dict[str, Any]:
    """Return the most informative part of a job, with that many rows of each list; of
    more ranks, those that others waited for most."""
    form = job_json(job)
    facts = form["job"]
    for name in ("missing", "unjoined", "notes"):
        facts[name] = facts[name][:MOST_ROWS]
    if len(form["ranks"]) > rows:
        form["ranks"].sort(key=lambda row: -row["caused_us"])
    lists = (
        *("late_ranks", "late", "ranks", "shared", "decode_skew", "culprits"),
        "collectives",
    )
    return {
        "verdict": " ".join(job_verdict_texts(job)),
        "answer": form["answer"],
        "trust": [*trust_texts(job)],
        "job": facts,
        "counts": {name: len(form[name]) for name in lists},
        **{name: form[name][:rows] for name in lists},
    }


def page(name: str, rows: Sequence[Any], limit: int, offset: int) -> dict[str, Any]:
    """Return the rows called ``name`` from ``offset`` on, ``limit`` of them at most."""
    end = offset + limit
    more = end if end < len(rows) else None
    return {
        f"{name}_count": len(rows),
        f"{name}s": rows[offset:end],
        "next_offset": more,
    }


def row(form: Mapping[str, Any]) -> dict[str, Any]:
    """Return a finding without its events, and with few of its windows."""
    made = {name: value for name, value in form.items() if name != "events"}
    for name in ("windows", "processes"):
        made[name] = made[name][:_WORST]
    return {**made, "window_count": len(form["windows"])}


def _balance(form: Mapping[str, Any]) -> dict[str, Any]:
    row = dict(form)
    for part in ("idle_us", "excess_us"):
        row[part] = {name: us for name, us in form[part].items() if us}
    return row


def _saved(form: Mapping[str, Any]) -> float:
    """Microseconds of a window that a fix of one pattern saves at most, by rules."""
    share: float = max(
        (x["saved_fraction"] for x in form["labels"] if x["probability"] is None),
        default=0.0,
    )
    length: float = form["end_us"] - form["start_us"]
    return share * length


def _window(form: Mapping[str, Any]) -> dict[str, Any]:
    patterns = [label["pattern"] for label in form["labels"]]
    return {**form, "labels": list(dict.fromkeys(patterns))}


def shown(value: Any, lines: bool = False) -> Any:
    """Return what JSON takes, with all text on one line, unless it may have more, and
    made printable, and with figures of no more digits than mean anything."""
    if isinstance(value, str):
        parts = value.split("\n") if lines else [value]
        return "\n".join(printable(part, _TEXT_WIDTH) for part in parts)
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, Mapping):
        return {shown(str(name)): shown(one, lines) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [shown(one, lines) for one in value]
    return value


def told(explanation: Explanation, digest: bool) -> dict[str, Any]:
    """Return an explanation, whose text may have lines, on request with the digest."""
    answer = explanation.to_dict()
    del answer["opinion"]  # No model is asked.
    if digest:
        answer["digest"] = explanation.digest.text
    return {name: shown(value, lines=True) for name, value in answer.items()}


def bounded(
    answer: dict[str, Any], most: int, rows: str = "", offset: int = 0, hint: str = ""
) -> str:
    """Return an answer as JSON of at most that many bytes, with as many of its rows
    as fit: ``rows`` names them, ``offset`` is the number of the first, and
    ``hint`` how to have the others.

    Raises ValueError if there is room for none.
    """
    while True:
        text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
        if size <= most:
            return text
        kept = len(answer[rows]) // 2 if rows else 0
        if not kept:
            raise ValueError(
                f"the answer has {size} bytes, and this server gives {most}. Ask for "
                "less, as for one step or few rows, or start it with "
                "--max-answer-bytes."
            )
        answer[rows] = answer[rows][:kept]
        if "next_offset" in answer:
            answer["next_offset"] = offset + kept
            hint = f"ask again with offset {offset + kept}"
        answer["truncated"] = (
            f"an answer has {most} bytes at most, so {rows} end; {hint}"
        )
