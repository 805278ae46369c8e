# SPDX-License-Identifier: BSD-3-Clause
"""page.py RESULTS.json: writes docs/agreement.md from what hta.py found.

python benchmarks/agreement/page.py benchmarks/results/hta.json > docs/agreement.md
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "loader"))

from render import table

Results = dict[str, Any]
TIMES = ("busy", "idle", "compute")
NEAR = 0.001  # differences below this share need no reason

INTRODUCTION = """\
# Agreement with Holistic Trace Analysis

Written by `python benchmarks/agreement/hta.py`; not edited by hand. HTA {version} and
torchtraceap answer the same questions about {all} public traces: when was the device
busy, when idle, what with, how far did communication and computation overlap, how long
did each kernel take. HTA could answer for {read} of them. {date}, commit {commit}.

Where the two differ, HTA's rules were applied to the raw events one after the other, by
code that shares nothing with either (`benchmarks/agreement/raw.py`), and what each rule
changes was measured. **No difference is left after the last rule**, in any trace, for
busy, idle and compute time and for the sum of every single kernel: {left}.
"""

RULES = """\
## Why they differ

| rule of HTA's | what it does |
|---|---|
| rows | Whatever has a number as `stream` in its args is device work. So it counts \
`cuda_sync` rows (waits, not work), operators that take an argument of that name \
(Triton's), and on MTIA `event_wait`. |
| steps | With two steps or more, only device work counts whose launch is in the \
trace and lies before the end of the last step (by default: before its start); what \
shares its correlation with several calls counts several times. |
| names | Communication is what matches `^nccl.*Kernel`, so RCCL's newer names, \
oneCCL and the all-reduce kernels of serving engines are computation; a kernel with \
`Sync`, `Memcpy` or `Memset` in its name is none. Ours goes by category, and by the \
names in `cpp/timeline/timeline.cpp`. |
| rounding | Times are doubles of absolute microseconds. By default starts are \
rounded up and ends down to whole microseconds where any start has a fraction: each \
kernel gets up to 2 us shorter, and one of less than 1 us gets negative time. |

HTA's idle time is between the first and the last device event; so is ours in these
tables. A report counts the idle time of the whole trace.
"""

SAME = """\
## Looking at the same

HTA with `include_last_profiler_step=True` and `HTA_DISABLE_NS_ROUNDING=1`; times in
milliseconds. The last column has the rules behind a difference above 0.1 %, with what
each changes.
"""

DEFAULTS = """\
## With HTA's defaults

What a user of HTA reads: it leaves out the last step and rounds to microseconds.
"""

KERNELS = """\
## Other figures

*kernels*: names HTA lists, and the largest difference between its sum and ours for the
five kernels that took longest. *communication*, *overlap*: milliseconds, and the share
of communication that runs beside computation. HTA looks at the same as above.
"""

CANNOT = """\
## What HTA cannot read

"""


def ms(us: float) -> str:
    """Write microseconds as milliseconds."""
    return f"{us / 1e3:,.3f}"


def share(ours: float, theirs: float) -> float:
    """Return the difference as a share of the larger."""
    most = max(abs(ours), abs(theirs))
    return (theirs - ours) / most if most else 0.0


def reasons(row: Results, run: str, name: str) -> str:
    """Say which rules make the difference of one figure."""
    changes = row["runs"][run]["changes_us"]
    most = max((abs(of.get(name, 0.0)) for of in changes.values()), default=0.0)
    parts = [
        f"{rule} {us / 1e3:+,.{3 if most >= 1 else 6}f}"
        for rule, of in changes.items()
        if abs(us := of.get(name, 0.0)) > 0.01 * most
    ]
    return ", ".join(parts)


def details(row: Results) -> str:
    """Say what stands behind the rules in this trace."""
    out = [
        f"{n:,} {what[1:]}" for what, n in row["strangers"].items() if what[0] == "+"
    ]
    out += [f"{n:,} {what}" for what, n in row["launches"].items() if n]
    return "; ".join(out)


def time_rows(results: Results, run: str) -> Iterator[list[str]]:
    """Yield each trace and figure of which HTA says something."""
    for name, row in results["traces"].items():
        theirs = row["runs"][run]["theirs_us"]
        short = name.removesuffix(".json.gz")
        behind = details(row) if run == "same" else ""
        for figure in TIMES:
            if figure not in theirs:
                continue
            ours = row["ours_ns"][figure] / 1e3
            off = share(ours, theirs[figure])
            why = reasons(row, run, figure) if abs(off) > NEAR else ""
            if why and behind:
                why, behind = f"{why} ({behind})", ""
            cells = [ms(ours), ms(theirs[figure]), f"{100 * off:+.2f} %", why]
            yield [f"{short}, {figure}", *cells]


def kernel_rows(results: Results) -> Iterator[list[str]]:
    """Yield kernels, communication and overlap."""
    for name, row in results["traces"].items():
        run = row["runs"]["same"]
        if "busy" not in run["theirs_us"]:
            continue
        worst = max(
            (
                abs(share(ns / 1e3, run["kernels_us"][kernel]))
                for kernel, ns in row["kernels_ns"].items()
                if kernel in run["kernels_us"]
            ),
            default=0.0,
        )
        ours = row["ours_ns"]
        part = (
            100 * ours["overlap"] / ours["communication"]
            if ours["communication"]
            else 0
        )
        their_part = run["theirs_us"].get("overlap_percent")
        yield [
            name.removesuffix(".json.gz"),
            f"{run['kernel_names']:,}",
            f"{100 * worst:.2f} %",
            ms(ours["communication"] / 1e3),
            ms(run["theirs_us"].get("communication", 0.0)),
            f"{part:.2f} %" if ours["communication"] else "-",
            "-" if their_part is None else f"{their_part:.2f} %",
        ]


def cannot(results: Results) -> Iterator[str]:
    """Yield what HTA fails on, and with what."""
    for name, row in results["traces"].items():
        for run, what in (("same", ""), ("defaults", " with its defaults")):
            fails = row["runs"][run]["theirs_us"]["fails"]
            for stage, error in fails.items():
                if (
                    run == "defaults"
                    and stage in row["runs"]["same"]["theirs_us"]["fails"]
                ):
                    continue
                work = "" if row["ours_ns"]["busy"] else "; there is no device work"
                lost = [
                    f"{n} {w[1:]}" for w, n in row["strangers"].items() if w[0] == "-"
                ]
                work += f"; no `stream` as a number: {', '.join(lost)}" if lost else ""
                yield f"- {name}{what}, {stage}: {error}{work}\n"


def page(results: Results) -> str:
    """Return the page."""
    traces = results["traces"]
    left = sum(
        len(r["unexplained_us"]) for t in traces.values() for r in t["runs"].values()
    )
    head = ("trace, figure", "ours", "HTA", "difference", "because of")
    figures = (
        "trace",
        "kernels",
        "off by",
        "communication",
        "HTA's",
        "overlap",
        "HTA's",
    )
    parts = [
        INTRODUCTION.format(
            version=results["hta"],
            all=len(traces),
            read=sum("busy" in t["runs"]["same"]["theirs_us"] for t in traces.values()),
            left=f"{left} remain" if left else "0 remain",
            **{key: results["machine"][key] for key in ("date", "commit")},
        ),
        RULES,
        SAME,
        table(head, time_rows(results, "same")),
        KERNELS,
        table(figures, kernel_rows(results)),
        DEFAULTS,
        table(head, time_rows(results, "defaults")),
        CANNOT + "".join(cannot(results)),
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    print(page(json.loads(Path(sys.argv[1]).read_text())), end="")
