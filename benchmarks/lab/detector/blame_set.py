# SPDX-License-Identifier: BSD-3-Clause
"""blame_set.py OUT: makes a labeled set of the generator of benchmarks/lab/blame.

    python -m benchmarks.lab.detector.blame_set OUT --count 150 --seed 1

Nothing that ships was trained on that generator: it knows other programs and other
faults than the corpus has, and its truth is the program simulated again without each of
them. So a set of it tells what a voice of the detector is worth on what it never saw;
`torchtraceap_train.remix` reads it beside those of the corpus. Its form is that of
`torchtraceap_train.traces`; windows.npz also has `rules`, the saved fraction that rules
claim by window and pattern, as that of a corpus does.

A side is positive where a fix saves at least 5 % of a window, negative where no fix of
that side saves 2 %, and not scored between the two.
"""

from __future__ import annotations

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import torchtraceap
from benchmarks.lab.blame.cases import names_of, sample
from benchmarks.lab.blame.chrome_trace import trace_text
from benchmarks.lab.blame.run import PATTERNS
from benchmarks.lab.blame.truth import Truth, truth_of
from benchmarks.lab.corpus.window_rows import claimed, patterns
from benchmarks.lab.detector.compact_corpus import SIDES
from benchmarks.lab.detector.window_labels import (
    NEGATIVE,
    OF_NO_HEAD,
    POSITIVE,
    UNSCORED,
)

SOURCE = "B"


def labeled(seed: int) -> dict[str, Any]:
    """Make a trace, and return its arrays and labels."""
    os.environ["TORCHTRACEAP_DETECTOR"] = "off"
    it = sample(seed, PATTERNS)
    truth = truth_of(it)
    text = trace_text(truth.program, truth.ran, it.recording)
    report = torchtraceap.analyze(text)
    assert isinstance(report, torchtraceap.Report)
    features = report.features()
    names = [name for name, _ in patterns()]
    saved = saved_of(report, truth, names)
    asked = ~np.isin(names, OF_NO_HEAD)
    sides = np.array([SIDES.index(side) for _, side in patterns()])
    any_ = np.full((len(saved), len(SIDES)), UNSCORED, np.int8)
    for side in range(len(SIDES)):
        any_[saved[:, sides == side].max(axis=1) < NEGATIVE, side] = 0
        any_[saved[:, asked & (sides == side)].max(axis=1) >= POSITIVE, side] = 1
    any_[[w.device is None for w in report.windows], SIDES.index("gpu")] = UNSCORED
    asked_saved = np.where(asked, saved, 0)
    most = asked_saved.max(axis=1)
    types = np.where(saved >= POSITIVE, 1, np.where(saved < NEGATIVE, 0, UNSCORED))
    types[:, ~asked] = UNSCORED
    return {
        "tokens": {"token_begin": features.token_begin, **features.tokens},
        "features": np.asarray(features.windows, np.float32),
        "rules": claimed(report.windows, names),
        "any": any_,
        "types": types.astype(np.int8),
        "kind": np.where(most >= POSITIVE, asked_saved.argmax(axis=1), -1),
        "recoverable": np.full(len(saved), np.nan, np.float32),
        "fingerprint": features.fingerprint,
    }


def saved_of(report: torchtraceap.Report, truth: Truth, names: list[str]) -> np.ndarray:
    """Return [windows, patterns]: the share that the fix of each saves."""
    out = np.zeros((len(report.windows), len(names)))
    begin = report.trace.start_us
    for number, window in enumerate(report.windows):
        first, last = window.start_us - begin, window.end_us - begin
        if last <= first:
            continue
        for fault, fix in truth.fixes.items():
            at = names.index(names_of(fault)[0])
            share = fix.saved(first, last) / (last - first)
            out[number, at] = max(out[number, at], share)
    return out


def write_set(out: Path, count: int, seed: int, jobs: int) -> tuple[int, int]:
    """Write the set; return how many traces and windows it has."""
    (out / "tokens").mkdir(parents=True, exist_ok=True)
    seeds = range(seed * 100_000, seed * 100_000 + count)
    with ProcessPoolExecutor(jobs) as pool:
        made = list(pool.map(labeled, seeds, chunksize=4))
    for number, one in zip(seeds, made, strict=True):
        np.savez_compressed(out / "tokens" / f"{SOURCE}.{number}.npz", **one["tokens"])
    sizes = [len(one["any"]) for one in made]

    def joined(*names: str) -> dict[str, np.ndarray]:
        return {name: np.concatenate([one[name] for one in made]) for name in names}

    run = np.repeat(np.arange(len(made), dtype=np.int32), sizes)
    np.savez_compressed(out / "windows.npz", run=run, **joined("features", "rules"))
    told = joined("any", "types", "kind", "recoverable")
    np.savez_compressed(out / "labels.npz", **told)
    rows = [
        {"name": f"{SOURCE}.{number}", "group": f"{SOURCE}.{number}",
         "source": SOURCE, "bad": None, "twin": None, "learn": True}
        for number in seeds
    ]  # fmt: skip
    head = {
        "fingerprint": made[0]["fingerprint"],
        "patterns": [name for name, _ in patterns()],
        "traces": rows,
    }
    (out / "set.json").write_text(json.dumps(head, indent=1) + "\n", "utf-8")
    return len(made), sum(sizes)


def main() -> None:
    """Make a set as the command line says."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("out", type=Path)
    options.add_argument("--count", type=int, default=150)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--jobs", type=int, default=2)
    given = options.parse_args()
    traces, windows = write_set(given.out, given.count, given.seed, given.jobs)
    print(f"{traces:,} traces, {windows:,} windows in {given.out}")


if __name__ == "__main__":
    main()
