# SPDX-License-Identifier: BSD-3-Clause
"""operators.py: aligned operators of two traces, as rows and lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from torchtraceap._core import AlignedOperator, AlignedSide, Alignment
from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import align, wrapped
from torchtraceap.base.units import share_text, three_digits, time_text

_SHOWN = 5
_AROUND = 2  # Names of what is around an operator, before its own.
_NAME = 96  # Characters of one.
_MODULE = "nn.Module: "


def operator_title(alignment: Alignment) -> str:
    """Return what the rows are, with the busy time of both."""
    per = "a step" if alignment.per_step else "in all"
    before, after = time_text(alignment.before_us), time_text(alignment.after_us)
    same = ""
    if alignment.same_kernels is not None:
        share = share_text(alignment.same_kernels, 1.0)
        same = f" ({share} in kernels of the same name)"
    return f"Operators, device time {per}: {before} -> {after}{same}"


def operator_rows(alignment: Alignment) -> Iterator[tuple[str, str, str, str]]:
    """Yield the rows that differ most: the operator, why, its time before and after."""
    for row in alignment.rows[:_SHOWN]:
        yield (
            _name(row),
            _because(row),
            *_both(row, lambda side: time_text(side.device_us)),
        )


def operator_lines(alignment: Alignment) -> Iterator[str]:
    """Yield the same as lines, with calls, flops and efficiency."""
    rows = alignment.rows[:_SHOWN]
    yield f"{operator_title(alignment)}:"
    cells: list[tuple[str, ...]]
    cells = [("before", "after", "calls", "flops", "efficiency", "operator")]
    cells += [(*_figures(row), _name(row)) for row in rows]
    head, *lines = align(cells, right=(0, 1, 2, 3, 4))
    if rows:
        yield f"  {head}"
    for line, row in zip(lines, rows, strict=True):
        yield f"  {line}"
        yield from wrapped(_because(row), "      ", first="    ")
    if len(alignment.rows) > len(rows):
        yield f"  and {len(alignment.rows) - len(rows)} more (--json lists all)"


def no_operators(reports: Sequence[str]) -> str:
    """Return why operators are not compared."""
    if not reports:
        return "Operators: unknown, because the traces cannot be compared."
    which = " and ".join(reports)
    given = "is a report" if len(reports) == 1 else "are reports"
    return (
        f"Operators: unknown, because {which} {given} in JSON, which does not have "
        "them. Give both traces."
    )


def _name(row: AlignedOperator) -> str:
    """Return an operator with the ranges and modules around it, which tell more than
    the operators between; where there are none, with these."""
    around = [name for name in row.path if "::" not in name] or row.path
    sides = (side for side in (row.before, row.after) if side is not None)
    own = " -> ".join(dict.fromkeys(side.name or "(no operator)" for side in sides))
    names = (name.replace(_MODULE, "") for name in (*around[-_AROUND:], own))
    return " > ".join(printable(name, _NAME) for name in names)


def _because(row: AlignedOperator) -> str:
    """Return which side is slower and why, and what else is known of both."""
    if row.before is None or row.after is None:
        return f"only {'after' if row.before is None else 'before'}"
    reasons = "; ".join(printable(reason.text) for reason in row.because)
    if not row.slower:
        return ""
    return f"{row.slower} is slower: {reasons or 'the trace does not say why'}"


def _figures(row: AlignedOperator) -> tuple[str, ...]:
    """Return the times of both sides, then what else is known, in one cell each."""
    return (
        *_both(row, lambda side: time_text(side.device_us)),
        _cell(_both(row, lambda side: three_digits(side.calls))),
        _cell(_both(row, _flops)),
        _cell(_both(row, _efficiency)),
    )


def _both(row: AlignedOperator, text: Callable[[AlignedSide], str]) -> tuple[str, str]:
    before, after = (
        "-" if side is None else text(side) for side in (row.before, row.after)
    )
    return before, after


def _cell(texts: tuple[str, str]) -> str:
    before, after = texts
    return before if before == after else f"{before} -> {after}"


def _flops(side: AlignedSide) -> str:
    if side.flops is None:
        return "-"
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if side.flops >= size:
            return f"{three_digits(side.flops / size)} {unit}"
    return three_digits(side.flops)


def _efficiency(side: AlignedSide) -> str:
    return "-" if side.efficiency is None else share_text(side.efficiency, 1.0)
