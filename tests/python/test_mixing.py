# SPDX-License-Identifier: BSD-3-Clause
"""test_mixing.py: a voice of the detector is worth what it is worth abroad."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from torchtraceap.base.torch_module import load_torch_module
from torchtraceap.detection import BUNDLED, LOSS

pytest.importorskip("torch")
pytest.importorskip("torchtraceap._torch")
pytest.importorskip("sklearn")

from torchtraceap_train import mixing, remix, stacked
from torchtraceap_train.mixing import Side, choose

EACH = 400


def side(network: dict[str, float], trees: float = 0.0, rules: float = 1.0) -> Side:
    """Return windows of sources; the numbers are how well each voice knows the
    truth there; negative: it says the opposite."""
    random = np.random.default_rng(5)
    parts = []
    for told in network.values():
        truth = (np.arange(EACH) % 4 == 0).astype(np.int8)
        sign = 2.0 * truth - 1
        voices = [
            worth * sign + random.normal(0, 1, EACH) for worth in (told, trees, rules)
        ]
        parts.append((np.stack(voices, axis=1), truth))
    return Side(
        np.concatenate([logits for logits, _ in parts]),
        np.concatenate([truth for _, truth in parts]),
        np.repeat(list(network), EACH),
        np.tile([f"g{i // 20}" for i in range(EACH)], len(network)),
    )


def test_a_voice_that_is_right_everywhere_is_heard() -> None:
    found = choose(side({"A": 1.5, "B": 1.5}))
    assert found is not None
    network, trees = found.voices
    assert network >= 0.5 and trees <= 0.25
    assert not any(one.worse for one in found.left_out)
    assert all(one.mixed > one.rules + 0.02 for one in found.left_out)
    # Probabilities: as the truth, in ten equal parts.
    known = side({"A": 1.5, "B": 1.5})
    score = known.logits @ found.weights[:3] + found.weights[3]
    told = 1 / (1 + np.exp(-score))
    for part in np.array_split(np.argsort(told), 10):
        assert abs(told[part].mean() - known.truth[part].mean()) < 0.12


def test_a_voice_that_is_right_at_home_alone_is_not() -> None:
    found = choose(side({"A": 3.0, "B": 3.0, "C": -1.0}))
    assert found is not None and found.voices == (0.0, 0.0)
    # Without C it is trusted, and C shows what that is worth.
    (other,) = (one for one in found.left_out if one.source == "C")
    assert other.voices[0] > 0 and other.worse and other.mixed < other.rules
    # What is left are the rules, on a scale of probabilities.
    assert found.weights[:2].tolist() == [0, 0] and found.weights[2] > 0


def test_no_combination_is_below_the_rules_where_it_was_chosen() -> None:
    for harm in (-0.2, 0.0, 0.2):
        known = side({"A": 2.0, "B": harm}, trees=0.1)
        found = choose(known)
        assert found is not None
        for source in ("A", "B"):
            at = known.sources == source
            rules, mixed = (
                mixing._area(known.truth[at], known.told(voices)[at])
                for voices in ((0.0, 0.0), found.voices)
            )
            assert mixed >= rules


def test_too_little_is_told_by_nothing() -> None:
    known = side({"A": 1.0, "B": 1.0})
    assert choose(replace(known, truth=np.zeros(2 * EACH, np.int8))) is None
    few = np.where(np.arange(2 * EACH) < 4 * 19, known.truth, 0).astype(np.int8)
    assert choose(replace(known, truth=few)) is None
    # Rules that are always right leave nothing to add.
    found = choose(side({"A": 1.0, "B": 1.0}, rules=50))
    assert found is not None and found.voices == (0.0, 0.0)


def test_rules_that_tell_nothing_keep_their_scale() -> None:
    known = side({"A": -1.0, "B": -1.0}, trees=-1.0, rules=-1.0)
    found = choose(known)
    assert found is not None and found.voices == (0.0, 0.0)
    bias = -float(load_torch_module().rules_logit(LOSS))
    assert found.weights == pytest.approx([0, 0, 1, bias])


def test_blame_s_set_remixes_the_bundled_weights(tmp_path: Path) -> None:
    blame_set = pytest.importorskip("benchmarks.lab.detector.blame_set")
    traces, windows = blame_set.write_set(tmp_path / "set", 6, 3, 1)
    read = remix.traces_of(tmp_path / "set")
    assert len(read) == traces == 6 and sum(map(len, read)) == windows
    for trace in read:
        assert trace.source == "B" and trace.rules is not None
    any_ = np.concatenate([trace.any for trace in read])
    assert (any_ == 1).any(axis=0).all() and (any_ == 0).any(axis=0).all()
    out = tmp_path / "out.safetensors"
    command = [str(BUNDLED), str(tmp_path / "set"), "--out", str(out)]
    assert remix.main(command) == 0
    module = load_torch_module()
    new, old = (module.Model.load(str(path)) for path in (out, BUNDLED))
    assert new.card["mixed on"] == "B: 6" and new.card["seed"] == old.card["seed"]
    said: list[dict[str, Any]] = [m.say(read[0].arrays) for m in (new, old)]
    for name in ("network", "trees", "types", "recoverable", "strangeness"):
        assert (said[0][name] == said[1][name]).all()
    assert (said[0]["probability"] != said[1]["probability"]).any()
    voices = pytest.importorskip("benchmarks.lab.detector.voices")
    by = voices.told(new, read)
    rules = by["rules"] >= 0.5
    claimed = np.concatenate([stacked.claimed(trace) for trace in read])
    assert (rules == (claimed >= np.float32(LOSS))).all() and rules.any()
    assert all(by[name].shape == (windows, 2) for name in voices.COLUMNS)


def test_a_set_that_is_none_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [str(BUNDLED), str(tmp_path), "--out", str(tmp_path / "out")]
    assert remix.main(command) == 2
    assert "is not a training set" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
