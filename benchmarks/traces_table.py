# SPDX-License-Identifier: BSD-3-Clause
"""traces_table.py FOLDER: analyses every trace there, writes results/traces.md.

FOLDER holds ``*.json.gz`` and, for origins and devices, a ``manifest.tsv`` with the
columns file, origin_repo, licence and gpu. The table is Markdown on standard output::

    python -m benchmarks.traces_table tests/data > benchmarks/results/traces.md
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import subprocess
import time
from pathlib import Path, PurePosixPath

import torchtraceap
from benchmarks import ROOT
from torchtraceap.base.units import share_text, time_text

HEAD = ("trace", "origin", "device", "events", "span", "windows", "labeled", "busy")
HEAD += ("unattributed", "findings", "costliest", "its share", "quality", "seconds")


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    paths = sorted(folder.glob("*.json.gz"))
    if not paths:
        parser.error(f"{folder} holds no *.json.gz")
    origins = read_manifest(folder / "manifest.tsv")
    rows = []
    started = time.perf_counter()
    for path in paths:
        rows.append(row_of(path, origins.get(path.name, {})))
    seconds = time.perf_counter() - started
    print("# Every trace at hand, analysed\n")
    print(
        "Made by `python -m benchmarks.traces_table FOLDER`; not edited by hand. "
        f"Commit {commit()}, {processor()}, Python {platform.python_version()}. "
        f"{len(paths)} traces in {seconds:.1f} s; the last column is loading and "
        "analysis of one, measured once on a machine with other work to do. "
        "Shares are of the analysed time, once for each device at work.\n"
    )
    for cells in (HEAD, ["---"] * len(HEAD), *rows):
        print(f"| {' | '.join(cells)} |")


def row_of(path: Path, origin: dict[str, str]) -> list[str]:
    """Analyse one trace."""
    before = time.perf_counter()
    report = torchtraceap.analyze(path, detector="off")
    seconds = time.perf_counter() - before
    total_us = report.trace.device_time_us
    busy_us = sum(row.busy_us for row in report.balance)
    left_us = sum(row.unattributed_us for row in report.balance)
    first = report.findings[0] if report.findings else None
    where = "no line"
    if first and first.location:
        where = PurePosixPath(first.location.file).name
        where += f":{first.location.line}" if first.location.line else ""
    cells = [
        path.name.removesuffix(".json.gz"),
        f"{origin.get('origin_repo', '')} ({origin.get('licence', '')})",
        origin.get("gpu", "").strip(" -") or "not named",
        f"{report.trace.events:,}",
        time_text(report.trace.span_us),
        str(len(report.windows)),
        str(sum(bool(window.labels) for window in report.windows)),
        share_text(busy_us, total_us) if report.trace.working_devices else "-",
        share_text(left_us, total_us) if report.trace.working_devices else "-",
        str(len(report.findings)),
        f"{first.kind}, {where}" if first else "-",
        share_text(first.wasted_us, total_us) if first else "-",
        report.quality.verdict,
        f"{seconds:.2f}",
    ]
    return [cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells]


def read_manifest(path: Path) -> dict[str, dict[str, str]]:
    """Return the manifest's rows by file name; none if there is no manifest."""
    if not path.exists():
        return {}
    with open(path, encoding="utf-8", newline="") as file:
        return {row["file"]: row for row in csv.DictReader(file, delimiter="\t")}


def commit() -> str:
    """Return the commit, and whether the tree differs from it."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    changed = " with local changes" if git("status", "--porcelain") else ""
    return (git("rev-parse", "--short", "HEAD") or "unknown") + changed


def processor() -> str:
    """Return the processor's name and how many of its cores there are."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text().splitlines()
        models = [line.partition(":")[2].strip() for line in lines if "name" in line]
        name = models[0] if models else name
    return f"{name}, {os.cpu_count()} cores"


if __name__ == "__main__":
    main()
