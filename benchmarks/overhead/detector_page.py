# SPDX-License-Identifier: BSD-3-Clause
"""detector_page.py: results/detector_speed.md from what detector_speed.py measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from benchmarks.loader.render import machine_text, table, target_rows
from benchmarks.loader.targets import Results, Target

#: What limits are asked for: a trace of so many events.
ASKED_EVENTS = 216_000
INTRODUCTION = """\
# What the detector costs

Written by `python -m benchmarks.overhead.detector_speed --page`;
not edited by hand. Seconds are
of the wall clock, the best round: other work on the machine only adds. The package is
as `make build` makes it.

{machine}

The weights are {name}, {parameters:,} of them, {megabytes:.1f} MB (SHA-256 {sha256}).
"""
STAGES = """\
*without* is loading and analyzing with the detector off, to windows and findings;
*with* the same with it, torch and weights being loaded. Of what it adds, *features*
makes the arrays that it reads, *network* is the network with the trees. *events/s* are
events of the trace by *with*, *windows/s* windows by *network*.
"""
FIRST = """\
The first analysis of a process adds {torch:.2f} s for torch, {weights:.3f} s for the
weights, and {warm:.3f} s that the first scoring takes longer. `import torchtraceap`
and an analysis with `detector="off"` load no torch.
"""
GROWTH = """\
A trace, and the same {longer} times over, on one thread. *peak* is by how much resident
memory grows at most while it is scored in a process of its own, over the trace, its
features and the weights: it is to follow the batch, not the trace. *used* is the same
where the C library gives memory back at once, instead of keeping it for batches of
other lengths.
"""
PRECISION = """\
In bfloat16 the network takes {ratio:.2f} times as long as in float32 on this processor,
and probabilities differ by at most {off:.1e} ({trace},
one thread). An analysis takes float32.
"""
GPU = """\
{gpu}, against float32 on the CPU: *off* is the largest difference of a probability.
"""
LEARNING = """\
Training steps with all losses, of 32 windows of each of two twins, on {device}.
"""


def page(results: Results) -> str:
    """Return the page."""
    weights = results["weights"]
    megabytes = weights["bytes"] / 1e6
    results = results | {"targets": list(targets(results))}
    first, precision = results["first"], results["precision"]
    parts = [
        INTRODUCTION.format(
            machine=machine_text(results),
            name=weights["name"],
            parameters=weights["parameters"],
            megabytes=megabytes,
            sha256=weights["sha256"][:16],
        ),
        table(("", "measured", "accept", "goal", "reached"), target_rows(results)),
        "## Parts of an analysis\n",
        STAGES,
        table(
            ("trace", "threads", "events", "windows", "without", "features", "network",
             "with", "events/s", "windows/s"),
            stage_rows(results),
        ),
        "## The first call\n",
        FIRST.format(**first, warm=max(0.0, first["network"] - first["later"])),
        "## Against the size\n",
        GROWTH.format(longer=results["longer"]),
        table(
            ("", "events", "windows", "features", "network", "with", "peak MB",
             "used MB"),
            growth_rows(results),
        ),
        "## Precision\n",
        PRECISION.format(
            ratio=precision["bfloat16"] / precision["float32"],
            trace=precision["trace"],
            off=precision["bfloat16_off"],
        ),
        *gpu_part(results),
        "## Training\n",
        LEARNING.format(device=results["device"]),
        table(("", "windows/s", "events/s"), learning_rows(results)),
    ]  # fmt: skip
    return "\n".join(parts)


def targets(results: Results) -> Iterator[dict[str, Any]]:
    """Yield what is asked, beside what was measured."""
    rows = results["traces"]
    nearest = min(rows, key=lambda row: abs(row["events"] - ASKED_EVENTS))
    found = []
    for row in rows:
        if row["trace"] == nearest["trace"]:
            what = f"analysis with the detector, {row['events']:,} events, "
            threads = f"{row['threads']} thread" + "s" * (row["threads"] > 1)
            found.append(Target(what + threads, row["whole"], 3, 1, True, "s"))
    small, large = results["growth"]
    windows = large["windows"] / small["windows"]
    time = large["network"] / small["network"] / windows
    found.append(Target("time a window, long against short", time, 1.3, 1.1, True))
    for name, what in (("peak", "grown_bytes"), ("memory used", "used_bytes")):
        memory = large[what] / max(1, small[what])
        text = f"{name} of scoring, long against short"
        found.append(Target(text, memory, 2, 1.3, True))
    for target in found:
        yield {**asdict(target), "verdict": target.verdict}


def stage_rows(results: Results) -> Iterator[list[str]]:
    """Yield a line for each trace and number of threads."""
    for row in results["traces"]:
        parts = ("without", "features", "network", "whole")
        yield [
            row["trace"],
            str(row["threads"]),
            *(f"{row[what]:,}" for what in ("events", "windows")),
            *(f"{row[part]:.3f}" for part in parts),
            f"{row['events'] / row['whole']:,.0f}",
            f"{row['windows'] / row['network']:,.0f}",
        ]


def growth_rows(results: Results) -> Iterator[list[str]]:
    """Yield a trace, the long one, and the ratio of both."""
    for row in results["growth"]:
        yield [
            row["trace"],
            *(f"{row[what]:,}" for what in ("events", "windows")),
            *(f"{row[part]:.3f}" for part in ("features", "network", "whole")),
            *(f"{row[of] / 1e6:.1f}" for of in ("grown_bytes", "used_bytes")),
        ]
    small, large = results["growth"]
    columns = ["events", "windows", "features", "network", "whole"]
    columns += ["grown_bytes", "used_bytes"]
    yield ["ratio", *(f"{large[c] / max(small[c], 1e-9):.2f}" for c in columns)]


def gpu_part(results: Results) -> list[str]:
    """Return what a GPU makes of it; nothing where there was none."""
    rows = results.get("gpu")
    if not rows:
        return []
    lines = [
        [row["trace"], f"{row['windows']:,}"]
        + [
            cell
            for name in ("float32", "bfloat16")
            for cell in (
                f"{row['windows'] / row[name]:,.0f}",
                f"{row[f'{name}_off']:.1e}",
            )
        ]
        for row in rows
    ]
    head = ("trace", "windows", "windows/s", "off", "bfloat16, windows/s", "off")
    return ["## On a GPU\n", GPU.format(gpu=rows[0]["gpu"]), table(head, lines)]


def learning_rows(results: Results) -> Iterator[list[str]]:
    """Yield a line for each number of threads."""
    for row in results["learning"]:
        yield [
            f"{row['threads']} threads" if row["threads"] > 1 else "1 thread",
            f"{row['windows'] / row['seconds']:,.0f}",
            f"{row['tokens'] / row['seconds']:,.0f}",
        ]
