#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""gold.py: source G: recordings of record_cuda.py, as runs.

    python -m benchmarks.lab.corpus.gold RECORDED --out DIR
    python -m benchmarks.lab.corpus.gold --public TRACES --out DIR

Labels come from the fixed twin's trace, work by work; if the measured saving of a
pair is negative (see measure.py), nothing counts as saved. Other patterns are unknown:
the runs of a pair are not complete. One pair of the public traces was recorded by
others with the pattern and without. Only for tests: the
training part of a corpus has no runs of source G, and origins.py keeps out their
origins.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tarfile
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

import torchtraceap
from benchmarks.lab.corpus import runs
from benchmarks.lab.corpus.command import ended
from benchmarks.lab.corpus.origins import gpu_name, origin_of
from benchmarks.lab.corpus.workloads.families import FAMILIES
from torchtraceap import _core

# --- The same work in the traces of two twins ------------------------------------
#
# Twins do the same except in one place, so step by step most work of the one is in the
# other too, in the same order. Work found in both maps a moment of the slow run to one
# of the fixed run; between two such moments time is taken to pass
# evenly.

_DEVICE_WORK = {"kernel", "gpu_memcpy", "gpu_memset"}
#: SequenceMatcher is slow on long lists; more is matched in pieces of this length's
#: share of a step, which twins reach at about the same part of it.
MOST = 4000


def twin_moments(slow: _core.Trace, fixed: _core.Trace) -> dict[int, np.ndarray]:
    """Return, for each device of the slow trace, runs.Truth's moments.

    Without device work it is the host's operators that are matched, of all threads, as
    those of runs.HOST. Steps are matched by their order: the twins recorded as many.

    Raises:
        ValueError: They did not, or recorded none.
    """
    ours, theirs = steps_of(slow), steps_of(fixed)
    if not ours or len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} recorded steps beside {len(theirs)}")
    found = {}
    theirs_by_device = work_of(fixed)
    for device, rows in work_of(slow).items():
        others = theirs_by_device.get(device)
        if others is None:
            continue
        pieces = [
            _in_step(slow, fixed, rows, others, here, there)
            for here, there in zip(ours, theirs, strict=True)
        ]
        moments = np.concatenate(pieces, axis=1)
        # What is later in one twin and earlier in the other tells nothing.
        order = np.lexsort((moments[1], moments[0]))
        found[device] = np.maximum.accumulate(moments[:, order], axis=1)
    return found


def steps_of(trace: _core.Trace) -> list[tuple[int, int]]:
    """Return begin and end of each ProfilerStep of the host, in order, in ns."""
    columns = trace.columns
    # Traces of 2021 have them among the operators.
    chosen = _of_categories(trace, {"user_annotation", "cpu_op"})
    named = [r for r in chosen if trace.name(int(r)).startswith("ProfilerStep#")]
    spans = {
        (int(columns["ts"][r]), int(columns["ts"][r] + columns["dur"][r]))
        for r in named
    }
    return sorted(spans)


def work_of(trace: _core.Trace) -> dict[int, np.ndarray]:
    """Return rows of each device's work by start, of the host's if there is none."""
    columns = trace.columns
    rows = _of_categories(trace, _DEVICE_WORK)
    if not len(rows):
        rows = _of_categories(trace, {"cpu_op"})
        return {runs.HOST: _by_start(columns, rows)}
    devices = columns["device"][rows]
    return {int(d): _by_start(columns, rows[devices == d]) for d in np.unique(devices)}


def _of_categories(trace: _core.Trace, names: set[str]) -> np.ndarray:
    known = _core.category_names()
    wanted = [i for i, name in enumerate(known) if name in names]
    return np.flatnonzero(np.isin(trace.columns["category"], wanted))


def _by_start(columns: Any, rows: np.ndarray) -> np.ndarray:
    return rows[np.argsort(columns["ts"][rows], kind="stable")]


def _in_step(
    slow: _core.Trace,
    fixed: _core.Trace,
    rows: np.ndarray,
    others: np.ndarray,
    here: tuple[int, int],
    there: tuple[int, int],
) -> np.ndarray:
    """Return the moments of one step: its borders and the work found in both."""
    ours = _between(slow, rows, here)
    theirs = _between(fixed, others, there)
    before, after = [here[0], here[1]], [there[0], there[1]]
    parts = max(len(ours), len(theirs)) // MOST + 1
    for a, b in zip(
        np.array_split(ours, parts), np.array_split(theirs, parts), strict=True
    ):
        names = [slow.name(int(r)) for r in a], [fixed.name(int(r)) for r in b]
        matcher = SequenceMatcher(None, *names, autojunk=False)
        for block in matcher.get_matching_blocks():
            x = a[block.a : block.a + block.size]
            y = b[block.b : block.b + block.size]
            for trace, found, into in ((slow, x, before), (fixed, y, after)):
                begin = trace.columns["ts"][found]
                into += [*begin, *(begin + trace.columns["dur"][found])]
    return np.array([before, after], np.int64)


def _between(trace: _core.Trace, rows: np.ndarray, span: tuple[int, int]) -> np.ndarray:
    starts = trace.columns["ts"][rows]
    return rows[(starts >= span[0]) & (starts < span[1])]


# --- Runs ------------------------------------------------------------------------


def members(folder: Path) -> dict[str, bytes]:
    """Return the traces of all archives, not compressed, by name."""
    found = {}
    for path in sorted(folder.glob("traces-*.tar")):
        with tarfile.open(path) as tar:
            for info in tar:
                file = tar.extractfile(info)
                if file is not None:
                    found[info.name] = gzip.decompress(file.read())
    return found


def add(
    out: Path, name: str, case: dict[str, Any], told: dict[str, Any], traces: Any
) -> None:
    """Write both twins of a case.

    Raises:
        ValueError: Their steps do not match.
    """
    pair, family = told["pairs"][case["pair"]], FAMILIES[case["family"]]
    lines = [f"{found['file']}:{found['line']}" for found in pair["cause"]]
    cause = runs.Cause(
        pair["pattern"],
        pair.get("mechanism") or case["pair"],
        1.0,
        saved=case["saving"],
        line=min(lines, default=""),
        also=tuple(pair.get("also", ())),
    )
    run = runs.Run(
        name=f"G.{name}",
        source="G",
        group=name,
        role="slow",
        task=family.task,
        family=family.name,
        trains=family.trains,
        seed=told["identity"]["seed"],
        gpu=gpu_name(told["identity"].get("gpu") or ""),
        # One pattern was removed; other costs were not measured.
        complete=False,
        recording={"with_stack": True, "record_shapes": True, "steps": True},
        causes=(cause,),
    )
    texts = [traces[case[side]["trace"]["member"]] for side in ("slow", "fixed")]
    write_twins(out, run, *texts, costs=case["label"] != "negative")


def write_twins(
    out: Path, run: runs.Run, slow: bytes, fixed: bytes, costs: bool = True
) -> None:
    """Write the two recordings of `run`'s cause and of its fix.

    Args:
        out: Folder of the corpus.
        run: What is known of the slow one, except its twin.
        slow: Its trace.
        fixed: That of its twin.
        costs: It was not measured to cost nothing; if it was, no window saves anything.

    Raises:
        ValueError: Their steps do not match.
    """
    (cause,) = run.causes
    loaded = [torchtraceap.load(text) for text in (slow, fixed)]
    saved = twin_moments(loaded[0], loaded[1 if costs else 0])
    if not cause.saved and costs:  # Not measured without the profiler.
        spans = [m[:, -1] - m[:, 0] for m in saved.values()]
        share = float(max(1 - without / span for span, without in spans))
        run = replace(run, causes=(replace(cause, saved=share),))
    names = [f"{run.name}.{side}" for side in ("slow", "fixed")]
    twins = (
        replace(run, name=names[0], twin=names[1]),
        replace(run, name=names[1], twin=names[0], role="fixed", causes=()),
    )
    truths = saved, twin_moments(loaded[1], loaded[1])
    for twin, text, found in zip(twins, (slow, fixed), truths, strict=True):
        truth = {
            (pattern, device): moments
            for device, moments in found.items()
            for pattern in (cause.pattern, runs.ALL)
        }
        runs.write(out, twin, text, truth)


#: Of the traces of PyTorch's TensorBoard plugin: the same training with 0 and with 4
#: workers of its loader, on one V100; and their origin, which is held out.
PUBLIC = "kineto2021-v100-resnet50-workers{}.json.gz", ("0-memory", "4")
PUBLIC_ORIGIN = origin_of("pytorch/kineto", "tb_plugin/samples/")


def add_public(out: Path, traces: Path) -> None:
    """Write the pair that others recorded.

    Raises:
        FileNotFoundError: It is not there.
    """
    texts = [
        gzip.decompress((traces / PUBLIC[0].format(which)).read_bytes())
        for which in PUBLIC[1]
    ]
    cause = runs.Cause("dataloader_bound", "no workers", 1.0)
    run = runs.Run(
        name="G.public.resnet50",
        source="G",
        group=PUBLIC_ORIGIN,
        role="slow",
        task="classification",
        family="resnet50",
        trains=True,
        seed=0,
        gpu=gpu_name("Tesla V100-DGXS-32GB"),
        origin=PUBLIC_ORIGIN,
        complete=False,
        causes=(cause,),
    )
    write_twins(out, run, *texts)


def main() -> int:
    """Write what is missing."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument(
        "recorded", type=Path, nargs="?", help="what record_cuda.py wrote"
    )
    options.add_argument(
        "--public", type=Path, metavar="TRACES", help="the public traces' folder"
    )
    options.add_argument("--out", type=Path, required=True, metavar="DIR")
    given = options.parse_args()
    if given.public:
        try:
            add_public(given.out, given.public)
        except FileNotFoundError as error:
            options.error(f"{error.filename} is missing")
        print(f"2 runs of source G in {given.out}")
    if given.recorded is None:
        return 0 if given.public else options.error("name RECORDED, or --public TRACES")
    path = given.recorded / "manifest.json"
    if not path.exists():
        options.error(f"{path} is missing: is this what record_cuda.py --out wrote?")
    told = json.loads(path.read_text("utf-8"))
    traces = members(given.recorded)
    chosen = {n: c for n, c in told["cases"].items() if c["status"] == "recorded"}
    left_out = []
    for name, case in track(chosen.items(), "matched", console=Console(stderr=True)):
        if not runs.exists(given.out, f"G.{name}.fixed"):
            try:
                add(given.out, name, case, told, traces)
            except ValueError as error:
                left_out.append(f"{name}: {error}")
    print(f"{2 * (len(chosen) - len(left_out))} runs of source G in {given.out}")
    print("".join(f"left out: {line}\n" for line in left_out), end="")
    return 1 if left_out else 0


if __name__ == "__main__":
    sys.exit(ended(main))
