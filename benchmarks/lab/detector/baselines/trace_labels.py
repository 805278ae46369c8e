# SPDX-License-Identifier: BSD-3-Clause
"""baselines/trace_labels.py: labels of a whole trace, for each side.

A trace is bad on a side if going without one of the causes of that side, of those that
the head asks for, saves at least 5 % of the whole run, else good. A baseline that
learns from trace labels gets no more.
"""

from __future__ import annotations

import numpy as np

from benchmarks.lab.detector.compact_corpus import SIDES, Corpus
from benchmarks.lab.detector.window_labels import POSITIVE, of_heads

UNKNOWN = -1


def trace_labels(corpus: Corpus) -> np.ndarray:
    """Return int8 [2, runs]: 1 bad, 0 good, UNKNOWN where it is undetermined.

    It cannot of runs that are not complete: of those it is known at most that they are
    bad, and a source of bad traces alone would teach what the source is. Nor can it on
    the side of the GPU where all windows are of the host alone.
    """
    found = np.full((len(SIDES), len(corpus.runs)), UNKNOWN, np.int8)
    side_of = {
        pattern: side
        for pattern, side, asked in zip(
            corpus.patterns, corpus.sides.tolist(), of_heads(corpus), strict=True
        )
        if asked
    }
    devices = np.zeros(len(corpus.runs), bool)
    devices[corpus.run[corpus.device >= 0]] = True
    for line, run in enumerate(corpus.runs):
        if not run.complete:
            continue
        for side, head in enumerate(SIDES):
            if head == "cpu" or devices[line]:
                saved = [c.saved for c in run.causes if side_of.get(c.pattern) == side]
                found[side, line] = max(saved, default=0.0) >= POSITIVE
    return found
