# SPDX-License-Identifier: BSD-3-Clause
"""datasheet.py: the figures of docs/reference/corpus.md, from a corpus.

    python -m benchmarks.lab.detector.datasheet CORPUS [--page]

Prints how many runs and windows there are, how many are positive, the costs of the
patterns; --page writes it into the page, between its marks. Labels are those that
detectors are trained and judged by (window_labels.py). For gold it shows only the
amount.

The commit is that at which the compact form was made, not that of the page. Runs are
kept by name, whatever simulator wrote them: a changed one needs a new folder.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from benchmarks import ROOT
from benchmarks.lab.corpus.origins import held_out_origins
from benchmarks.lab.detector.compact_corpus import Corpus, CorpusError, read_corpus
from benchmarks.lab.detector.window_labels import BANDS, POSITIVE, Labels, label_windows
from benchmarks.lab.pages import table

PAGE = ROOT / "docs" / "reference" / "corpus.md"
MARKS = "<!-- figures -->\n", "<!-- end of figures -->\n"
#: What a source is called of whose origins none is trained on.
HELD_OUT = "P, held out"


def by_source(corpus: Corpus, labels: Labels) -> str:
    """Say how much there is of each source, and how much of that is positive."""
    source = corpus.of_runs("source").astype(object)
    source[corpus.of_runs("held_out")] = HELD_OUT
    parts = {str(name): source == name for name in np.unique(source)}
    parts["trained on"] = corpus.learnable
    positive = (labels.heads == 1).any(axis=0)
    scored = (labels.heads >= 0).any(axis=0)
    rows = []
    for name, runs in parts.items():
        here = runs[corpus.run]
        cells = [runs.sum(), len(np.unique(corpus.of_runs("group")[runs]))]
        if name == "G":
            rows.append([name, *cells, "-", here.sum(), "-", "-", "-", "-"])
            continue
        good = [(runs & (corpus.goodness == known)).sum() for known in (1, 0, -1)]
        cells += [" / ".join(map(str, good)), here.sum(), (here & scored).sum()]
        heads = [labels.heads[side, here] for side in (0, 1)]
        shares = [_share(positive[here & scored])]
        shares += [_share(label[label >= 0] == 1) for label in heads]
        rows.append([name, *cells, *shares])
    head = ("source", "runs", "groups", "good / bad / not known", "windows", "scored",
            "positive", "of the CPU", "of the GPU")  # fmt: skip
    return table(head, [[str(cell) for cell in row] for row in rows])


def by_pattern(corpus: Corpus, labels: Labels) -> str:
    """For the training data, state how often each pattern was inserted and its cost."""
    runs = [corpus.runs[k] for k in np.flatnonzero(corpus.learnable)]
    learnable, source = corpus.learnable[corpus.run], corpus.of_windows("source")
    made = learnable & np.isin(source, ["R", "S"])
    untouched = learnable & (source == "P") & (corpus.of_windows("role") == "natural")
    edges = [*(least for least, _ in BANDS), np.inf]
    rows = []
    for k, pattern in enumerate(corpus.patterns):
        put = [
            cause
            for run in runs
            for cause in run.causes
            if cause.pattern == pattern and not cause.natural
        ]
        label, claimed = labels.patterns[:, k], corpus.rules[:, k] >= POSITIVE
        costs = learnable & (label == 1)
        bands = np.histogram(corpus.saved[costs, k], edges)[0]
        if not put and not bands.sum():
            continue
        meant = [cause for cause in put if not cause.null]
        counts = [len(meant), len(put) - len(meant), len({c.mechanism for c in put})]
        costly = np.array([cause.saved >= POSITIVE for cause in meant])
        shares = [label[made & (label >= 0)] == 1, claimed[made], claimed[untouched]]
        cells = [*map(str, counts), _share(costly), *map(str, bands)]
        rows.append([f"`{pattern}`", *cells, *map(_share, shares)])
    head = (
        "pattern", "put in", "meant to cost nothing", "mechanisms", "yield",
        *(f"windows {name}" for _, name in BANDS), "base rate", "by rules",
        "by rules, real",
    )  # fmt: skip
    return table(head, rows)


def _share(there: np.ndarray) -> str:
    return f"{there.mean():.1%}" if len(there) else "-"


def made_at(corpus: Corpus) -> str:
    """Say at which commit, and on what, the compact form was made, as far as known."""
    stamp = corpus.folder / "made.json"
    made = json.loads(stamp.read_text("utf-8")) if stamp.is_file() else {}
    if not made.get("commit"):
        return "compacted at a commit that is not known"
    state = " with changes not committed" if made["changed"] else ""
    if made["changed"] is None:
        state = ", changed or not,"
    return f"compacted at commit {made['commit'][:10]}{state} on {made['cpu']}"


def figures(corpus: Corpus) -> str:
    """Return the part of the page that is made of figures."""
    labels = label_windows(corpus)
    kept = "".join(f"- {origin}\n" for origin in held_out_origins())
    families = {run.family for run in corpus.runs if run.source in "RS"}
    return f"""## What is in it

`build.py --seed 1`, {made_at(corpus)}:
{len(corpus.runs)} runs, {len(corpus.run):,} windows of about 128 events,
{len(families)} families of models in R and S.

{by_source(corpus, labels)}

A run is good if it loses under 5 % of its span in total. In P, where not everything was
removed, a run is bad if the inserted pattern costs that much; otherwise it is unknown.
A window is scored if one of its heads is, and positive if one is; the last two columns
cover the windows in which this head is scored. The labels of G are not shown.

The training data by pattern:

{by_pattern(corpus, labels)}

"Put in" counts causes that were meant to cost something, "yield" the share of these
that cost 5 % of their run's span or more (a window may lose more than the run). The
base rate covers the windows of R and S with a known cost of the pattern. Its frequency
in real traces has not been labeled; the only comparison are the rules' own claims of
5 % or more, in the last two columns: in the windows of R and S, and in those of
unchanged public traces that are not held out. If the two differ, the mix of labels
differs from that of real traces as seen by rules.

Origins of public traces that are held out of training:

{kept}
"""


def main() -> int:
    """Print the figures, or write them into the page."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("corpus", type=Path)
    options.add_argument("--page", action="store_true", help=f"write {PAGE.name}")
    given = options.parse_args()
    try:
        text = figures(read_corpus(given.corpus))
    except CorpusError as error:
        options.error(str(error))
    if given.page:
        page = PAGE.read_text("utf-8")
        before, rest = page.split(MARKS[0])
        after = rest.split(MARKS[1])[1]
        PAGE.write_text(before + MARKS[0] + text + MARKS[1] + after, "utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
