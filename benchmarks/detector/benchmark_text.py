# SPDX-License-Identifier: BSD-3-Clause
"""benchmark_text.py: the words of docs/benchmark.md; its numbers come from the data.

The last three texts are for whoever has read the tables: what is in them and cannot be
worked out. An empty one leaves its paragraph out.
"""

INTRODUCTION = """\
# How well anti-patterns are found

Written by `python benchmarks/detector/evaluate.py CORPUS --page`; not edited by hand.

{date}, commit {commit}{dirty}; corpus `{digest}`, features `{fingerprint}`; {seeds}.
{quick}
A window is *positive* for a pattern if going without the pattern saves at least 5 % of
its time, *negative* below 2 %, and not scored between. What would be saved was
recorded, scheduled or replayed: no label is a rule's word. The head of the CPU (GPU)
asks whether any pattern of that side is there. The bracket after a figure is its 95 %
interval: {resamples} resamples of whole groups, that is of a program, a source trace
and all their twins. There is no point adjustment. A group is never on both sides of a
split.
"""

SPLITS = """\
## Area under the ROC curve, by what is held out

S0 holds out other seeds of the same programs and claims nothing; S1 all model families
of a task, in turn; S2 each GPU; S3 trains where 20 % and more are saved and tests where
5 to 10 % are; S4 holds out mechanisms, S5 patterns, S6 the generator (simulated to
recorded, and back), S7 is gold, S8 holds out origins of real traces. A split of several
folds shows their mean.
"""

DETAIL = """\
## In detail: {split}

*In bad traces* leaves out what tells good traces from bad ones; *within a trace* is the
mean of each trace's own area. The busy fraction is a shortcut: a win that is not in the
strata is one of it alone. *Recall at 1 % FP*: of the positives, where 1 % of the
negatives are flagged. *Found at 1 alarm*: of the time that could be recovered, where
there is one false alarm a trace. The bands are of what would be saved.
"""

KINDS = """\
*Accuracy* and *macro-F1* are of the pattern that is named in windows that are positive
and flagged (at 1 % false positives, by the detector itself, so that each is asked about
windows of its own). The error of what is recoverable is a share of the window.
"""

PATTERNS = """\
## By pattern

Positive windows of one pattern against the negatives of its head: what the rules claim
of that side, what they claim of this pattern alone, and LightGBM trained on other
groups.
"""

CHECKS = """\
## Ten checks against re-learning the injector

They ask whether a detector could win by what the corpus is made of.
"""

#: What the table says of patterns that rules solve already.
RULES_TEXT = ""
#: Where only learned methods can help.
LEARNING_TEXT = ""
#: What betrays the simulator, and what is done about it.
BETRAYAL_TEXT = ""

ENTER = """\
## Another detector

`python benchmarks/detector/score.py CORPUS --write-folds folds.npz` writes what may be
trained on, `python benchmarks/detector/score.py CORPUS SCORES.npz` scores what a
detector says of the windows, and prints its rows and their margins over the baselines.
Of what form a file of scores is, `benchmarks/detector/foreign_scores.py` says.
"""
