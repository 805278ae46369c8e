# SPDX-License-Identifier: BSD-3-Clause
"""window_labels.py: labels of windows by their savings: corpus.md's section 2.

A window is positive for a pattern if going without it saves at least 5 % of the
window's time, negative below 2 %, and between the two it is not scored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.lab.detector.compact_corpus import SIDES, Corpus

POSITIVE = 0.05
NEGATIVE = 0.02
#: Not scored: between the two, or not known.
UNSCORED = -1
#: Least saved share of each band, and what the band is called.
BANDS = ((0.05, "5-10 %"), (0.10, "10-20 %"), (0.20, "20-50 %"), (0.50, "> 50 %"))
#: In every eager program, and known only where somebody put it in: no head asks for it.
OF_NO_HEAD = ("fusible_chain",)


@dataclass(frozen=True)
class Labels:
    """Labels of N windows.

    Attributes:
        patterns: int8 [N, P]: 1, 0 or UNSCORED.
        heads: int8 [2, N]: any pattern of the CPU, any of the GPU.
        strongest: float32 [2, N]: the largest share saved of the head's patterns.
        kind: int16 [N]: the pattern that costs most; -1 of what is not positive.
    """

    patterns: np.ndarray
    heads: np.ndarray
    strongest: np.ndarray
    kind: np.ndarray


def label_windows(corpus: Corpus) -> Labels:
    """Label all windows of a corpus.

    A head is 1 if a known pattern of its side saves 5 % or more. When it is 0 depends
    on what is known of the run:

    - complete: every pattern of the side is known and saves under 2 %. An unknown
      one (NaN) could be there, so that such a window is not scored.
    - not complete (P): something was found on that side (a natural cause) whose removal
      was computed, all that was computed there saves under 2 %, and the rules claim
      nothing of that side in the window. The found pattern is not a truth of its own,
      as rules located it: it makes no window positive. Without any the window is not
      scored: without an inserted pattern there may still be one. Nor is it scored
      where the inserted pattern is unknown because it was there besides.
    - gold: of a pair one pattern was taken out and measured. Only the head of its side
      is scored: negative are the fixed twin's windows, and those of the slow one that
      are as long without as with it (`saved_all` under 2 %). Other costs in them
      were not measured.

    So rules select the negatives of P, and of S8, which tests P alone: they cannot flag
    one falsely. No head's figure there says how good rules are, nor what is above them;
    figures by pattern and by pair do.

    The GPU's head is not scored in windows of the host alone, whose patterns of that
    side are judged by pattern only. Patterns in OF_NO_HEAD make no window positive, and
    where they are known to save 2 % and more none negative.
    """
    saved = corpus.saved
    complete = corpus.of_windows("complete").astype(bool)
    finite = np.isfinite(saved)
    value = np.where(finite, saved, -np.inf)
    natural, put_in = _natural(corpus)
    natural &= finite
    # What a pattern costs as far as it may make a window positive.
    truth = np.where(natural & ~complete[:, None], -np.inf, value)
    patterns = np.full(saved.shape, UNSCORED, np.int8)
    patterns[finite & (value < NEGATIVE)] = 0
    patterns[truth >= POSITIVE] = 1

    heads = np.full((len(SIDES), len(saved)), UNSCORED, np.int8)
    strongest = np.zeros((len(SIDES), len(saved)), np.float32)
    asked = of_heads(corpus)
    claimed = np.nan_to_num(corpus.rules) > 0
    gold, pair_side = corpus.of_windows("source") == "G", _side_of_pair(corpus)
    for side in range(len(SIDES)):
        mine = asked & (corpus.sides == side)
        if not mine.any():
            continue
        own = corpus.sides == side
        quiet = value[:, own].max(axis=1, initial=-np.inf) < NEGATIVE
        meant = truth[:, mine].max(axis=1, initial=-np.inf)
        silent = ~(claimed | put_in & ~finite)[:, own].any(axis=1)
        found = natural[:, mine].any(axis=1) & silent
        known = np.where(complete, finite[:, mine].all(axis=1), found)
        measured = gold & (pair_side == side)
        known = np.where(gold, measured & (corpus.saved_all < NEGATIVE), known)
        heads[side, known & quiet] = 0
        heads[side, (meant >= POSITIVE) & (measured | ~gold)] = 1
        strongest[side] = np.clip(meant, 0, None)
    heads[SIDES.index("gpu"), corpus.device < 0] = UNSCORED

    positive = truth.max(axis=1, initial=-np.inf) >= POSITIVE
    kind = np.where(positive, truth.argmax(axis=1), -1)
    return Labels(patterns, heads, strongest, kind.astype(np.int16))


def of_heads(corpus: Corpus) -> np.ndarray:
    """Return bool [P]: patterns that the heads ask for."""
    return ~np.isin(corpus.patterns, OF_NO_HEAD)


def _natural(corpus: Corpus) -> tuple[np.ndarray, np.ndarray]:
    """Return twice bool [N, P]: found, not put in, and its removal was computed; put
    in, whatever was found."""
    found = np.zeros((2, len(corpus.runs), len(corpus.patterns)), bool)
    number = {name: k for k, name in enumerate(corpus.patterns)}
    for line, run in enumerate(corpus.runs):
        for cause in run.causes:
            if cause.pattern in number:
                found[int(not cause.natural), line, number[cause.pattern]] = True
    natural, put_in = found
    return (natural & ~put_in)[corpus.run], put_in[corpus.run]


def _side_of_pair(corpus: Corpus) -> np.ndarray:
    """Return int8 [N]: the side of the cause in a gold run or in its twin; else -1."""
    side = {
        run.name: int(corpus.sides[corpus.patterns.index(cause.pattern)])
        for run in corpus.runs
        for cause in run.causes
        if run.source == "G" and cause.pattern in corpus.patterns
    }
    own = [side.get(run.name, side.get(run.twin, -1)) for run in corpus.runs]
    return np.array(own, np.int8)[corpus.run]
