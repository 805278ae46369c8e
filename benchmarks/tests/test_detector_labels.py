# SPDX-License-Identifier: BSD-3-Clause
"""test_detector_labels.py: the compact form of a corpus, labels by cost."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")

from benchmarks.lab.corpus.runs import Cause
from benchmarks.lab.detector.compact_corpus import Corpus, CorpusError, read_corpus
from benchmarks.lab.detector.synthetic_corpus import write_corpus
from benchmarks.lab.detector.window_labels import UNSCORED, label_windows

pytestmark = pytest.mark.verify
NOT_KNOWN = float("nan")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    out = tmp_path_factory.mktemp("corpus")
    write_corpus(out, groups=48, seed=5)
    return read_corpus(out)


def _one_run(corpus: Corpus, saved: list[list[float]], **of_run: object) -> Corpus:
    """Make one run of these windows; two patterns are of the CPU, two of the GPU."""
    run = dataclasses.replace(corpus.runs[0], **{"causes": (), **of_run})
    count = len(saved)
    return dataclasses.replace(
        corpus,
        runs=(run,),
        run=np.zeros(count, int),
        patterns=("sync_stall", "gc_pause", "exposed_copy", "fusible_chain"),
        sides=np.array([0, 0, 1, 1], np.int8),
        saved=np.array(saved, np.float32),
        saved_all=np.nansum(saved, axis=1),
        device=np.zeros(count, int),
        rules=np.zeros((count, 4), np.float32),
    )


def test_labels_by_what_is_saved(corpus: Corpus) -> None:
    labels = label_windows(
        _one_run(
            corpus,
            [
                [0.30, 0.01, 0.00, 0.0],  # positive, negative
                [0.03, 0.00, 0.05, 0.0],  # grey, positive
                [0.00, -0.20, 0.019, 0.0],  # what takes longer without is none
                [0.06, 0.058, 0.0, 0.0],
            ],
            complete=True,
        )
    )
    assert labels.heads.tolist() == [[1, UNSCORED, 0, 1], [0, 1, 0, 0]]
    assert labels.kind.tolist() == [0, 2, -1, 0]
    assert labels.patterns[1].tolist() == [UNSCORED, 0, 1, 0]


def test_what_is_not_known_of_a_complete_run_is_no_negative(corpus: Corpus) -> None:
    labels = label_windows(
        _one_run(
            corpus,
            [
                [0.00, NOT_KNOWN, 0.00, 0.0],
                [0.10, NOT_KNOWN, 0.00, 0.0],  # one that is known is enough
                [0.00, 0.00, NOT_KNOWN, 0.0],
                [0.00, 0.00, NOT_KNOWN, 0.3],
            ],
            complete=True,
        )
    )
    assert labels.heads[0].tolist() == [UNSCORED, 1, 0, 0]
    assert labels.heads[1].tolist() == [0, 0, UNSCORED, UNSCORED]
    assert labels.patterns[0].tolist() == [0, UNSCORED, 0, 0]


def test_no_head_asks_for_chains_that_may_be_fused(corpus: Corpus) -> None:
    chains = [NOT_KNOWN, 0.01, 0.03, 0.30, 0.30]
    copies = [0.0, 0.0, 0.0, 0.0, 0.06]
    saved = [[0.0, 0.0, *two] for two in zip(copies, chains, strict=True)]
    labels = label_windows(_one_run(corpus, saved, complete=True))
    # In every program, so that not knowing of it hides no negative; but where it is
    # known to cost something nothing is sure.
    assert labels.heads[1].tolist() == [0, 0, UNSCORED, UNSCORED, 1]
    assert labels.strongest[1, 4] == np.float32(0.06)
    assert labels.patterns[:, 3].tolist() == [UNSCORED, 0, UNSCORED, 1, 1]


def test_of_a_real_trace_only_what_was_computed_is_known(corpus: Corpus) -> None:
    saved = [[0.00, *[NOT_KNOWN] * 3], [0.10, *[NOT_KNOWN] * 3]]
    unknown = _one_run(corpus, saved, complete=False)
    assert label_windows(unknown).heads.tolist() == [[UNSCORED, 1], [UNSCORED] * 2]
    natural = Cause("sync_stall", "found", 1.0, False, True, 0.0)
    known = _one_run(corpus, saved, complete=False, causes=(natural,))
    # Findings of rules with the cost by a replay are not a truth to judge rules by.
    assert label_windows(known).heads.tolist() == [[0, UNSCORED], [UNSCORED] * 2]


def test_of_a_real_trace_no_negative_is_claimed_by_rules(corpus: Corpus) -> None:
    found = tuple(
        Cause(name, "found", 1.0, False, True, 0.0)
        for name in ("sync_stall", "exposed_copy")
    )
    saved = [[0.0, NOT_KNOWN, 0.0, NOT_KNOWN]] * 4
    known = _one_run(corpus, saved, complete=False, causes=found)
    # Of another pattern of the side, however little; of one that no head asks for.
    known.rules[[1, 2, 3], [1, 0, 3]] = 0.001, 0.3, 0.001
    known.rules[0, 0] = NOT_KNOWN
    heads = label_windows(known).heads.tolist()
    assert heads == [[0, UNSCORED, UNSCORED, 0], [0, 0, 0, UNSCORED]]
    whole = dataclasses.replace(known, saved=np.zeros((4, 4), np.float32))
    whole = dataclasses.replace(
        whole, runs=(dataclasses.replace(known.runs[0], complete=True),)
    )
    assert (label_windows(whole).heads == 0).all()  # All is known here.


def test_what_was_put_in_upon_the_same_may_not_be_known(corpus: Corpus) -> None:
    causes = (
        Cause("sync_stall", "item", 1.0, False, False, 0.1),
        Cause("sync_stall", "found", 1.0, False, True, 0.1),
        Cause("gc_pause", "found", 1.0, False, True, 0.0),
    )
    saved = [[s, 0.0, NOT_KNOWN, NOT_KNOWN] for s in (NOT_KNOWN, 0.0, 0.1)]
    labels = label_windows(_one_run(corpus, saved, complete=False, causes=causes))
    assert labels.patterns[:, 0].tolist() == [UNSCORED, 0, 1]
    assert labels.heads[0].tolist() == [UNSCORED, 0, 1]


def test_a_host_alone_is_judged_by_pattern_only(corpus: Corpus) -> None:
    alone = _one_run(corpus, [[0.0] * 4, [0.2, 0.0, 0.2, 0.0]], complete=True)
    alone.device[:] = -1
    labels = label_windows(alone)
    assert labels.heads.tolist() == [[0, 1], [UNSCORED, UNSCORED]]
    assert labels.patterns[:, 2].tolist() == [0, 1]


def test_gold_is_scored_by_the_side_that_was_measured(corpus: Corpus) -> None:
    cause = Cause("exposed_copy", "pageable", 1.0, False, False, 0.2)
    saved = [[NOT_KNOWN, NOT_KNOWN, s, NOT_KNOWN] for s in (0.2, 0.03, 0.01, 0, 0.0)]
    gold = _one_run(corpus, saved, source="G", complete=False)
    slow = dataclasses.replace(gold.runs[0], name="a", twin="b", causes=(cause,))
    fixed = dataclasses.replace(gold.runs[0], name="b", twin="a", role="fixed")
    gold = dataclasses.replace(
        gold, runs=(slow, fixed), run=np.array([0, 0, 0, 0, 1]),
        saved_all=np.array([0.2, 0.03, 0.01, NOT_KNOWN, 0.0]),
    )  # fmt: skip
    labels = label_windows(gold)
    assert labels.heads[1].tolist() == [1, UNSCORED, 0, UNSCORED, 0]
    assert (labels.heads[0] == UNSCORED).all()


def test_whether_a_run_is_good_may_not_be_known(corpus: Corpus) -> None:
    cause = Cause("sync_stall", "item", 1.0, False, False, 0.05)
    small, null = (
        dataclasses.replace(cause, saved=0.04),
        dataclasses.replace(cause, null=True),
    )
    real = {"source": "P", "complete": False}
    runs = [
        ({"complete": True, "good": True}, 1), ({"complete": True, "good": False}, 0),
        ({"complete": True, "good": None}, -1), ({**real, "causes": (cause,)}, 0),
        ({**real, "good": True, "causes": (small,)}, -1),
        ({**real, "good": None, "causes": (null,)}, -1),
    ]  # fmt: skip
    made = tuple(dataclasses.replace(corpus.runs[0], **of) for of, _ in runs)
    goodness = dataclasses.replace(corpus, runs=made).goodness
    assert goodness.tolist() == [wanted for _, wanted in runs]


@pytest.mark.parametrize(
    ("break_it", "says"),
    [
        (lambda at: (at / "runs.jsonl").unlink(), "no such file"),
        (lambda at: _change(at, "features", lambda x: x[:, 1:]), "array features is"),
        (lambda at: _change(at, "run", lambda x: x[::-1]), "order of the runs"),
        (lambda at: _change(at, "run", lambda x: x + 1000), "a window is of run"),
        (lambda at: _drop_field(at, "group", 0), "line 1: .*'group'"),
        # Of a real trace: its origin might be one that is held out.
        (lambda at: _drop_field(at, "held_out", 19), "line 20: no field held_out"),
    ],
)
def test_what_is_no_corpus_is_said(tmp_path: Path, break_it, says: str) -> None:
    write_corpus(tmp_path, groups=4)
    read_corpus(tmp_path)
    break_it(tmp_path / "compact")
    with pytest.raises(CorpusError, match=says):
        read_corpus(tmp_path)


def _change(at: Path, name: str, change) -> None:
    with np.load(at / "windows.npz") as file:
        arrays = {key: file[key] for key in file.files}
    arrays[name] = change(arrays[name])
    np.savez(at / "windows.npz", **arrays)


def _drop_field(at: Path, name: str, line: int) -> None:
    lines = (at / "runs.jsonl").read_text().splitlines()
    known = json.loads(lines[line])
    del known[name]
    lines[line] = json.dumps(known)
    (at / "runs.jsonl").write_text("\n".join(lines))


def test_fields_that_came_later_may_be_missing(tmp_path: Path) -> None:
    write_corpus(tmp_path, groups=3)  # None of them real.
    whole = read_corpus(tmp_path)
    for name in ("held_out", "unknown"):
        _drop_field(tmp_path / "compact", name, 0)
    assert read_corpus(tmp_path).runs == whole.runs
