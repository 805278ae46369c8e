# SPDX-License-Identifier: BSD-3-Clause
"""gallery.py: writes results/gallery.md: verdicts on public traces, judged by people.

    python -m benchmarks.gallery FOLDER [--check]

FOLDER holds the traces. The verdicts are the program's, of this tree; the judgments are
people's, from the raw events, and are in benchmarks/gallery.toml: whether the verdict
is right, on what evidence, and what is missing. A verdict whose costliest finding is no
longer the judged one is printed and the exit code is 1: it has to be judged again.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import tomllib

import torchtraceap
from benchmarks.lab import pages
from torchtraceap.base.units import share_text, time_text

JUDGMENTS = Path(__file__).with_name("gallery.toml")
MOST_CAUSES = 3


def verdict_of(report: torchtraceap.Report) -> tuple[str, list[str]]:
    """Return the costliest finding's pattern, and the verdict in three lines."""
    if report.quality.verdict == "unusable":
        reasons = "; ".join(note.detail for note in report.quality.reasons)
        return "unusable", [f"unusable: {reasons}"]
    lines = []
    for row in report.balance[:1]:
        causes = sorted(
            ((us, name) for name, us in row.idle_us.items() if us), reverse=True
        )
        parts = [
            f"{name} {share_text(us, row.span_us)}" for us, name in causes[:MOST_CAUSES]
        ]
        parts.append(f"unattributed {share_text(row.unattributed_us, row.span_us)}")
        what = "CPU" if row.device is None else f"device {row.device}"
        more = f" (and {len(report.balance) - 1} more devices)" * (
            len(report.balance) > 1
        )
        busy = share_text(row.busy_us, row.span_us)
        lines.append(
            f"{what}{more}: busy {busy} of {time_text(row.span_us)}; {', '.join(parts)}"
        )
    stages = {stage.id: stage.answer for stage in report.story}
    if "limit" in stages:
        lines.append(f"limit: {stages['limit']}")
    if report.findings:
        first = report.findings[0]
        where = f" at `{first.location}`" if first.location else ""
        lines.append(f"first: {first.kind}{where}, ×{first.count}, {first.message}")
    else:
        lines.append(f"no finding (quality {report.quality.verdict})")
    return (report.findings[0].pattern if report.findings else ""), lines


def main() -> int:
    """Write the page, or only check it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    judgments = tomllib.loads(JUDGMENTS.read_text("utf-8"))
    stale, judged_lines = [], {}
    machine = pages.machine()
    for name, judged in sorted(judgments.items()):
        report = torchtraceap.analyze(
            options.folder / f"{name}.json.gz", detector="off"
        )
        top, lines = verdict_of(report)
        if top != judged["top"]:
            stale.append(
                f"{name}: judged as {judged['top'] or 'none'}, now {top or 'none'}"
            )
        judged_lines[name] = lines, judged
    if not options.check:
        counts = Counter(judged["right"] for judged in judgments.values())
        figures = {"machine": machine, "judged": judged_lines, "counts": counts}
        pages.write("gallery", figures)
    print("\n".join(stale) or f"{len(judgments)} verdicts are as they were judged")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
