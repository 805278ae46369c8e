# SPDX-License-Identifier: BSD-3-Clause
"""what_if_text.py: the result of a replay with changes, as plain text."""

from __future__ import annotations

from torchtraceap.base.text_table import wrapped
from torchtraceap.base.units import share_text, time_text
from torchtraceap.data.what_if import WhatIfData
from torchtraceap.views.finding_text import range_of
from torchtraceap.views.heading import kinds_text, simulated_text

_MOST_STEPS = 20
_INDENT = " " * 11
# The basis of lengths on a path, in words; docs/replay.md has the core's.
_LENGTHS = {
    "copied": "as recorded",
    "recomputed": "computed by rules",
    "anchored": "held at recorded times",
}


def what_if_text(result: WhatIfData) -> str:
    """Return the text: spans, the gain and its bounds, then the steps."""
    fidelity = result.fidelity
    source = "Simulated" if result.simulated else "Recorded"
    lines = [
        *wrapped(simulated_text(result.simulated), ""),
        f"{source:<10} {time_text(result.span_us)}",
        f"Replayed   {time_text(result.replayed_span_us)} "
        f"({_error(result.replayed_span_us, result.span_us)}; if nothing ever waited, "
        f"{_error(fidelity.null_span_us, result.span_us)})",
    ]
    if result.edits and result.changed_span_us is not None:
        lines.append(f"Changed    {time_text(result.changed_span_us)}")
    if result.refusals:
        refused = f"No gain is given: {'; '.join(result.refusals)}."
        lines += wrapped(refused, _INDENT)
    elif result.gain:
        high = time_text(result.gain.high_us)
        share = share_text(result.gain.high_us, result.span_us)
        if result.leaves_nothing:
            lines.append(f"Gain       less than these {high} ({share}): the edits")
            lines.append("           leave a step, or the whole trace, without time")
        else:
            lines.append(f"Gain       {range_of(result.gain)}")
        if result.gain.recomputed_share is not None:
            lines.append(
                f"{_INDENT}{result.gain.recomputed_share:.0%} of it shorter "
                f"waits, {result.gain.inferred_share:.0%} of the path guessed"
            )
        lines += wrapped(fidelity.caveat, _INDENT, first=_INDENT)
    if not result.edits:
        shares = ", ".join(
            f"{v:.0%} {_LENGTHS.get(k, k)}" for k, v in fidelity.shares.items() if v
        )
        lines += wrapped(f"Path       {shares}; see docs/replay.md", _INDENT)
    if (kinds := kinds_text(result.critical_path)) and not result.refusals:
        lines.append(f"Bound by   {kinds}")
    if result.engine == "events":
        lines.append("           scheduled by events, as work may overlap")
    for step in result.steps[:_MOST_STEPS]:
        after = step.changed_span_us if result.edits else None
        changed = "" if after is None else f" -> {time_text(after)}"
        lines.append(
            f"  step {step.number}: {time_text(step.span_us)} {source.lower()}, "
            f"{time_text(step.replayed_span_us)} replayed{changed}"
        )
    if (rest := len(result.steps) - _MOST_STEPS) > 0:
        lines.append(f"  and {rest} more steps")
    return "\n".join(lines)


def _error(replayed: float, recorded: float) -> str:
    return f"{100 * (replayed / recorded - 1):+.2f} %" if recorded else "-"
