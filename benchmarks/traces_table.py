# SPDX-License-Identifier: BSD-3-Clause
"""traces_table.py FOLDER: analyzes every trace there, writes results/traces.md.

FOLDER holds ``*.json.gz`` and, for origins and devices, a ``manifest.tsv`` with the
columns ``file``, ``origin_repo``, ``licence`` and ``gpu``.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections import Counter
from pathlib import Path, PurePosixPath

import torchtraceap
from benchmarks.lab import pages
from torchtraceap.base.units import share_text, time_text

HEAD = ("trace", "origin", "device", "events", "span", "windows", "labeled", "busy")
HEAD += ("unattributed", "findings", "costliest", "its share", "quality", "seconds")


def main() -> None:
    """Analyze, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    paths = sorted(folder.glob("*.json.gz"))
    if not paths:
        parser.error(f"{folder} holds no *.json.gz")
    origins = read_manifest(folder / "manifest.tsv")
    machine, started = pages.machine(), time.perf_counter()
    rows = []
    counts = Counter[str]()
    for path in paths:
        rows.append(row_of(path, origins.get(path.name, {}), counts))
    figures = {
        "machine": machine,
        "seconds": time.perf_counter() - started,
        "head": HEAD,
        "rows": rows,
        "windows": counts["windows"],
        "labeled": counts["labeled"],
        "unattributed": counts["unattributed"] / max(1, counts["time"]),
    }
    pages.write("traces", figures)


def row_of(path: Path, origin: dict[str, str], counts: Counter[str]) -> list[str]:
    """Analyze one trace; adds to what is counted over all."""
    before = time.perf_counter()
    report = torchtraceap.analyze(path, detector="off")
    seconds = time.perf_counter() - before
    total_us = report.trace.device_time_us
    busy_us = sum(row.busy_us for row in report.balance)
    left_us = sum(row.unattributed_us for row in report.balance)
    labeled = sum(bool(window.labels) for window in report.windows)
    counts.update(windows=len(report.windows), labeled=labeled)
    if report.trace.working_devices:
        counts.update(unattributed=left_us, time=total_us)
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
        str(labeled),
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


if __name__ == "__main__":
    main()
