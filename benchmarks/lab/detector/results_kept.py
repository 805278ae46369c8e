# SPDX-License-Identifier: BSD-3-Clause
"""results_kept.py: evaluations kept in the corpus' folder, to resume from.

A result is a file `CORPUS/evaluated/DIGEST/FOLD~BASELINE~SEED.npz`. The digest is of
the corpus and of the code that decides: another corpus, or another way to judge, starts
from nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.lab.detector.compact_corpus import Corpus
from benchmarks.lab.detector.judging.judged import Judged

_CODE = Path(__file__).parent
#: What decides about a score or a figure; the rest only writes things down.
_DECIDES = (
    "window_labels.py",
    "compact_corpus.py",
    "corpus_runs.py",
    "folds.py",
    "split*.py",
    "baselines/*.py",
    "judging/*.py",
)


@dataclass(frozen=True)
class Result:
    """One baseline in one fold with one seed.

    Attributes:
        split: The fold's split.
        item: What the fold holds out.
        baseline: Its name.
        seed: It was trained with.
        judged: The figures; none if it was skipped.
        skipped: Why it could not run, or "".
        seconds: Processor time of training and scoring.
    """

    split: str
    item: str
    baseline: str
    seed: int
    judged: Judged
    skipped: str = ""
    seconds: float = 0.0


def folder_of(corpus: Corpus, quick: bool) -> Path:
    """Return where the results of a corpus are, which may not be there yet."""
    digest = hashlib.sha256(f"{corpus.digest} {quick}".encode())
    for pattern in _DECIDES:
        for path in sorted(_CODE.glob(pattern)):
            digest.update(path.read_bytes())
    return corpus.folder.parent / "evaluated" / digest.hexdigest()[:12]


def gold_kept(corpus: Corpus) -> bool:
    """Tell whether results of S7 are kept, of whatever code."""
    return any((corpus.folder.parent / "evaluated").glob("*/S7-*"))


def path_of(folder: Path, fold: str, baseline: str, seed: int) -> Path:
    """Return the file of a result."""
    name = f"{fold}~{baseline}~{seed}"
    return folder / (re.sub(r"[^A-Za-z0-9~.+-]+", "_", name) + ".npz")


def keep(path: Path, result: Result) -> None:
    """Write a result; it is there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    judged = result.judged
    known = {
        "split": result.split,
        "item": result.item,
        "baseline": result.baseline,
        "seed": result.seed,
        "skipped": result.skipped,
        "seconds": result.seconds,
        "figures": judged.figures,
        "worst": judged.worst,
        "resampled": sorted(judged.resampled),
    }
    values = [judged.resampled[name] for name in sorted(judged.resampled)]
    table = np.array(values, np.float32)
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez_compressed(file, known=np.array(json.dumps(known)), resampled=table)
    os.replace(part, path)


def load(path: Path) -> Result:
    """Read a result."""
    with np.load(path) as file:
        known = json.loads(str(file["known"]))
        table = file["resampled"]
    resampled = dict(zip(known["resampled"], table, strict=True))
    worst = {head: (name, value) for head, (name, value) in known["worst"].items()}
    return Result(
        known["split"],
        known["item"],
        known["baseline"],
        known["seed"],
        Judged(known["figures"], resampled, worst),
        known["skipped"],
        known["seconds"],
    )
