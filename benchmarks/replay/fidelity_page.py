# SPDX-License-Identifier: BSD-3-Clause
"""fidelity_page.py: writes results/replay_fidelity.md from what run.py measured."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.loader.render import table

LARGE = 100  # device tasks: fewer make a replay easy
INTRODUCTION = """\
# How near replays come to what was recorded

Written by `python -m benchmarks.replay.run`; not edited by hand. What the columns mean
is said in [replay.md](../../docs/replay.md).

{machine}

*null* is the same replay where nothing waits and nothing queues on the device: where it
is as near, the trace proves nothing. *strict* keeps no oddity of the recording, and
*constants* measures no constant on the trace: both show how much rests on it. *long
waits* are the synchronizations and blocking copies over 100 µs, which the replay works
out, and how far it is off call by call, but not what of them passed before the last
anchor. *copied / recomputed / anchored* are shares of the critical path. *untested*:
replayable, and the null replay is as near (2 %).
"""
CONTROLS = """\
`crowding`: kernels and copies within the device that were ready while work of another
stream filled it, how many of them started over 30 µs late, and as *by chance* how many
of all others; used where that is a third at most. The rest: starts so late that no rule
explains, and for how many of them a cause is found by times: that a kernel of unknown
size was about to end (`tails`), that any work of another stream had just ended
(`coincidences`), each of what the search before left. *By chance* is the same search at
16 other moments of each delay. They are used where they are found three times as often
as by chance, and chance alone would find so many in less than one trace of a hundred;
else the delays stay unexplained, which limits of acceptance count. Only what was found
once or more is listed.
"""
SEARCHES = ("crowding", "tails", "coincidences")


def machine_text(m: dict[str, Any]) -> str:
    """Say where the run was made."""
    dirty = ", changed since" if m["dirty"] else ""
    return (
        f"{m['date']}, commit {m['commit']}{dirty}. {m['processor']}, {m['cores']} "
        f"cores; load average {m['load_before']:.1f} before and {m['load_after']:.1f} "
        "after."
    )


def percent(share: float) -> str:
    """Write a signed share."""
    return f"{100 * share:+.2f}"


def shares(row: dict[str, Any]) -> str:
    """Write what the critical path is made of."""
    path = row["path_sources_ms"]
    whole = sum(path.values()) or 1.0
    return " / ".join(
        f"{100 * path[source] / whole:.0f}"
        for source in ("copied", "recomputed", "anchored")
    )


def verdict(row: dict[str, Any]) -> str:
    """Write whether a trace is replayable, and whether that says anything."""
    if row["refusals"]:
        return "; ".join(row["refusals"])
    return "yes" if row["informative"] else "yes, untested"


def controls(rows: list[dict[str, Any]]) -> str:
    """Say what causes were found by times, and by chance."""
    out = [
        [
            row["trace"],
            f"`{search}`",
            str(row[search]["delays"]),
            f"{100 * row[search]['rate']:.1f}",
            f"{100 * row[search]['chance']:.1f}",
            "yes" if row[search]["used"] else "no",
        ]
        for row in rows
        for search in SEARCHES
        if row[search]["rate"] > 0
    ]
    head = ["trace", "search", "of", "found %", "by chance %", "used"]
    return table(head, out)


def trace_rows(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Return a line of the table for each trace."""
    out = []
    for row in rows:
        error, waits = row["span_error"], row["long_waits"]
        out.append(
            [
                row["trace"],
                str(row["tasks"]),
                f"{row['span_ms']:.1f}",
                percent(error["model"]),
                percent(error["null"]),
                percent(error["strict"]),
                percent(error["constants"]),
                f"{100 * row['worst_step_error']:.2f}" if row["steps"] else "-",
                f"{waits['recorded_ms']:.1f} / {waits['error_ms']:.1f}",
                shares(row),
                verdict(row),
                f"{row['make_ms']:.1f} / {row['replay_ms']:.2f}",
            ]
        )
    return out


def figures(rows: list[dict[str, Any]]) -> str:
    """Say what the replayable ones come to."""
    large = [row for row in rows if row["tasks"] >= LARGE]
    good = [row for row in large if row["replayable"]]
    tested = sum(row["informative"] for row in good)
    lines = [
        f"Of {len(large)} traces with {LARGE} or more pieces of device work, "
        f"{len(good)} are replayable, {tested} of them tested by what waits in them. "
        "Absolute span errors of the replayable ones, in percent:\n"
    ]
    found = []
    for name in ("model", "constants", "strict", "null"):
        errors = [100 * abs(row["span_error"][name]) for row in good]
        found.append(
            [
                name,
                f"{statistics.fmean(errors):.3f}",
                f"{statistics.median(errors):.3f}",
                f"{max(errors):.2f}",
            ]
        )
    lines.append(table(["replay", "mean", "median", "worst"], found))
    return "\n".join(lines)


def ablations(rows: list[dict[str, Any]]) -> str:
    """Say what each kind of dependency matters."""
    good = [row for row in rows if row["tasks"] >= LARGE and row["replayable"]]
    kinds = good[0]["span_error_without"]
    out = []
    for kind in kinds:
        errors = [100 * abs(row["span_error_without"][kind]) for row in good]
        worse = sum(
            abs(row["span_error_without"][kind])
            > abs(row["span_error"]["model"]) + 0.005
            for row in good
        )
        out.append(
            [
                f"`{kind}`",
                f"{statistics.median(errors):.2f}",
                f"{statistics.fmean(errors):.2f}",
                f"{max(errors):.1f}",
                str(worse),
            ]
        )
    return table(
        ["left out", "median %", "mean %", "worst %", "traces worse by 0.5 points"], out
    )


def page(results: dict[str, Any]) -> str:
    """Return the page."""
    rows = results["traces"]
    parts = [
        INTRODUCTION.format(machine=machine_text(results["machine"])),
        figures(rows),
        "\n## Each trace\n",
        "Errors of the span in percent; of a step, the worst. Times in milliseconds; "
        "the last column is what making the model and one replay take.\n",
        table(
            [
                "trace",
                "device work",
                "span",
                "model",
                "null",
                "strict",
                "constants",
                "step",
                "long waits / error",
                "copied / recomputed / anchored %",
                "replayable",
                "make / replay",
            ],
            trace_rows(rows),
        ),
        "\n## Causes found by times\n",
        CONTROLS,
        controls(rows),
        "\n## What each kind of dependency matters\n",
        "Absolute span errors of the replayable traces without it. Hand-overs hardly "
        "show here and decide what a fix gains.\n",
        ablations(rows),
        "",
    ]
    return "\n".join(parts)
