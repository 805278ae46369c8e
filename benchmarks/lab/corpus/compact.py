#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""compact.py: a corpus as arrays, which training and scoring read.

    python -m benchmarks.lab.corpus.compact CORPUS [--tokens] [--jobs N]

Analyzes every run and writes, into CORPUS/compact::

    columns.json      fingerprint and names of the features, patterns with their sides
    runs.jsonl        what is known of each run, and `good` and `windows`
    windows.npz       a row a window, see FIELDS
    tokens/NAME.npz   with --tokens: the event tokens of a run, as Features.tokens has
                      them, and `token_begin`
    made.json         what the parts were made by; commit, `changed` (sources that are
                      in no commit) and machine as all was put together

Analyses are kept in CORPUS/compact/parts: another start resumes. It analyzes again the
runs written since, and all runs if the package or the code of this module changed.
Runs themselves are kept by name, whatever wrote them: the commit does not cover the
recorder or simulator behind a run, and a changed one needs a new folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

import torchtraceap
from benchmarks.lab.corpus import provenance, runs
from benchmarks.lab.corpus.window_rows import Analyzed, analyzed, patterns

CODE = Path(__file__).parent
#: What decides of what is in a part.
PARTS_CODE = ("compact.py", "runs.py", "window_rows.py")

FIELDS = {
    "features": "float32 [windows, columns], see columns.json",
    "run": "int32: line of runs.jsonl",
    "begin_ns": "int64, on the trace's clock",
    "end_ns": "int64",
    "device": "int32; -1 of what ran on the host alone",
    "busy": "float32: share of the window in which the device worked; NaN without one",
    "events": "int32: as Window.events",
    "saved": "float32 [windows, patterns]: share that goes without it; NaN: not known",
    "saved_all": "float32: without all that was taken out at once",
    "rules": "float32 [windows, patterns]: saved_fraction of torchtraceap's labels",
}


def part(out: Path, tokens: bool, run: runs.Run) -> None:
    """Analyze a run, unless that was done, and keep what was found."""
    path = part_path(out, run.name)
    written = runs.written_at(out, run.name)
    if path.exists() and path.stat().st_mtime >= written:
        return
    try:
        found = analyzed(out, run)
    except (torchtraceap.TraceError, FileNotFoundError) as error:
        raise runs.DamagedError(runs.trace_path(out, run.name)) from error
    if tokens:
        _save(out / "compact" / "tokens" / path.name, **found.tokens)
    known = json.dumps({"fingerprint": found.fingerprint, "columns": found.columns})
    _save(path, good=found.good, known=known, **found.fields)


def _save(path: Path, **arrays: Any) -> None:
    """Write arrays atomically: an interrupted write leaves no file of that name."""
    partial = path.with_suffix(".part")
    with partial.open("wb") as file:
        np.savez_compressed(file, **arrays)
    os.replace(partial, path)


def part_path(out: Path, name: str) -> Path:
    """Return where a run's own arrays are."""
    return out / "compact" / "parts" / f"{name}.npz"


def fresh(out: Path, tokens: bool) -> None:
    """Make the folders; drop what another version of torchtraceap, or one that kept no
    tokens, has analyzed."""
    folder = out / "compact"
    made = {"patterns": patterns(), "tokens": tokens, "version": Analyzed.version()}
    made["code"] = code_hash()
    stamp = folder / "made.json"
    # As JSON has it: no tuples; and where it was put together does not matter.
    made = json.loads(json.dumps(made))
    before = json.loads(stamp.read_text("utf-8")) if stamp.exists() else {}
    if folder.exists() and {name: before.get(name) for name in made} != made:
        shutil.rmtree(folder)
    (folder / "parts").mkdir(parents=True, exist_ok=True)
    (folder / "tokens").mkdir(exist_ok=True)
    stamp.write_text(json.dumps(made), "utf-8")


def code_hash() -> str:
    """Return what changes with the code that makes the parts."""
    sources = (CODE / name for name in PARTS_CODE)
    return hashlib.sha256(b"".join(p.read_bytes() for p in sources)).hexdigest()


def gather(out: Path, known: list[runs.Run]) -> dict[str, np.ndarray]:
    """Put the parts together, and write down from which commit; returns the fields."""
    fields: dict[str, list[np.ndarray]] = {name: [] for name in FIELDS}
    lines, shown = [], {}
    for line, run in enumerate(known):
        with np.load(part_path(out, run.name)) as arrays:
            count = len(arrays["events"])
            for name in FIELDS:
                if name != "run":
                    fields[name].append(arrays[name])
            fields["run"].append(np.full(count, line, np.int32))
            more = {"good": bool(arrays["good"]), "windows": count}
            shown = json.loads(str(arrays["known"]))
        lines.append(json.dumps(asdict(run) | more) + "\n")
    folder = out / "compact"
    (folder / "runs.jsonl").write_text("".join(lines), "utf-8")
    joined = {name: np.concatenate(arrays) for name, arrays in fields.items()}
    _save(folder / "windows.npz", **joined)
    shown |= {"patterns": patterns(), "fields": FIELDS}
    (folder / "columns.json").write_text(json.dumps(shown, indent=1) + "\n", "utf-8")
    # Not in columns.json: results are kept by what that holds.
    stamp = folder / "made.json"
    made = json.loads(stamp.read_text("utf-8")) if stamp.exists() else {}
    stamp.write_text(json.dumps(made | provenance.sources()), "utf-8")
    return joined


def main() -> int:
    """Analyze what is missing, put all together and say what it is."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("corpus", type=Path)
    options.add_argument("--tokens", action="store_true", help="keep event tokens too")
    options.add_argument("--jobs", type=int, default=2)
    given = options.parse_args()
    try:
        return _compact(options, given)
    except runs.DamagedError as error:
        print(f"compact.py: {error}", file=sys.stderr)
        return 2


def _compact(options: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    known = list(runs.read(given.corpus))
    if not known:
        options.error(f"{given.corpus} holds no runs: see record.py, simulate.py")
    fresh(given.corpus, given.tokens)
    with ProcessPoolExecutor(given.jobs) as pool:
        work = pool.map(partial(part, given.corpus, given.tokens), known, chunksize=2)
        for _ in track(work, "analyzed", len(known), console=Console(stderr=True)):
            pass
    joined = gather(given.corpus, known)
    size = sum(p.stat().st_size for p in (given.corpus / "compact").glob("*.*"))
    print(
        f"{len(known)} runs, {len(joined['events'])} windows, "
        f"{size / 1e6:.1f} MB in {given.corpus / 'compact'}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
