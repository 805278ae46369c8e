# SPDX-License-Identifier: BSD-3-Clause
"""training_set.py CORPUS: makes a training set of the compact corpus.

    python -m benchmarks.lab.detector.training_set CORPUS
    torchtraceap train CORPUS/compact --out weights.safetensors

It adds `set.json` and `labels.npz` to the compact form, as
`torchtraceap_train.traces` describes them: the labels of windows by
window_labels.py, and which traces are for tests.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from benchmarks.lab.detector.compact_corpus import (
    SIDES,
    Corpus,
    CorpusError,
    read_corpus,
)
from benchmarks.lab.detector.window_labels import UNSCORED, label_windows, of_heads


def write_set(folder: Path) -> tuple[int, int]:
    """Write both files; return how many traces and windows may be learned from."""
    corpus = read_corpus(folder)
    labels = label_windows(corpus)
    learn = corpus.learnable
    rows = [
        {
            "name": run.name,
            "group": run.group,
            "source": run.source,
            "bad": None if known < 0 else bool(known == 0),
            "twin": run.twin or None,
            "learn": bool(may),
        }
        for run, known, may in zip(corpus.runs, corpus.goodness, learn, strict=True)
    ]
    told = {
        "fingerprint": corpus.fingerprint,
        "patterns": list(corpus.patterns),
        "corpus": corpus.digest,
        "traces": rows,
    }
    (corpus.folder / "set.json").write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    np.savez_compressed(
        corpus.folder / "labels.npz",
        any=labels.heads.T.copy(),
        types=types_to_learn(corpus, labels.patterns, labels.heads),
        kind=labels.kind,
        recoverable=corpus.saved_all.clip(0, 1).astype(np.float32),
    )
    return int(learn.sum()), int(learn[corpus.run].sum())


def types_to_learn(
    corpus: Corpus, patterns: np.ndarray, heads: np.ndarray
) -> np.ndarray:
    """Return int8 [N, P]: labels of patterns that the heads ask for, where known."""
    out = patterns.copy()
    out[:, ~of_heads(corpus)] = UNSCORED
    # An unmeasured pattern in a window without any pattern of its side is absent.
    for side in range(len(SIDES)):
        mine = (corpus.sides == side) & of_heads(corpus)
        none = heads[side] == 0
        out[np.ix_(none, mine)] = np.where(
            out[np.ix_(none, mine)] == UNSCORED, 0, out[np.ix_(none, mine)]
        )
    return out.astype(np.int8)


def main() -> int:
    """Make the set of the corpus that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("corpus", type=Path, help="folder of a corpus")
    try:
        traces, windows = write_set(parser.parse_args().corpus)
    except CorpusError as error:
        print(f"training_set.py: {error}", file=sys.stderr)
        return 2
    print(f"{traces:,} traces to learn from, {windows:,} windows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
