# SPDX-License-Identifier: BSD-3-Clause
"""blame_page.py: writes benchmarks/results/blame.md from what run.py scored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Results = dict[str, Any]

#: What is asked of the median error of a gain, by pattern; of the rest only together.
GOALS = {
    "sync_stall": 0.05,
    "launch_bound": 0.08,
    **dict.fromkeys(
        ("dataloader_bound", "comm_exposed", "small_collectives",
         "comm_stream_serialised", "redundant_d2d", "exposed_copy"), 0.10
    ),
    **dict.fromkeys(
        ("frequent_memcpy", "host_bound_python", "gc_pause", "graph_break",
         "unfused_optimizer", "allocator_churn"), 0.15
    ),
    **dict.fromkeys(("pageable_copy", "low_occupancy", "small_grid"), 0.25),
    "all": 0.05,
}  # fmt: skip
#: Figures that are of no pattern: key, what it is, goal, whether that is the most.
OTHERS = (
    ("windows_right", "windows whose first label is the right one", 0.85, False),
    ("top_right", "traces whose first finding is the right one", 0.93, False),
    ("clean_labeled", "windows without a cause that are labeled", 0.05, True),
    ("inside", "gains whose range has the true one", 0.80, False),
    ("together_error", "error of the gain of all fixes at once, median", None, True),
)
_HEAD = ("pattern", "cases", "found", "priced", "error, median", "error, 90 %",
         "in range", "windows right", "goal", "reached")  # fmt: skip
_INTRODUCTION = """\
# Whether the right cause is blamed, and priced

Written by `python -m benchmarks.lab.blame.run --page`;
not edited by hand. What a gain is
and how it is worked out is said in [replay.md](../../docs/replay.md).

{date}, commit {commit}; {traces} traces from seed {seed}.

A simulator runs programs of {families} families on {machines} machines: threads of the
host with autograd's, workers of a data loader, launches with latencies, calls that
wait, streams that queue and wait for each other, collectives, the queue of launches
that is full at 1,021. It knows nothing of torchtraceap. A program gets a fault of one
pattern and of a drawn strength, in {several} of the {traces} traces two or three, and
is written as `torch.profiler` writes it. *The truth* of a fault is the length of the
program less that of the same program with the fix that the pattern's page advises, all
other lengths equal. What a fix saves in a window follows from when the same work of the
stream that computes runs in both.

- *error*: the gain of the pattern's findings, by one replay of all (`recoverable_us`,
  `what_if`), beside the true one, as a share of that. What is not found or not priced
  counts as a gain of 0, an error of 1. Gains under {least_gain:.0f} % of the trace are
  not asked for.
- *in range*: the true gain lies between the low and the high end, 2 % of it aside.
- *windows right*: of the windows in which the pattern's fix saves most, and over
  {least_saved:.0f} %, those whose first label says so. That launching more cheaply
  would help is looked at in every program, and that communication could be hidden in
  each that has some: where that is no fault and the best fix, it is asked for from
  {least_anyway:.0f} % of the window on. `missed_cuda_graph` counts as `launch_bound`.
- *without a cause*: no fix saves over {least_saved:.0f} % of the window.

A simulator shows what follows from its rules. What real machines do besides (workers
that slow the host, clocks, contention for memory) is in
[replay_pairs.md](replay_pairs.md). A recording that cannot show a fault is not asked
for it: Python and the garbage collector need stacks; indexes, types and sizes need
shapes; rows of AMD's devices do not tell pageable memory from other.
"""


def page(results: Results) -> str:
    """Return the page."""
    sums = results["summary"]
    lines = [_line(name, line) for name, line in sorted(sums["patterns"].items())]
    lines.append(_line("all", sums["all"]))
    return "\n".join(
        [
            _INTRODUCTION.format(**results["made"], **sums),
            _table(_HEAD, lines),
            "## Windows, first findings, ranges\n",
            _table(("", "measured", "of", "goal", "reached"), _others(sums)),
            f"The replay was refused in {sums['refused']} of {sums['traces']} traces.",
            "",
        ]
    )


def _line(name: str, line: dict[str, Any]) -> list[str]:
    goal, median = GOALS.get(name), line["median"]
    return [
        f"`{name}`" if name != "all" else "all",
        str(line["n"]),
        str(line["found"]),
        str(line["priced"]),
        _figure(median),
        _figure(line["p90"]),
        _percent(line["inside"]),
        _percent(line.get("windows")),
        _figure(goal),
        _reached(median, goal, True),
    ]


def _others(sums: dict[str, Any]) -> list[list[str]]:
    values = {**sums, "inside": sums["all"]["inside"]}
    counts = {
        "windows_right": sums["windows_with_cause"],
        "clean_labeled": sums["clean_windows"],
        "top_right": sums["traces_with_cause"],
        "inside": sums["all"]["n"],
        "together_error": sums["several"],
    }
    return [
        [what, _figure(values[key]), str(counts[key]), _figure(goal),
         _reached(values[key], goal, least)]
        for key, what, goal, least in OTHERS
    ]  # fmt: skip


def _reached(value: float | None, goal: float | None, at_most: bool) -> str:
    if value is None or goal is None:
        return "-"
    return "yes" if (value <= goal if at_most else value >= goal) else "no"


def _figure(value: float | None) -> str:
    return (
        "-" if value is None else f"{value:.3f}" if value < 0.0995 else f"{value:.2f}"
    )


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    marks = ["---"] + ["--:"] * (len(head) - 1)
    return (
        "\n".join(f"| {' | '.join(cells)} |" for cells in (head, marks, *rows)) + "\n"
    )
