# SPDX-License-Identifier: BSD-3-Clause
"""hta.py: our figures beside those of Holistic Trace Analysis, and why they differ.

    python -m benchmarks.agreement.hta [--traces FOLDER] [--only PART]

Runs HTA 0.5.0 in an environment of its own on every trace of the folder and of
tests/data, each twice: restricted to our scope, and with its defaults. Every
difference is explained from the raw events: HTA's rules are applied one by one until
none is left (raw.py). Writes benchmarks/results/hta.json and exits with 1 if a
difference remains that no rule explains: none does. See results/agreement.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import DATA, TRACES
from benchmarks.agreement import raw
from benchmarks.agreement.ours import ours
from benchmarks.lab import pages
from benchmarks.loader import environments
from benchmarks.loader.make_inputs import default_folder

HTA = "0.5.0"
FIGURES_OF = Path(__file__).with_name("hta_figures.py")
FIGURES = ("busy", "idle", "compute", "communication", "memory", "overlap")
RUNS = {"same": False, "defaults": True}
LISTED = 5  # kernels of each trace in the results
# HTA adds up doubles of absolute microseconds; more than this is a difference.
NEAR_US = 0.6
LEAST_SHOWN = 1e-3  # of a figure: less has no reason in the table


def theirs(python: Path, path: Path, defaults: bool) -> dict[str, Any]:
    """Run HTA on one trace; return its figures by our names, in microseconds."""
    command = [str(python), "-I", str(FIGURES_OF), str(path)]
    command += ["--defaults"] if defaults else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return {"fails": {"load": (done.stderr.splitlines() or ["killed"])[-1]}}
    said = json.loads(done.stdout)
    out: dict[str, Any] = {"fails": said["fails"]}
    if "kernel_us" in said:
        out["busy"] = said["kernel_us"] - said["idle_us"]
        out["idle"], out["compute"] = said["idle_us"], said["compute_us"]
    types = said.get("types_us", {})
    for ours_, their in (("communication", "COMMUNICATION"), ("memory", "MEMORY")):
        out[ours_] = sum(us for name, us in types.items() if their in name.split())
    if said.get("overlap_percent") is not None:
        out["overlap_percent"] = said["overlap_percent"]
    out["kernels"] = said.get("kernels_us", {})
    return out


def compared(path: Path, python: Path) -> dict[str, Any]:
    """Return one trace's figures: ours, theirs, and what each rule of HTA's changes."""
    mine = ours(path)
    row: dict[str, Any] = {
        "ours_ns": {name: mine[name] for name in FIGURES},
        "kernels_ns": top(mine["kernels"]),
        "runs": {},
        "strangers": raw.strangers(path),
        "launches": raw.losses(path),
    }
    for run, defaults in RUNS.items():
        their = theirs(python, path, defaults)
        exact, steps = raw.bridge(path, defaults)
        assert all(abs(exact[n] - mine[n]) < 1 for n in FIGURES), (path, exact, mine)
        changes: dict[str, dict[str, float]] = {}
        before = exact
        for rule, after in steps:
            delta = {n: (after[n] - before[n]) / 1e3 for n in FIGURES}
            changes[rule] = {n: us for n, us in delta.items() if abs(us) > 1e-6}
            before = after
        left = {}
        for name in FIGURES[:3]:
            if name in their and abs(their[name] - before[name] / 1e3) > NEAR_US:
                left[name] = their[name] - before[name] / 1e3
        kernels = {n: us for n, us in their.pop("kernels", {}).items()}
        left |= kernel_differences(kernels, raw.kernel_sums(path, defaults))
        row["runs"][run] = {
            "theirs_us": their,
            "kernels_us": {n: kernels[n] for n in row["kernels_ns"] if n in kernels},
            "kernel_names": len(kernels),
            "changes_us": {rule: c for rule, c in changes.items() if c},
            "unexplained_us": left,
        }
    return row


def top(kernels: dict[str, int]) -> dict[str, int]:
    """Return the kernels that took longest."""
    order = sorted(kernels, key=lambda name: (-kernels[name], name))
    return {name: kernels[name] for name in order[:LISTED]}


def kernel_differences(
    theirs_us: dict[str, float], expected_us: dict[str, float]
) -> dict[str, float]:
    """Return kernels whose sum is not what HTA's own rules give."""
    return {
        name: us - expected_us.get(name, 0.0)
        for name, us in theirs_us.items()
        if abs(us - expected_us.get(name, 0.0)) > NEAR_US
    }


def traces(options: argparse.Namespace) -> Iterator[Path]:
    """Yield the traces of the folder and of tests/data, the smallest first."""
    paths = {p.name: p for p in options.traces.glob("*.json.gz")}
    paths |= {p.name: p for p in DATA.glob("*.json.gz")}
    for path in sorted(paths.values(), key=lambda p: p.stat().st_size):
        if options.only in path.name:
            yield path


def compared_rows(results: dict[str, Any]) -> dict[str, Any]:
    """Return the tables of the page."""
    rows: dict[str, list[tuple[Any, ...]]] = {run: [] for run in RUNS}
    others, fails = [], []
    for file, row in results["traces"].items():
        name, mine = file.removesuffix(".json.gz"), row["ours_ns"]
        details = [
            f"{n:,} {what.removeprefix('+')}" for what, n in row["strangers"].items()
        ]
        details += [f"{n:,} {what}" for what, n in row["launches"].items() if n]
        for run, of in row["runs"].items():
            theirs = of["theirs_us"]
            where = name + " with its defaults" * (run == "defaults")
            known = row["runs"]["same"]["theirs_us"]["fails"] if where != name else {}
            new = {
                what: why for what, why in theirs["fails"].items() if what not in known
            }
            fails += [(f"{where}, {what}", why) for what, why in new.items()]
            for figure in FIGURES[:3] if "busy" in theirs else ():
                ours_ms, their_ms = mine[figure] / 1e6, theirs[figure] / 1e3
                off, most = their_ms - ours_ms, max(abs(ours_ms), abs(their_ms), 1e-12)
                share, parts = off / most, []
                for rule, change in of["changes_us"].items():
                    ms = change.get(figure, 0) / 1e3
                    if abs(share) > LEAST_SHOWN and abs(ms) > abs(off) / 100:
                        parts.append(f"{rule} {ms:+.3f}")
                if parts and details and figure == "busy" and run == "same":
                    parts[-1] += f" ({'; '.join(details)})"
                line = f"{name}, {figure}", ours_ms, their_ms, share, ", ".join(parts)
                rows[run].append(line)
        same = row["runs"]["same"]
        if "busy" in (theirs := same["theirs_us"]):
            sums = same["kernels_us"]
            pairs = (
                (sums[n] * 1e3, ns) for n, ns in row["kernels_ns"].items() if n in sums
            )
            off = [abs(a - b) / max(a, b) for a, b in pairs if b]
            there = "overlap_percent" in theirs and mine["communication"]
            others.append((
                name, same["kernel_names"], max(off, default=0.0),
                mine["communication"] / 1e6, theirs["communication"] / 1e3,
                mine["overlap"] / mine["communication"] if there else None,
                theirs["overlap_percent"] / 100 if there else None,
            ))  # fmt: skip
    left = [v for r in results["traces"].values() for v in r["runs"].values()]
    return {
        "rows": rows,
        "others": others,
        "fails": fails,
        "answered": len(others),
        "remain": sum(len(of["unexplained_us"]) for of in left),
    }


def main() -> None:
    """Compare all, write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--traces", type=Path, default=TRACES)
    parser.add_argument("--only", default="", help="part of a file's name")
    options = parser.parse_args()
    python, missing = environments.environment(default_folder(), "tools")
    if missing:
        sys.exit(f"cannot install {missing}")
    results = {"machine": pages.machine(), "hta": HTA, "traces": {}}
    for path in traces(options):
        results["traces"][path.name] = row = compared(path, python)
        left = {r: v["unexplained_us"] for r, v in row["runs"].items()}
        said = {r: v for r, v in left.items() if v} or "explained"
        print(path.name, said, flush=True)
    unexplained = [
        name
        for name, row in results["traces"].items()
        if any(run["unexplained_us"] for run in row["runs"].values())
    ]
    if not options.only:
        results["traces"] = dict(sorted(results["traces"].items()))
        pages.write("agreement", results)
    if unexplained:
        sys.exit("differences without a reason: " + ", ".join(unexplained))


if __name__ == "__main__":
    main()
