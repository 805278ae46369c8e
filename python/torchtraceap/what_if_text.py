# SPDX-License-Identifier: BSD-3-Clause
"""what_if_text.py: what a replay with changes comes to, as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchtraceap.heading import simulated_text
from torchtraceap.path_text import kinds_text
from torchtraceap.text_table import wrapped
from torchtraceap.units import share_text, time_text

if TYPE_CHECKING:
    from torchtraceap.replaying import WhatIf

_MOST_STEPS = 20


def what_if_text(result: WhatIf) -> str:
    """Return the text: spans, the gain and what bounds it, then the steps."""
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
        lines.append("No gain is given: " + "; ".join(result.refusals) + ".")
    elif result.gain:
        low, high = time_text(result.gain.low_us), time_text(result.gain.high_us)
        share = share_text(result.gain.high_us, result.span_us)
        if result.leaves_nothing:
            lines.append(f"Gain       less than these {high} ({share}), for the edits")
            lines.append("           leave a step, or the whole trace, without time")
        else:
            lines.append(f"Gain       {low} to {high} (as replayed: {share})")
        if result.gain.recomputed_share is not None:
            lines.append(
                f"           {result.gain.recomputed_share:.0%} of it waits made "
                f"shorter, {result.gain.inferred_share:.0%} of the path inferred"
            )
        lines += [f"           {fidelity.caveat}"] if fidelity.caveat else []
    if not result.edits:
        shares = ", ".join(f"{v:.0%} {k}" for k, v in fidelity.shares.items() if v)
        lines.append(f"Path       {shares} times; see docs/replay.md")
    if (kinds := kinds_text(result.critical_path)) and not result.refusals:
        lines.append(f"Bound by   {kinds}")
    if result.engine == "events":
        lines.append("           scheduled by events, for work may overlap")
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
