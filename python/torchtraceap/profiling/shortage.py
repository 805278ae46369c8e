# SPDX-License-Identifier: BSD-3-Clause
"""shortage.py: what is said when fewer steps came than a schedule needs."""

from __future__ import annotations

from torchtraceap.profiling.plan import Plan

NO_STEPS = (
    "step() was not called, so the whole block was analyzed, with what only a start "
    "does. Call prof.step() after each step to leave that out."
)


def incomplete(plan: Plan, call: str, calls: int) -> str:
    """Says that the only cycle was cut short."""
    return f"The cycle is incomplete: {_shortage(plan, call, calls)}."


def unreached(plan: Plan, call: str, calls: int, has_reserve: bool) -> str:
    """Says that the schedule never got to record."""
    text = _shortage(plan, call, calls)
    if has_reserve:
        text += ". Analyzed is the first step alone, with what only a start does."
    else:
        text += ". Nothing was recorded."
    if plan.own is None:
        text += " Make more steps, or lower wait and warmup."
    return text


def _shortage(plan: Plan, call: str, calls: int) -> str:
    times = {0: "never", 1: "once"}.get(calls, f"{calls} times")
    needed = plan.needed()
    if needed is None:
        need = "does not record in the first 10,000 steps"
    else:
        need = f"needs {needed[0]} for a first recorded step"
        if needed[1] > needed[0]:
            need += f" and {needed[1]} for a whole cycle"
    return f"{call} was called {times}, but {plan} {need}"
