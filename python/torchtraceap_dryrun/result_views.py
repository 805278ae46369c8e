# SPDX-License-Identifier: BSD-3-Clause
"""result_views.py: a dry run's result for people, where the lines that wait come first,
and for programs: docs/dryrun.md lists the fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from torchtraceap.base.location import location_form
from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import align, wrapped
from torchtraceap.base.units import bytes_text, counted, time_text
from torchtraceap.waits.wait import Wait, explain
from torchtraceap_dryrun.record import CANNOT_KNOW, INTERRUPTED
from torchtraceap_dryrun.result import Result, Totals

#: Of the form: grows when a field changes its meaning.
SCHEMA_VERSION = 1


def result_form(result: Result) -> dict[str, Any]:
    """Return the result as plain values. Microseconds are estimates, none measured."""
    record = result.record
    step, stopped = record.last_step, record.stopped
    return {
        "schema_version": SCHEMA_VERSION,
        "origin": "dry-run",
        "gpu": result.gpu.name,
        "waits": [_wait_form(wait) for wait in result.waits],
        "steps": [asdict(totals) for totals in result.steps],
        "usual_step": asdict(result.usual_step),
        "launch_bound_us": result.launch_bound_us,
        "peak_bytes": result.peak_bytes,
        "modules": _rows("module", result.by_module(step)),
        "lines": [
            {"location": location_form(line), **asdict(totals)}
            for line, totals in result.by_line(step).items()
        ],
        "unknown_operators": dict(result.unknown_ops),
        "stopped": stopped
        and {
            "after_steps": record.steps,
            "location": location_form(stopped.line),
            "not_reached": list(stopped.not_reached),
        },
        "notes": [INTERRUPTED] * record.interrupted + result.notes,
        "cannot_know": list(CANNOT_KNOW),
    }


def _rows(name: str, found: dict[str, Totals]) -> list[dict[str, Any]]:
    return [{name: at, **asdict(totals)} for at, totals in found.items()]


def _wait_form(wait: Wait) -> dict[str, Any]:
    return {
        "location": location_form(wait.line),
        "library": location_form(wait.inner),
        "api": wait.api,
        "how": wait.how,
        "value": wait.value,
        "module": wait.module,
        "phase": wait.phase,
        "count": wait.count,
        "steps": wait.steps,
        "why": wait.cause.why,
        "advice": wait.cause.instead,
    }


_MOST_WAITS, _MOST_ROWS = 20, 8
_NO_LINE = "(no line of your own code)"


def result_text(result: Result) -> str:
    """Return the text; it ends without a newline."""
    blocks = (_heading, _step, _waits, _tables, _notes)
    parts = ["\n".join(block(result)) for block in blocks]
    return "\n\n".join(part for part in parts if part)


def _heading(result: Result) -> Iterator[str]:
    steps = result.record.steps
    many = counted(steps, "step") if steps else "no step() was called, so all is one"
    yield f"Dry run as if on one {result.gpu.name}: {many}."
    yield "Nothing ran on a GPU, and no time here was measured."
    if result.record.interrupted:
        yield INTERRUPTED
    if stopped := result.record.stopped:
        at = f", at {printable(str(stopped.line))}" if stopped.line else ""
        end = f"It was ended after {many}{at}; --steps 0 runs it to its end."
        yield from wrapped(end, "  ")
        if stopped.not_reached:
            what = "; ".join(printable(rest) for rest in stopped.not_reached)
            yield from wrapped(f"Not reached: {what}.", "  ")
    if not result.record.entries:
        yield 'Nothing was put on the GPU: is there no .cuda() or device="cuda"?'


def _step(result: Result) -> Iterator[str]:
    usual = result.usual_step
    name = "last step" if result.record.steps else "all of it"
    across = f" ({bytes_text(usual.copied_bytes)})" if usual.copies else ""
    rows = [
        (
            name,
            f"{counted(usual.ops, 'operator')}, "
            f"{counted(usual.launches, 'launch', 'launches')}, "
            f"{counted(usual.copies, 'copy', 'copies')} to or from the host{across}, "
            f"{counted(usual.waits, 'wait')}",
        ),
        (
            "memory",
            f"{bytes_text(result.peak_bytes)} at most, of "
            f"{bytes_text(result.gpu.memory_bytes)}: all tensors that lived at once",
        ),
    ]
    bound = result.launch_bound_us
    if bound is not None:
        rows.append(
            (
                "launch-bound",
                f"if your host needs more than {time_text(bound)} a launch: the device "
                f"has work for about {time_text(usual.device_us)} (an estimate)",
            )
        )
    if result.peak_bytes > result.gpu.memory_bytes:
        rows.append(("", "that is more than the GPU has: it would run out of memory"))
    for head, text in rows:
        yield from wrapped(text, " " * 14, f"{head:<14}")


def _waits(result: Result) -> Iterator[str]:
    waits = result.waits
    if not waits:
        yield "Nothing in it waits for the GPU."
        return
    yield "The host would wait for the GPU here:"
    explained: set[str] = set()
    for wait in waits[:_MOST_WAITS]:
        yield f"  {_wait_text(wait)}"
        yield from (f"      {line}" for line in explain(wait, explained))
    if rest := waits[_MOST_WAITS:]:
        count = sum(wait.count for wait in rest)
        yield f"  and {count:,} waits at {len(rest):,} more places"


def _wait_text(wait: Wait) -> str:
    """Return a wait in one line: where, by what, how often."""
    place = printable(str(wait.line)) if wait.line else _NO_LINE
    often = f"×{wait.count:,}"
    if wait.steps > 1:
        often += f", {wait.per_step:.3g} a step"
    elif wait.count > 1:
        often += ", in one step only"
    if wait.value == "guessed":
        often += " (value guessed)"
    part = "" if wait.phase == "forward" else f" in {wait.phase}"
    return f"{place}  {printable(wait.head)}{part}  {often}"


def _tables(result: Result) -> Iterator[str]:
    step, whole = result.record.last_step, result.usual_step
    by_module = result.by_module(step)
    by_line = {
        printable(str(line)) if line else _NO_LINE: totals
        for line, totals in result.by_line(step).items()
    }
    for head, found in (("module", by_module), ("line", by_line)):
        rows = sorted(found.items(), key=lambda item: -item[1].launches)
        rows = [(name, totals) for name, totals in rows if totals.launches]
        if rows:
            yield from [""] if head == "line" else []
            yield from _table(head, rows, whole)


def _table(head: str, rows: list[tuple[str, Totals]], whole: Totals) -> Iterator[str]:
    table = [(head, "launches", "of all", "device time (estimate)")]
    for name, totals in rows[:_MOST_ROWS]:
        share = f"{100 * totals.launches / max(whole.launches, 1):.0f} %"
        shown = printable(name) or "(outside of modules)"
        table.append(
            (shown, f"{totals.launches:,}", share, time_text(totals.device_us))
        )
    yield from align(table, right=(1, 2, 3))
    if len(rows) > _MOST_ROWS:
        launches = sum(totals.launches for _, totals in rows[_MOST_ROWS:])
        yield f"and {launches:,} launches at {len(rows) - _MOST_ROWS:,} more"


def _notes(result: Result) -> Iterator[str]:
    for note in result.notes:
        yield from wrapped(f"note: {note}", "")
    if unknown := result.unknown_ops:
        names = ", ".join(printable(name) for name, _ in unknown.most_common(5))
        yield from wrapped(
            f"note: each of {len(unknown):,} operators counts as one launch, as it is "
            f"not known what it launches: {names}",
            "",
        )
    guessed = sum(sync.value == "guessed" for sync in result.record.syncs)
    if guessed:
        yield from wrapped(
            f"note: the host read guesses, {guessed:,} in all: "
            'values="all" works values out, at the speed of the CPU',
            "",
        )
    yield from wrapped(f"A dry run cannot know: {'; '.join(CANNOT_KNOW)}.", "")
