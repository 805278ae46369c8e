# SPDX-License-Identifier: BSD-3-Clause
"""compact_corpus.py: the compact form of a corpus, all that evaluation reads of it.

Three files, which `benchmarks/lab/corpus` writes: `columns.json` (what a column is),
`runs.jsonl` (a line a run) and `windows.npz` (a row a window). Nothing here knows how
they came about, so that any corpus with the same three can be evaluated as well.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lab.corpus import runs as corpus_runs

SIDES = ("cpu", "gpu")
#: A run that loses this share of its span to inserted work is not good.
BAD_FROM = 0.05
_FILES = ("columns.json", "runs.jsonl", "windows.npz")
#: Of windows.npz: array, second dimension (features, patterns or none).
_ARRAYS = {
    "features": "F", "run": "", "begin_ns": "", "end_ns": "", "device": "",
    "busy": "", "events": "", "saved": "P", "saved_all": "", "rules": "P",
}  # fmt: skip


class CorpusError(ValueError):
    """The files are not a compact corpus; the message says which and why."""


@dataclass(frozen=True)
class Run(corpus_runs.Run):
    """A line of runs.jsonl: a run, and what its analysis gave."""

    good: bool | None = None
    windows: int = 0

    def injected(self) -> Iterator[corpus_runs.Cause]:
        """Yield what somebody put in at a cost that was meant."""
        return (cause for cause in self.causes if not cause.null and not cause.natural)

    def saved(self) -> float:
        """Return the most that going without one injected cause saves, a share."""
        return max((cause.saved for cause in self.injected()), default=0.0)


def read_runs(path: Path) -> Iterator[Run]:
    """Yield the runs of runs.jsonl.

    Raises:
        CorpusError: A line lacks a field.
    """
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        known = json.loads(line)
        # A file from before origins were kept apart would have them trained on.
        if known.get("source") == "P" and "held_out" not in known:
            raise CorpusError(f"{path}, line {number}: no field held_out")
        try:
            yield Run.of_json(known)
        except (KeyError, TypeError) as error:
            raise CorpusError(f"{path}, line {number}: {error}") from error


@dataclass(frozen=True)
class Corpus:
    """A compact corpus in memory: N windows, F columns, P patterns.

    Attributes:
        folder: Where the three files are.
        digest: Digest of the three files; kept results have it beside them.
        fingerprint: Fingerprint of the table of features.
        columns: F names.
        patterns: P names.
        sides: int8 [P]: 0 of the CPU, 1 of the GPU.
        runs: By line.
        features: float32 [N, F].
        run: int32 [N]: line of the run.
        seconds: float64 [N]: length of the window.
        device: int32 [N]: -1 of the host alone.
        busy: float32 [N]: busy fraction; NaN of the host alone.
        saved: float32 [N, P]: share saved without the pattern; NaN if not known.
        saved_all: float32 [N]: share saved without all.
        rules: float32 [N, P]: what torchtraceap's rules claim.
    """

    folder: Path
    digest: str
    fingerprint: str
    columns: tuple[str, ...]
    patterns: tuple[str, ...]
    sides: np.ndarray
    runs: tuple[Run, ...]
    features: np.ndarray
    run: np.ndarray
    seconds: np.ndarray
    device: np.ndarray
    busy: np.ndarray
    saved: np.ndarray
    saved_all: np.ndarray
    rules: np.ndarray

    @property
    def goodness(self) -> np.ndarray:
        """Return int8 [runs]: 1 of good runs, 0 of bad ones, -1 of what is not known.

        A run that is not complete is bad if the inserted work costs enough. If it does
        not, the run is not good either: its other losses were not removed.
        """
        known = np.full(len(self.runs), -1, np.int8)
        for line, run in enumerate(self.runs):
            if run.complete and run.good is not None:
                known[line] = run.good
            elif not run.complete and run.saved() >= BAD_FROM:
                known[line] = 0
        return known

    @property
    def learnable(self) -> np.ndarray:
        """Return bool [runs]: neither gold nor of an origin that is held out.

        All else is for tests: nothing is trained, tuned or calibrated on it.
        """
        return (self.of_runs("source") != "G") & ~self.of_runs("held_out")

    def of_runs(self, value: str) -> np.ndarray:
        """Return an attribute of all runs, an array by line."""
        return np.array([getattr(run, value) for run in self.runs])

    def of_windows(self, value: str) -> np.ndarray:
        """Return an attribute of each window's run, an array by window."""
        return self.of_runs(value)[self.run]


def read_corpus(folder: Path) -> Corpus:
    """Read the compact form of a corpus, given its folder or that of the form.

    Raises:
        CorpusError: A file is missing, or they do not belong together.
    """
    if (folder / "compact").is_dir():
        folder = folder / "compact"
    for file in _FILES:
        if not (folder / file).is_file():
            raise CorpusError(f"{folder / file}: no such file; make the compact form")
    known = json.loads((folder / "columns.json").read_text("utf-8"))
    runs = tuple(read_runs(folder / "runs.jsonl"))
    with np.load(folder / "windows.npz") as file:
        missing = sorted(set(_ARRAYS) - set(file.files))
        if missing:
            raise CorpusError(f"{folder / 'windows.npz'}: no array {missing[0]}")
        arrays = {name: file[name] for name in _ARRAYS}
    _check_shapes(folder, arrays, known, len(runs))
    length = arrays["end_ns"] - arrays["begin_ns"]
    sides = [SIDES.index(side) for _, side in known["patterns"]]
    return Corpus(
        folder=folder,
        digest=_digest(folder),
        fingerprint=known["fingerprint"],
        columns=tuple(known["columns"]),
        patterns=tuple(name for name, _ in known["patterns"]),
        sides=np.array(sides, np.int8),
        runs=runs,
        features=arrays["features"].astype(np.float32),
        run=arrays["run"],
        seconds=length / 1e9,
        device=arrays["device"],
        busy=arrays["busy"],
        saved=arrays["saved"],
        saved_all=arrays["saved_all"],
        rules=arrays["rules"],
    )


def _check_shapes(
    folder: Path, arrays: dict[str, np.ndarray], known: dict[str, Any], runs: int
) -> None:
    sizes = {"F": len(known["columns"]), "P": len(known["patterns"])}
    windows = len(arrays["run"])
    for name, second in _ARRAYS.items():
        wanted = (windows, sizes[second]) if second else (windows,)
        if arrays[name].shape != wanted:
            shape = arrays[name].shape
            raise CorpusError(f"{folder}: array {name} is {shape}, not {wanted}")
    run = arrays["run"]
    if windows and (run.min() < 0 or run.max() >= runs):
        raise CorpusError(f"{folder}: a window is of run {run.max()} of {runs}")
    if (np.diff(run) < 0).any():
        raise CorpusError(f"{folder}: the windows are not in the order of the runs")


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in _FILES:
        digest.update((folder / file).read_bytes())
    return digest.hexdigest()[:16]
