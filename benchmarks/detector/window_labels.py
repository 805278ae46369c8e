# SPDX-License-Identifier: BSD-3-Clause
"""window_labels.py: what a window is, by what would be saved: corpus.md's section 2.

A window is positive for a pattern if going without it saves at least 5 % of the
window's time, negative below 2 %, and between the two it is not scored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from compact_corpus import SIDES, Corpus

POSITIVE = 0.05
NEGATIVE = 0.02
#: Not scored: between the two, or not known.
UNSCORED = -1
#: Least saved share of each band, and what the band is called.
BANDS = ((0.05, "5-10 %"), (0.10, "10-20 %"), (0.20, "20-50 %"), (0.50, "> 50 %"))
#: Another pattern's name is as right if its removal saves this share of the best's.
AS_GOOD = 0.9


@dataclass(frozen=True)
class Labels:
    """Labels of N windows.

    Attributes:
        patterns: int8 [N, P]: 1, 0 or UNSCORED.
        heads: int8 [2, N]: any pattern of the CPU, any of the GPU.
        strongest: float32 [2, N]: the largest share saved of the head's patterns.
        band: int8 [2, N]: index into BANDS of what is positive, else -1.
        kind: int16 [N]: the pattern that costs most; -1 of what is not positive.
        right: bool [N, P]: naming this pattern is right.
    """

    patterns: np.ndarray
    heads: np.ndarray
    strongest: np.ndarray
    band: np.ndarray
    kind: np.ndarray
    right: np.ndarray


def label_windows(corpus: Corpus) -> Labels:
    """Label all windows of a corpus.

    Of a run that is not complete, what was found in it (a natural cause) is no truth of
    its own: rules said where it is, and a replay what it costs. It is not scored where
    it costs something, and where it costs next to nothing the window may be a negative;
    without any on its side it may not, for that nobody put a pattern in does not mean
    that none is.

    Work on a GPU is not what a trace of a CPU is about: such windows are left out of
    the GPU's head, unless their source has positives among them.
    """
    saved = corpus.saved
    complete = corpus.of_windows("complete").astype(bool)[:, None]
    finite = np.isfinite(saved)
    value = np.where(finite, saved, -np.inf)
    natural = _natural(corpus) & finite
    # What a pattern costs as far as it may make a window positive.
    truth = np.where(natural & ~complete, -np.inf, value)
    patterns = np.full(saved.shape, UNSCORED, np.int8)
    patterns[finite & (value < NEGATIVE)] = 0
    patterns[truth >= POSITIVE] = 1

    windows = len(saved)
    heads = np.full((2, windows), UNSCORED, np.int8)
    strongest = np.zeros((2, windows), np.float32)
    for side in range(len(SIDES)):
        mine = corpus.sides == side
        if not mine.any():
            continue
        most = value[:, mine].max(axis=1)
        meant = truth[:, mine].max(axis=1)
        sure = complete[:, 0] | natural[:, mine].any(axis=1)
        heads[side, sure & (most < NEGATIVE)] = 0
        heads[side, meant >= POSITIVE] = 1
        strongest[side] = np.clip(meant, 0, None)
    _leave_out_hosts(corpus, heads[SIDES.index("gpu")])

    band = np.searchsorted([least for least, _ in BANDS], strongest, "right") - 1
    best = truth.max(axis=1, initial=-np.inf)
    positive = best >= POSITIVE
    kind = np.where(positive, truth.argmax(axis=1), -1) if saved.shape[1] else best
    right = (truth >= POSITIVE) & (truth >= AS_GOOD * best[:, None])
    return Labels(
        patterns=patterns,
        heads=heads,
        strongest=strongest,
        band=np.where(heads == 1, band, -1).astype(np.int8),
        kind=kind.astype(np.int16),
        right=right & positive[:, None],
    )


def _natural(corpus: Corpus) -> np.ndarray:
    """Return bool [N, P]: found, not put in, and its removal was computed."""
    found = np.zeros((len(corpus.runs), len(corpus.patterns)), bool)
    number = {name: k for k, name in enumerate(corpus.patterns)}
    for line, run in enumerate(corpus.runs):
        for cause in run.causes:
            if cause.natural and cause.pattern in number:
                found[line, number[cause.pattern]] = True
        for cause in run.causes:
            if not cause.natural and cause.pattern in number:
                found[line, number[cause.pattern]] = False
    return found[corpus.run]


def _leave_out_hosts(corpus: Corpus, head: np.ndarray) -> None:
    source = corpus.of_windows("source")
    alone = corpus.device < 0
    for name in np.unique(source):
        here = alone & (source == name)
        if not (head[here] == 1).any():
            head[here] = UNSCORED
