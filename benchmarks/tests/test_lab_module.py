# SPDX-License-Identifier: BSD-3-Clause
"""test_lab_module.py: what Python may pass to _lab to insert into a trace; the result
is tested in C++ (test_perturbation.cpp, test_insertion_draft.cpp)."""

from __future__ import annotations

import gc
import json
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

import torchtraceap
from benchmarks import DATA
from benchmarks.lab import _lab

pytestmark = pytest.mark.verify

SMALL = DATA / "h100-vit-nsfw-inference.json.gz"
AT_NS = 500


class Scene:
    """A trace, its rows by what they are, and a moment between two of its calls."""

    def __init__(self) -> None:
        report = torchtraceap.analyze(str(SMALL), quiet=True)
        self.core = report.core
        c = report.loaded.columns
        names = np.array(report.loaded.category_names)[c["category"]]
        self.work = int(np.flatnonzero(names == "kernel")[0])
        rows = np.flatnonzero((names == "cpu_op") & (c["dur"] > 0))
        self.host = int(rows[0])
        self.rows = len(c["ts"])
        self.pid, self.tid = int(c["pid"][self.host]), int(c["tid"][self.host])
        calls = np.flatnonzero((names == "cuda_runtime") & (c["tid"] == self.tid))
        self.at = int(c["ts"][calls].max() - AT_NS)

    def draft(self, at: int | None = None) -> _lab.Insertion:
        at = self.at if at is None else at
        return _lab.Insertion(self.core, self.pid, self.tid, at)

    def pause(self, ns: int) -> _lab.Insertion:
        draft = self.draft()
        draft.host(ns, "put in")
        return draft


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene()


def names_in(run: _lab.Perturbed) -> list[str]:
    return [e["name"] for e in json.loads(run.text("", []))["traceEvents"]]


def test_work_stands_for_device_work_alone(scene: Scene) -> None:
    draft = scene.draft()
    for row in (scene.host, scene.rows, 2**32 - 2, 2**32 - 1):
        with pytest.raises(ValueError, match="is not device work"):
            draft.stand_for(row)
    draft.stand_for(scene.work)


@pytest.mark.parametrize("at", [-(2**63), 2**63 - 1])
def test_moments_lie_within_all_time(scene: Scene, at: int) -> None:
    with pytest.raises(ValueError, match="outside the time range"):
        scene.draft(at)


def test_what_is_opened_is_closed_in_the_same_insertion(scene: Scene) -> None:
    opened = scene.draft()
    with pytest.raises(ValueError, match="nothing is open"):
        opened.close()
    opened.open("a")
    with pytest.raises(ValueError, match="opened"):
        _lab.Perturbation().insert(opened)


def test_args_and_lengths_are_read_when_they_are_given(scene: Scene) -> None:
    draft = scene.draft()
    with pytest.raises(ValueError, match="JSON"):
        draft.host(1, "a", args='"a": 1}, {"b": 2')
    for ns in (-1, 2**62):
        with pytest.raises(ValueError, match="a length of"):
            draft.host(ns)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda p, s: p.lengthen(s.host, 5), "not device work"),
        (lambda p, s: p.lengthen(s.rows, 5), "not device work"),
        (lambda p, s: p.lengthen(s.work, 2**62), "outside the time range"),
        (lambda p, s: p.replace(s.host), "not device work"),
        (lambda p, s: p.leave_out(s.work), "not a row of the host"),
        (lambda p, s: p.leave_out(s.rows), "not a row of the host"),
    ],
)
def test_rows_are_of_their_kind(
    scene: Scene, change: Callable[[_lab.Perturbation, Scene], None], why: str
) -> None:
    p = _lab.Perturbation()
    change(p, scene)
    with pytest.raises(ValueError, match=why):
        _lab.perturb(scene.core, p)


def test_nothing_is_mixed_with_another_trace(scene: Scene) -> None:
    other = Scene()
    p = _lab.Perturbation()
    p.insert(other.pause(1_000))
    with pytest.raises(ValueError, match="another trace"):
        _lab.perturb(scene.core, p)
    run = _lab.perturb(other.core, p)
    without = _lab.perturb(scene.core, _lab.Perturbation())
    with pytest.raises(ValueError, match="another trace"):
        run.moments(without, 0)


def test_a_run_holds_the_trace_it_is_of() -> None:
    scene = Scene()
    p = _lab.Perturbation()
    p.insert(scene.pause(1_000))
    run = _lab.perturb(scene.core, p)
    draft = scene.draft()
    del scene
    gc.collect()
    assert names_in(run).count("put in") == 1
    with pytest.raises(ValueError, match="no work runs on stream"):
        draft.sync("cudaStreamSynchronize", 1, device=99, stream=7)


def test_a_perturbation_may_grow_while_it_is_scheduled(scene: Scene) -> None:
    p = _lab.Perturbation()
    for _ in range(500):
        p.insert(scene.pause(1_000))
    more = scene.pause(1_000)
    runs: list[_lab.Perturbed] = []
    begun, grown = threading.Event(), threading.Event()

    def schedule() -> None:
        # Once before, as often as it can meanwhile, and once when all is there.
        runs.append(_lab.perturb(scene.core, p))
        begun.set()
        while not grown.is_set():
            runs.append(_lab.perturb(scene.core, p))
        runs.append(_lab.perturb(scene.core, p))

    thread = threading.Thread(target=schedule, daemon=True)
    thread.start()
    assert begun.wait(60)
    for _ in range(200):
        p.insert(more)
        time.sleep(0.001)
    grown.set()
    thread.join(60)
    assert not thread.is_alive() and len(p) == 700
    found = [names_in(run).count("put in") for run in runs[:: len(runs) // 2]]
    assert found == sorted(found) and found[0] == 500
    assert names_in(runs[-1]).count("put in") == 700
