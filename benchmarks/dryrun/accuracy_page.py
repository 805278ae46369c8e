# SPDX-License-Identifier: BSD-3-Clause
"""accuracy_page.py: writes results/dryrun_accuracy.md from what run.py measured."""

from __future__ import annotations

from typing import Any

from benchmarks.loader.render import table
from torchtraceap_dryrun.estimate.kernel_time import CLASSES

INTRODUCTION = """\
# How near a dry run's estimates come

Written by `python -m benchmarks.dryrun.run`; not edited by hand.

{machine} torch {torch}.

No GPU was used: estimates are held against published traces of an H100, an A100 and
two V100. What is *in sample* was looked at when the constants were chosen, so its
error says how well the formula can be made to fit and not how well it predicts; *out
of sample* it predicts. No trace of a T4, RTX A6000, RTX 4090 or H200 was at hand: for
those only the data sheet speaks.
"""
PROGRAMS = """\
The programs of the traces, built again and dry-run; a usual step beside a recorded
one. *Busy* is the sum of kernels and of copies on the device. *Fitted* says whether
constants were chosen on that trace: `counts` means only how many kernels a
convolution has. The two traces with DistributedDataParallel (DDP) record no shapes:
that they have 32 images a step follows from the grids of their elementwise kernels;
what DDP adds is left out of them.
"""
KERNELS = """\
Each operator of a trace whose arguments are recorded, its kernels taken together.
*Off by* is the factor between estimate and recording, whichever is larger, for half
and for nine tenths of them; *all* is the sum of estimates by the sum of recordings;
*data sheet* is the factor for half of them if only FLOP and bytes by the data sheet
counted. Traces of 2021 and 2022 hold whole microseconds, and no strides and numbers.
Both ranking models trained beside all-reduces, which slow small kernels down: their
shortest are a third of their usual ones.
"""
CONSTANTS = """\
`time = max(1.2 µs, start + max(FLOP / (peak · ef), bytes / (bandwidth · eb)) + blocks
per multiprocessor · block)`, start and block in µs at the clock of an H100. *Error*:
what half of its kernels are within in the worst trace; not known: in no trace by
itself, the constants are those of a like class.
"""


def machine_text(m: dict[str, Any]) -> str:
    """Say where the run was made."""
    return (
        f"{m['date']}. {m['processor']}, {m['cores']} cores shared with others; load "
        f"average {m['load_before']:.1f} before and {m['load_after']:.1f} after."
    )


def program_rows(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Return a line for each program."""
    out = []
    for row in rows:
        dry, real = row["dry"], row["trace_figures"]
        share = dry["kernels"] / real["kernels"] - 1
        out.append(
            [
                row["program"],
                row["gpu"],
                row["fitted"],
                f"{dry['kernels']} / {real['kernels']:.0f}",
                f"{100 * share:+.1f}",
                f"{dry['busy_us'] / 1e3:.2f} / {real['busy_us'] / 1e3:.2f}",
                f"x{dry['busy_us'] / real['busy_us']:.2f}",
            ]
        )
    return out


def class_rows(traces: list[dict[str, Any]]) -> list[list[str]]:
    """Return a line for each class and trace."""
    found = sorted(
        ((row, trace) for trace in traces for row in trace["classes"]),
        key=lambda pair: (pair[0]["class"], not pair[0]["fitted"]),
    )
    return [
        [
            f"{row['class']}, {trace['trace']}",
            "in" if row["fitted"] else "out",
            str(row["operators"]),
            f"{row['kernels_said']} / {row['kernels']}",
            f"x{row['median']:.2f}",
            f"x{row['p90']:.2f}",
            f"{100 * row['within_2']:.0f}",
            f"x{row['sum_ratio']:.2f}",
            f"{row['ms']:.2f}",
            f"x{row['roofline_median']:.1f}",
        ]
        for row, trace in found
    ]


def constant_rows(traces: list[dict[str, Any]]) -> list[list[str]]:
    """Return a line for each class of kernel_time.py."""
    seen = {row["class"] for trace in traces for row in trace["classes"]}
    return [
        [
            f"`{name}`",
            f"{row.start_us:g}",
            f"{row.ef:g}" + "".join(f", {k} {v:g}" for k, v in row.ef_of.items()),
            f"{row.eb:g}",
            f"{row.block_us:g}" if row.block_us else "-",
            f"x{row.error:g}" if row.error else "not known",
            "yes" if name in seen else "no",
        ]
        for name, row in CLASSES.items()
    ]


def cost_text(costs: dict[str, Any]) -> str:
    """Say what a dry run costs."""
    large, small = costs["large"], costs["resnet50"]
    head = ["`x * 1.0` of 64 numbers", "µs"]
    rows = [[name, f"{us:.1f}"] for name, us in costs["operator_us"].items()]
    return table(head, rows) + (
        f"\nA training step of ResNet-50 with 8 images ({small['operators']:.0f} "
        f"operators): {small['dry_s']:.2f} s dry, {small['cpu_s']:.1f} s computed on "
        f"the CPU.\n\nA training step of a GPT of {large['weights'] / 1e9:.2f} billion "
        "weights (bf16 by autocast, AdamW, 8 x 1024 words, "
        f"{large['operators']:.0f} operators): "
        f"{large['seconds']:.1f} s, with {large['resident_growth_mb']:.0f} MB more of "
        f"memory; {large['peak_gib']:.0f} GiB on the GPU it stands for.\n"
    )


def page(results: dict[str, Any]) -> str:
    """Return the page."""
    traces = results["kernels"]
    kernels = sum(trace["kernels"] for trace in traces)
    left = sum(trace["not_compared"] for trace in traces)
    parts = [
        INTRODUCTION.format(
            machine=machine_text(results["machine"]), torch=results["torch"]
        ),
        "## Whole programs\n",
        PROGRAMS,
        table(
            ["program", "GPU", "fitted", "kernels said / recorded", "off by %",
             "busy ms said / recorded", "ratio"],
            program_rows(results["programs"]),
        ),
        "\n## Kernels\n",
        KERNELS + f"Of {kernels} kernels in the traces, {left} are of operators that "
        "could not be rebuilt (of other libraries, or with arguments that are not "
        "recorded).\n",
        table(
            ["class, trace", "sample", "operators", "kernels said / recorded",
             "half off by", "nine tenths off by", "within 2x %", "all", "ms",
             "data sheet"],
            class_rows(traces),
        ),
        "\n## Constants\n",
        CONSTANTS,
        table(
            ["class", "start", "ef", "eb", "block", "error", "seen in a trace"],
            constant_rows(traces),
        ),
        "\n## What it costs\n",
        "Processor time, all threads together.\n",
        cost_text(results["costs"]),
    ]  # fmt: skip
    return "\n".join(parts)
