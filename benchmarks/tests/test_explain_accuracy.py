# SPDX-License-Identifier: BSD-3-Clause
"""test_explain_accuracy.py: the scores, and the windows to classify."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.lab.explain.asked_windows import CORPUS, NONE, TRACES, Asked, read
from benchmarks.lab.explain.choose import spread
from benchmarks.lab.explain.explain_page import difference, figures, stability
from torchtraceap import _core

pytestmark = pytest.mark.verify


def window(number: int, truth: str, *also: str) -> Asked:
    """Return a window of a group of its own."""
    return Asked("t", number, 0, f"g{number}", "S", "rules", truth, (truth, *also))


@pytest.mark.parametrize("path", [CORPUS, TRACES])
def test_the_windows_have_truths_that_an_answer_can_name(path):
    windows = read(path)
    names = {pattern.name for pattern in _core.patterns()} | {NONE}
    assert len({w.key for w in windows}) == len(windows)
    for asked in windows:
        assert asked.truth in asked.right
        assert set(asked.right) <= names
        assert (NONE in asked.right) == (asked.right == (NONE,))


def test_every_right_name_counts_and_silence_does_not():
    windows = [window(0, "a", "b"), window(1, "a"), window(2, "c"), window(3, NONE)]
    found = figures(windows, {"t:0": "b", "t:1": "a", "t:2": None, "t:3": NONE})
    assert found["accuracy"][0] == pytest.approx(2 / 3)
    assert found["no_answer"] == pytest.approx(1 / 3)
    assert found["none_right"][0] == 1
    # b and a are found, c is not.
    assert found["macro_f1"][0] == pytest.approx(2 / 3)


def test_repeats_are_stable_or_flaky():
    windows = [window(0, "a"), window(1, "a"), window(2, "a")]
    answers = {"t:0": ["a", "a"], "t:1": ["a", "b"], "t:2": [None, "b"]}
    assert list(stability(windows, answers).values()) == [1, 1, 1]


def test_a_difference_is_paired():
    windows = [window(number, "a") for number in range(20)]
    right, wrong = ({w.key: name for w in windows} for name in "ab")
    assert difference(windows, right, wrong) == [1, 1, 1]
    assert difference(windows, right, right) == [0, 0, 0]


def test_groups_and_runs_take_turns():
    rows = np.arange(12)
    group = np.array([0] * 10 + [1] * 2)
    run = np.array([0] * 9 + [1, 2, 2])
    chosen = spread(rows, group, run, 4, np.random.default_rng(0))
    assert sorted(group[chosen]) == [0, 0, 1, 1]
    assert 9 in chosen  # The only window of its run.
