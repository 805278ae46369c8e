# SPDX-License-Identifier: BSD-3-Clause
"""observation.py: what a dry run shows, for the verdict on waits and launches. Loads no
torch."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from traceback import walk_tb

from torchtraceap.base.arguments import checked_int
from torchtraceap.base.errors import DryRunError
from torchtraceap.base.safe_text import printable
from torchtraceap.base.source_lines import Line, deepest_user_line
from torchtraceap.waits.verdict import Launches, Observation
from torchtraceap_dryrun.estimate.gpus import Gpu
from torchtraceap_dryrun.estimate.launches import launches_of
from torchtraceap_dryrun.record import Op, Record, Sync
from torchtraceap_dryrun.wait_places import each_wait

#: How an observation of this kind came about.
MODE = "dry run: operators that would wait for a GPU"

_NOTHING = (
    "Nothing was checked: the code put nothing on the GPU, which here is that of a dry "
    "run."
)
_NOTHING_ELSE = (
    "To check it, build the model in the test, on the GPU that torch.cuda has there.\n"
    'To check code for the CPU as if all its tensors were on a GPU: device="cpu".'
)


@dataclass(frozen=True)
class Since:
    """A moment of a record."""

    entries: int = 0
    syncs: int = 0
    step: int = 0


def now(record: Record) -> Since:
    """Return the present end of a record."""
    return Since(len(record.entries), len(record.syncs), record.steps)


def observe(record: Record, gpu: Gpu, since: Since) -> Observation:
    """Read what was written down since a moment. Steps are counted from there."""
    entries = record.entries[since.entries :]
    syncs = record.syncs[since.syncs :]
    if not entries and not syncs:
        return Observation((), _NOTHING_ELSE, _NOTHING, MODE)
    ended = record.steps - since.step
    # What follows the last step is one, too; all is, if none has ended.
    open_one = max(one.step for one in (*entries, *syncs)) == record.steps
    ops = [entry for entry in entries if isinstance(entry, Op)]
    steps = ended + open_one
    return Observation(
        tuple(each_wait(syncs, since.step)),
        scope=_scope(syncs, record, gpu),
        mode=MODE,
        steps=steps,
        launches=_launches(ops, gpu, since.step, steps),
    )


def observe_after(record: Record, gpu: Gpu, step: int) -> Observation:
    """Read the entries after ``step`` calls of `step()`; ValueError: there are none."""
    __tracebackhide__ = True
    step = checked_int("after_step", step, 0, sys.maxsize)
    since = Since(
        bisect_left(record.entries, step, key=lambda entry: entry.step),
        bisect_left(record.syncs, step, key=lambda sync: sync.step),
        step,
    )
    if record.steps < step or len(record.entries) == since.entries:
        raise ValueError(
            f"nothing follows step {step} on the GPU: step() was called "
            f"{record.steps} times"
            if step
            else "the dry run put nothing on the GPU"
        )
    return observe(record, gpu, since)


def cannot_be_run(error: DryRunError) -> Observation:
    """Return what is known of code that cannot be run dry: why not."""
    lines = [
        Line(frame.f_code.co_filename, number, frame.f_code.co_name)
        for frame, number in walk_tb(error.__traceback__)
    ]
    line = deepest_user_line(lines[::-1])
    where = f"{printable(str(line))}: " if line else ""
    return Observation((), "", f"{where}it is unknown: {error}", MODE)


def _launches(ops: Sequence[Op], gpu: Gpu, first: int, steps: int) -> Launches:
    each = [0] * steps
    by_line: list[Counter[str]] = [Counter() for _ in range(steps)]
    for op in ops:
        if number := len(launches_of(op, gpu)):
            each[op.step - first] += number
            line = printable(str(op.line)) if op.line else "(no line of your own code)"
            by_line[op.step - first][line] += number
    most = each.index(max(each)) if each else 0
    places = by_line[most].most_common() if by_line else []
    return Launches(tuple(each), tuple(places), first, problem="")


def _scope(syncs: Sequence[Sync], record: Record, gpu: Gpu) -> str:
    lines = [
        f"Checked in a dry run: nothing ran on a GPU, the code ran as if on one "
        f"({gpu.name}).",
        "Not known here: times; waits of the driver and of NCCL.",
    ]
    guessed = sum(sync.value == "guessed" for sync in syncs)
    if guessed:
        values = "1 value that was read is a guess" if guessed == 1 else (
            f"{guessed:,} values that were read are guesses"
        )  # fmt: skip
        lines.append(f"{values}, so branches and loops may go otherwise on a GPU.")
    lines += [f"Of this run: {printable(note)}" for note in record.notes]
    return "\n".join(lines)
