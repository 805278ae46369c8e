# SPDX-License-Identifier: BSD-3-Clause
"""critical_path.py: our critical paths beside those of Holistic Trace Analysis.

    python benchmarks/agreement/critical_path.py [--traces FOLDER] [--kept]

Asks HTA 0.5.0, in an environment of its own and with a limit of time and memory, for
the critical path of each ProfilerStep and of the whole trace, and compares each with
ours moment by moment (path_windows.py), with a reason for every moment at which they
differ (path_reasons.py). --kept takes HTA's answers from the last run. Writes
benchmarks/results/hta_critical_path.json and docs/agreement_critical_path.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "loader"), str(HERE)]

import hta_traces  # noqa: E402
import path_page  # noqa: E402
from make_inputs import default_folder  # noqa: E402
from path_ours import Ours  # noqa: E402
from path_raw import DEVICE, Raw  # noqa: E402
from path_reasons import Reasons, explained  # noqa: E402
from path_windows import (  # noqa: E402
    accounts,
    both,
    our_path,
    shared_work,
    sums,
    their_path,
    times_of,
)

ROOT = hta_traces.ROOT
SECONDS = 300  # for all paths of one trace


def answers(python: Path, path: Path, kept: Path | None) -> list[dict[str, Any]]:
    """Return what HTA says of a trace, line by line; what it has not said in time is
    missing."""
    if kept is None or not kept.exists():
        command = [str(python), str(HERE / "hta_path.py"), str(path)]
        with tempfile.TemporaryFile("w+") as out:
            try:
                subprocess.run(
                    command, stdout=out, stderr=subprocess.DEVNULL, timeout=SECONDS
                )
                late = ""
            except subprocess.TimeoutExpired:
                late = json.dumps({"fails": f"took longer than {SECONDS} s"}) + "\n"
            out.seek(0)
            text = out.read()
        # A line that was cut off is none.
        text = text[: text.rfind("\n") + 1] + late
        if kept is None:
            return [json.loads(line) for line in text.splitlines()]
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(text)
    return [json.loads(line) for line in kept.read_text().splitlines()]


def window(ours: Ours, raw: Raw, said: dict[str, Any]) -> dict[str, Any] | None:
    """Return the comparison of one path; None if we have none."""
    steps = [path.step for path in ours.paths]
    if said["step"] not in steps:
        return None
    place, edges = steps.index(said["step"]), said["edges"]
    mine, theirs = our_path(ours.trace, ours.report, place), their_path(edges, raw)
    if said["step"] is None:
        begin, end = mine[0].begin, mine[-1].end
    else:
        begin, end = raw.step(said["step"])
    # A step ends on the host; HTA's path of it where the last work launched in it does.
    last, leads_to = edges[-1][4], "end"
    if times_of(edges[-1], raw)[1] > end and raw.category(last) in DEVICE:
        row = ours.row(raw.events[last]["name"], raw.begin(last))
        if row is not None and said["step"] is not None:
            mine = our_path(ours.trace, ours.report, place, row)
            end, leads_to = raw.end(last), "work"
    moments = list(both(mine, theirs))
    same, reasons, cells = explained(Reasons(raw, mine, theirs), moments)
    return {
        "step": said["step"],
        "leads_to": leads_to,
        "window_us": (end - begin) / 1e3,
        "ours_us": sum(s.end - s.begin for s in mine) / 1e3,
        "theirs_us": sum(edge[1] for edge in edges),
        "theirs_lacks_us": accounts(edges, raw, begin, end),
        "ours": sums(mine),
        "theirs": sums(theirs),
        "same_us": same,
        "compared_us": sum(ns for x, y, _, ns in moments if x or y) / 1e3,
        "reasons_us": reasons,
        "cells_us": cells,
        "our_work_on_theirs": shared_work(mine, theirs),
        "their_work_on_ours": shared_work(theirs, mine),
        "seconds": said["seconds"],
    }


def compared(path: Path, said: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one trace's comparison."""
    out: dict[str, Any] = {"fails": {}, "windows": [], "hta_load_seconds": None}
    ours: Ours | None = None
    raw: Raw | None = None
    for line in said:
        if "load" in line:
            out["hta_load_seconds"] = line["load"]
        if "fails" in line:
            step = line.get("step", "load")
            out["fails"]["whole" if step is None else str(step)] = line["fails"]
        if "edges" in line:
            raw, ours = raw or Raw(path), ours or Ours(path)
            found = window(ours, raw, line)
            if found:
                out["windows"].append(found)
                if raw.sync_rows and line["step"] is None:
                    work = {s.work: s for s in their_path(line["edges"], raw) if s.work}
                    out["work"] = [[*of, s.end - s.begin] for of, s in work.items()]
        if "after_us" in line.get("simulated", {}) and ours is not None:
            out["without_device"] = {
                "theirs": line["simulated"],
                "ours": ours.without_device(),
            }
    if raw is not None and ours is not None:
        out["sync_rows"] = raw.sync_rows
        out["ours_seconds"] = ours.seconds
        fidelity = ours.report.recovery.fidelity
        out["replayable"] = bool(fidelity and fidelity.replayable)
    return out


def main() -> None:
    """Compare all, write both files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kept", action="store_true", help="HTA's answers as they are")
    options = hta_traces.options_of(parser)
    python = hta_traces.hta_python()
    folder = default_folder() / "critical_path"
    results = hta_traces.results()
    for path in hta_traces.traces(options):
        kept = folder / f"{path.name}.jsonl"
        if not options.kept:
            kept.unlink(missing_ok=True)
        row = compared(path, answers(python, path, kept))
        results["traces"][path.name] = row
        print(path.name, path_page.headline(row), flush=True)
    if not options.only:
        results["traces"] = dict(sorted(results["traces"].items()))
        out = ROOT / "benchmarks" / "results" / "hta_critical_path.json"
        out.write_text(json.dumps(results, indent=1) + "\n")
        (ROOT / "docs" / "agreement_critical_path.md").write_text(
            path_page.page(results)
        )


if __name__ == "__main__":
    main()
