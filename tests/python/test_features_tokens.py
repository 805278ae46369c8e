# SPDX-License-Identifier: BSD-3-Clause
"""test_features_tokens.py: what ties tokens to each other, to events and to windows."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import torchtraceap
from torchtraceap import analyze

TRACES = sorted((Path(__file__).resolve().parents[1] / "data").glob("*.json.gz"))


def name_of(path: Path) -> str:
    return path.name.removesuffix(".json.gz")


@pytest.mark.parametrize("path", TRACES, ids=name_of)
def test_edges_lead_to_their_other_end(path: Path) -> None:
    """Parents begin before their children; what is launched, after its call; and an
    edge is there whenever its other end is a token of the same device."""
    report = analyze(path)
    features = report.features()
    tokens, begin = features.tokens, features.token_begin
    columns = report.loaded.columns
    starts = columns["ts"][features.row]
    tilings = [(w.device, w.pid) for w in report.windows]
    of_tiling = np.repeat([tilings.index(t) for t in tilings], np.diff(begin))
    work = tokens["lane_kind"] >= 2
    own = np.arange(begin[-1])
    for edge in ("parent", "launch"):
        has = tokens[edge] >= 0
        assert (tokens[edge] >= -1).all() and (tokens[edge] < begin[-1]).all()
        assert (has <= (work == (edge == "launch"))).all()
        assert (of_tiling[tokens[edge][has]] == of_tiling[has]).all()
    parents = tokens["parent"] >= 0
    above = tokens["parent"][parents]
    assert (above < own[parents]).all()
    assert (starts[above] <= starts[parents]).all()
    depth = np.minimum(255, tokens["depth"][above].astype(int) + 1)
    assert (tokens["depth"][parents] == depth).all()
    assert (parents == (tokens["depth"] > 0))[~work].all()
    launched = tokens["launch_delay"] >= 0
    assert (launched == (tokens["launch"] >= 0)).all()
    heads = tokens["repeats"] > 0
    assert heads[begin[:-1][np.diff(begin) > 0]].all()


def test_tokens_lead_to_their_events(data: Path) -> None:
    trace = torchtraceap.load(data / "h100-vit-nsfw-inference.json.gz")
    report = analyze(trace)
    features = report.features()
    names = [trace.strings[i] for i in trace.columns["name"][features.row]]
    assert features.names(range(len(names))) == names
    lengths = np.log2(1 + trace.columns["dur"][features.row])
    assert np.allclose(features.tokens["duration"], lengths)
    first = names.index("aten::linear")
    (place,) = features.locations([first])
    assert place is not None
    assert (place.function, place.recorded_line) == ("run_on_input", 37)
    with pytest.raises(IndexError):
        features.locations([len(names)])


def test_neighbors_are_merged_within_steps(data: Path) -> None:
    report = analyze(data / "kineto2021-v100-resnet50-workers0-memory.json.gz")
    fine, coarse = report.features(), report.features(merge=4)
    begin = coarse.window_begin
    assert begin[0] == 0 and begin[-1] == len(report.windows)
    assert np.diff(begin).min() >= 1 and np.diff(begin).max() == 4
    assert np.array_equal(coarse.row, fine.row)
    assert np.array_equal(coarse.tokens["launch"], fine.tokens["launch"])
    assert np.array_equal(coarse.token_begin, fine.token_begin[begin])
    steps = [w.step for w in report.windows]
    ends = [w.end_us for w in report.windows]
    lengths = np.array([w.duration_us for w in report.windows])
    for first, last in itertools.pairwise(begin):
        assert len(set(steps[first:last])) == 1
        # A full one, or the next is of another step.
        more = last < len(steps) and ends[last - 1] < ends[-1]
        assert last - first == 4 or not more or steps[last] != steps[last - 1]
    for name in ("busy", "late", "queued", "cause_dataloader_bound"):
        i = fine.columns.index(name)
        time = np.add.reduceat(fine.windows[:, i] * lengths, begin[:-1])
        share = time / np.add.reduceat(lengths, begin[:-1])
        assert np.allclose(coarse.windows[:, i], share, atol=1e-4), name
    assert np.array_equal(
        report.features(merge=1).windows, fine.windows, equal_nan=True
    )
    with pytest.raises(ValueError, match="at least 1"):
        report.features(merge=0)
