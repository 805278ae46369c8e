# SPDX-License-Identifier: BSD-3-Clause
"""page.py: what the page on pairs says besides its figures, and its drawing."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from html import escape
from typing import Any

from benchmarks.lab.pages import Target, percent
from benchmarks.pairs.chosen import NATURAL

HEAD = ("pair", "pattern", "edit", "slow, ms", "low", "middle", "high", "measured",
        "noise", "unprofiled", "rounds", "others")  # fmt: skip
HELD, ERROR = 0.8, 0.1  # What is asked for.
WORTH = 0.03  # What is worth a finding.
QUIET = 0.1  # Where others used more of the processors, figures are doubtful.
SIDE, EDGE = 480, 44  # Of the drawing, in pixels.
LEAST, MOST = -0.2, 1.0  # What it shows of gains.

Row = dict[str, Any]


def all_rows(results: Row) -> dict[str, Row]:
    return results["natural"] | results["pairs"]


def holds(row: Row) -> bool:
    """Tell whether a range has the measured gain in it, noise aside."""
    noise = row["noise"]
    return bool(row["low"] - noise <= row["measured"] <= row["high"] + noise)


def error(row: Row) -> float:
    return abs(row["middle"] - row["measured"])


def priced(row: Row) -> bool:
    return bool(row["edit"]) and not row["refusal"]


def cells(name: str, row: Row) -> list[str]:
    """Return a line of the table. Bold is a range that does not hold."""
    ends = [percent(row[key], ".1f") for key in ("low", "middle", "high")]
    if row["refusal"]:
        ends = ["refused", "-", "-"]
    elif not row["edit"]:
        ends[0] = "nothing found"
    gain = percent(row["measured"], ".1f")
    return [
        f"`{name}`",
        row["pattern"],
        row["edit"] or "-",
        f"{row['slow_ms']:.1f}",
        *ends,
        gain if row["refusal"] or holds(row) else f"**{gain}**",
        percent(row["noise"], ".1f"),
        percent(row.get("plain"), ".1f"),
        str(row.get("rounds", "-")),
        percent(row.get("others")),
    ]


def ratios(rows: list[Row]) -> Iterator[list[str]]:
    """Yield what fixes gained, of what replays take off, by pattern and edit."""
    groups: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if priced(row) and row["replayed"] > 0:
            ratio = row["measured"] / row["replayed"]
            for group in ((row["edit"], ""), (row["edit"], row["pattern"])):
                groups.setdefault(group, []).append(ratio)
    for (edit, pattern), values in sorted(groups.items()):
        quarters = [values[0]] * 3
        if values[1:]:
            quarters = statistics.quantiles(values, n=4, method="inclusive")
        figures = (min(values), *quarters, max(values))
        yield [f"`{edit}`", pattern or "all", str(len(values)),
               *(f"{value:.2f}" for value in figures)]  # fmt: skip


def context(results: Row) -> Row:
    """Return what the template asks for."""
    rows = all_rows(results)
    judged = [row for row in rows.values() if not row["refusal"]]
    found = [row for row in judged if row["edit"]]
    worth = [row for row in judged if row["measured"] - row["noise"] >= WORTH]
    return {
        "targets_of": [
            Target(
                f"Ranges of findings that hold, of {len(found)}",
                sum(map(holds, found)) / len(found), HELD, HELD,
            ).as_row(),
            Target(
                "Error of their middle, median, share of a step",
                statistics.median(map(error, found)), ERROR, ERROR, below=True,
            ).as_row(),
            Target(
                f"Found, of {len(worth)} pairs that gain {WORTH:.0%} and more",
                sum(bool(row["edit"]) for row in worth) / max(1, len(worth)),
                HELD, HELD,
            ).as_row(),
        ],
        "loud": sum(row["others"] >= QUIET for row in results["pairs"].values()),
        "missed": len(worth) - sum(bool(row["edit"]) for row in worth),
        "refused": [name for name, row in rows.items() if row["refusal"]],
        "head": HEAD,
        "lines": [cells(name, row) for name, row in rows.items()],
        "ratio_head": ("edit", "pattern", "pairs", "least", "1/4", "median", "3/4",
                       "most"),
        "ratios": list(ratios(list(rows.values()))),
        "notes": {pair.slow: pair.note for pair in NATURAL},
    }  # fmt: skip


def drawing(results: Row) -> str:
    """Draw the measured gain of each pair over its range, as SVG."""

    def x(gain: float) -> float:
        inside = min(max(gain, LEAST), MOST)
        return EDGE + (inside - LEAST) / (MOST - LEAST) * (SIDE - 2 * EDGE)

    def y(gain: float) -> float:
        return SIDE - x(gain)

    def line(x1: float, y1: float, x2: float, y2: float, stroke: str) -> str:
        return (
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{stroke}"/>'
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE} {SIDE}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{SIDE}" height="{SIDE}" fill="#fff"/>',
        line(x(LEAST), y(LEAST), x(MOST), y(MOST), "#999"),
    ]
    for step in range(6):
        at = LEAST + step * (MOST - LEAST) / 6 + (MOST - LEAST) / 6
        parts += [
            line(x(LEAST), y(at), x(MOST), y(at), "#ddd"),
            line(x(at), y(LEAST), x(at), y(MOST), "#ddd"),
            f'<text x="{x(at):.1f}" y="{SIDE - EDGE + 14}" text-anchor="middle">'
            f"{at:.0%}</text>",
            f'<text x="{EDGE - 4}" y="{y(at):.1f}" text-anchor="end">{at:.0%}</text>',
        ]
    for name, row in all_rows(results).items():
        if row["refusal"]:
            continue
        color = "#1f77b4" if holds(row) else "#d62728"
        gain, noise = row["measured"], row["noise"]
        parts += [
            line(x(row["low"]), y(gain), x(row["high"]), y(gain), color),
            line(x(row["middle"]), y(gain - noise), x(row["middle"]),
                 y(gain + noise), color),
            f'<circle cx="{x(row["middle"]):.1f}" cy="{y(gain):.1f}" r="3" '
            f'fill="{color}"><title>{escape(name)}</title></circle>',
        ]  # fmt: skip
    parts += [
        f'<text x="{SIDE / 2}" y="{SIDE - 8}" text-anchor="middle">predicted</text>',
        f'<text x="8" y="{EDGE - 12}">measured</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
