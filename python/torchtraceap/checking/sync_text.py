# SPDX-License-Identifier: BSD-3-Clause
"""sync_text.py: waits for the GPU as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from torchtraceap.checking.sync_observation import Place, Stall
from torchtraceap.safe_text import printable
from torchtraceap.source_lines import Line, display_path


def describe(stall: Place, steps: int) -> str:
    """Return one place in one line; ``steps`` is how many there are."""
    place = _place(stall.line, "(no Python line was recorded)")
    cost = "" if stall.wasted_us is None else f", {stall.wasted_us:,.0f} µs blocked"
    operator = f"  {printable(stall.head)}" if stall.operator else ""
    guessed = " (value guessed)" if stall.guessed else ""
    return f"{place}{operator}  {_often(stall, steps)}{cost}{guessed}"


def _often(stall: Place, steps: int) -> str:
    if steps == 1:
        return f"×{stall.count}"
    in_steps = len(stall.in_steps)
    if in_steps == steps and stall.count % steps == 0:
        return f"×{stall.count // steps} per step"
    return f"×{stall.count} in {in_steps} of {steps} steps"


def worst(stalls: Sequence[Stall]) -> str:
    """Return the worst place in a few words. It comes first in a failure, as pytest's
    own summary shows nothing else."""
    if not stalls:
        return "nothing waits for the GPU"
    first = stalls[0]
    what = printable(first.head) or "something"
    more = f" and {len(stalls) - 1} more" if len(stalls) > 1 else ""
    verb = "wait" if more else "waits"
    place = _place(first.line, "no line known")
    return f"{place}: {what}{more} {verb} for the GPU"


def example(stalls: Iterable[Stall]) -> Iterator[str]:
    """Yield the line that says how to tolerate the first that has a line."""
    lines = [stall.line for stall in stalls if stall.line is not None]
    for line in lines[:1]:
        file = display_path(line.file).rpartition("/")[2]
        yield f"To tolerate a line: allow=[{f'{file}:{line.line}'!r}]"


def _place(line: Line | None, otherwise: str) -> str:
    return printable(str(line)) if line else otherwise


def untold(line: str, what: str, name: str) -> str:
    """Say why a call that copies to the host, between tensors of the CPU, leaves the
    check without an answer."""
    return (
        f"{line}: it cannot be told: {what}. Between CPU tensors this copies nothing; "
        'on a GPU it waits. Build the model in the test, or take device="dry", so that '
        f'it runs on the dry run\'s GPU; if it is meant for the CPU, allow=["{name}"] '
        'or device="cpu"'
    )
