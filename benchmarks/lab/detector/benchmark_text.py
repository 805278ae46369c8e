# SPDX-License-Identifier: BSD-3-Clause
"""benchmark_text.py: the words of results/benchmark.md and of the tables beside it.

Numbers come from the data.
"""

INTRODUCTION = """\
# How well anti-patterns are found

Written by `python -m benchmarks.lab.detector.evaluate CORPUS --page`;
not edited by hand.

{date}, commit {commit}{dirty}; corpus `{digest}`, features `{fingerprint}`.
{quick}
A window is *positive* for a pattern if going without the pattern saves at least 5 % of
its time, *negative* below 2 %, and not scored between. What would be saved was
recorded, scheduled or replayed: no label is a rule's word. The head of the CPU (GPU)
asks whether any pattern of that side is there. Windows are compared within their
source, that is recorded, simulated, or real and perturbed, and the figure is the mean
over the sources that have {least} windows of both kinds: who compares a window of one
source with one of another is rewarded for telling sources apart. The bracket after a
figure is its 95 % interval: {resamples} resamples of whole groups, that is of a
program, a source trace and all their twins. There is no point adjustment. A group is
never on both sides of a split, but in S0.
"""

SPLITS = """\
## Area under the ROC curve, by what is held out

S0 holds out other draws of the same programs and claims nothing; S1 all model families
of a task, in turn; S2 each GPU; S3 trains where 20 % and more are saved and tests where
5 to 10 % are; S4 holds out mechanisms, S5 patterns, S6 the generator (simulated to
recorded, and back), S7 is gold, S8 holds out origins of real traces. A split of several
folds shows their mean.
"""

MORE = """\
[More tables](benchmark_tables.md): how far each is ahead of each
on the same folds, S1 in detail, the other splits.
"""

TABLES = """\
# How well anti-patterns are found: more tables

Written with [the benchmark](benchmark.md), which says what the figures are;
not edited by hand.
"""

DETAIL = """\
## In detail: {split}

*Pooled* compares all windows, whatever their source; the row of who only names the
source says what that is worth. *In bad traces* leaves out what tells good traces from
bad ones; *within a trace* is the mean of each trace's own area. The busy fraction is a
shortcut: a win that is not in the strata is one of it alone. The bands are of what
would be saved. Where all windows have one threshold, and pooled, are: *AUPRC*; *recall
at 1 % FP*: of the positives, where 1 % of the negatives are flagged; *found at 1
alarm*: of the time that could be recovered, where there is one false alarm a trace;
*ECE*: how far probabilities are from what comes true.
"""

OTHERS = """\
## The other splits

Some rows in each, without intervals; `benchmarks/results/benchmark.json` has all.
"""

KINDS = """\
*Accuracy* and *macro-F1* are of the pattern that is named in windows that are positive
and flagged (at 1 % false positives, by the detector itself, so that each is asked about
windows of its own). The error of what is recoverable is a share of the window.
"""

PATTERNS = """\
## By pattern

Positive windows of one pattern against the negatives of its head, within sources: what
the rules claim of that side, what they claim of this pattern alone, and LightGBM
trained on other groups, without the rules' shares among its columns and with them.
"""

CHECKS = """\
## Ten checks against re-learning the injector

They ask whether a detector could win by what the corpus is made of.
"""

ENTER = """\
## Another detector

`python -m benchmarks.lab.detector.score CORPUS --write-folds folds.npz` writes what may
be trained on, `python -m benchmarks.lab.detector.score CORPUS SCORES.npz` scores what a
detector says of the windows, and prints its rows and their margins over the baselines
on the same folds. One head is enough, and a window may be left out. Of what form a file
of scores is, `benchmarks/lab/detector/foreign_scores.py` says.
"""
