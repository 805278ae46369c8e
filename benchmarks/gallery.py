# SPDX-License-Identifier: BSD-3-Clause
"""gallery.py: writes results/gallery.md: the verdict on each public trace, is it right?

    python -m benchmarks.gallery FOLDER [--check]

FOLDER holds the traces. The verdicts are the program's, of this tree; the judgments are
people's, from the raw events, and stand in benchmarks/gallery.toml: whether the verdict
is right, on what evidence, and what is missing. A verdict whose costliest finding is no
longer the judged one is printed and the exit code is 1: it has to be judged again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import tomllib

import torchtraceap
from benchmarks import RESULTS, ROOT
from torchtraceap.base.units import share_text, time_text

JUDGMENTS = Path(__file__).with_name("gallery.toml")
PAGE = RESULTS / "gallery.md"
MOST_CAUSES = 3

HEAD = """# Gallery: every public trace, and whether the verdict is right

Made by `python -m benchmarks.gallery FOLDER` at commit {commit}; the verdicts are the
program's own, the judgments were made by reading the raw events
(`benchmarks/gallery.toml`). Where the traces come from is in [traces.md](traces.md).

{count} traces: {right} right, {partly} partly right, {wrong} wrong. The judgments are
of the first version that had all rules. Where what they missed has been mended, or the
costliest finding changed, they were made again ("Judged again"): the figures before
that are of the events, those after it compare them with what the program says now.
The traces that came last (`a100-qlora-*`, `a100x8-megatron-*`, `rtx*`) were judged as
they came: nothing had been tuned on them.
"Right" is a verdict whose limit, costliest finding and advice the events bear out; what
it still lacks stands under "Missing" all the same.

**Where two rules could claim the same time**, the one that stands first in the
[list of patterns](../../docs/patterns/README.md) has it: the profiler's own doing
before all else, then causes with the narrowest evidence, ways of running (launch-bound,
Python) last. A cause comes before its symptom: small or held-back collectives before
exposed ones, a slow link before an exposed copy. What a rule takes no later rule sees,
so times add up; but gains do not: fixing either of two causes may free the same time.
"""


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


def section(name: str, lines: list[str], judged: dict[str, Any]) -> str:
    """Return a trace's part of the page."""
    out = [f"## {name}", ""]
    out += [f"- {line}" for line in lines]
    out += ["", f"**{judged['right']}.** {' '.join(judged['evidence'].split())}"]
    if judged["missing"]:
        out.append(f"*Missing:* {' '.join(judged['missing'].split())}")
    return "\n".join(out) + "\n"


def main() -> int:
    """Write the page, or only check it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    judgments = tomllib.loads(JUDGMENTS.read_text("utf-8"))
    stale, sections = [], []
    for name, judged in sorted(judgments.items()):
        report = torchtraceap.analyze(
            options.folder / f"{name}.json.gz", detector="off"
        )
        top, lines = verdict_of(report)
        if top != judged["top"]:
            stale.append(
                f"{name}: judged as {judged['top'] or 'none'}, now {top or 'none'}"
            )
        sections.append(section(name, lines, judged))
    if not options.check:
        counts = Counter(judged["right"] for judged in judgments.values())
        show = ["git", "describe", "--always", "--dirty"]
        commit = subprocess.run(show, capture_output=True, text=True, cwd=ROOT).stdout
        head = HEAD.format(
            commit=commit.strip() or "unknown",
            count=len(judgments),
            right=counts["yes"],
            partly=counts["partly"],
            wrong=counts["no"],
        )
        PAGE.write_text(head + "\n" + "\n".join(sections), "utf-8")
    print("\n".join(stale) or f"{len(judgments)} verdicts are as they were judged")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
