# SPDX-License-Identifier: BSD-3-Clause
"""test_perturbation.py: source P of the corpus, on the small public traces that the
repository holds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import DATA
from benchmarks.lab import _lab
from benchmarks.lab.corpus import origins, runs
from benchmarks.lab.corpus.perturbation import table
from benchmarks.lab.corpus.perturbation.drawing import Draw
from benchmarks.lab.corpus.perturbation.making import draw_part, make
from benchmarks.lab.corpus.perturbation.outcome import (
    natural_patterns,
    outcome,
    thinned,
)
from benchmarks.lab.corpus.perturbation.scene import Scene
from benchmarks.lab.corpus.perturbation.table import NOTHING, insert
from benchmarks.lab.corpus.window_rows import analyzed, patterns
from torchtraceap import _core, analyze, load

pytestmark = pytest.mark.verify

SMALL = DATA / "h100-vit-nsfw-inference.json.gz"
_FOREACH = "void at::native::multi_tensor_apply_kernel<TensorListMetadata<2> >"
LARGE = DATA / "kineto2021-v100-resnet50-workers4.json.gz"
#: Its one process loads and decodes: it waits for data by itself.
STARVED = DATA / "kineto2021-v100-resnet50-workers0-memory.json.gz"


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene(SMALL)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A simulated step with what the small traces lack: collectives, an optimizer of
    many tensors, pinned copies."""
    p = _core.Program()
    thread = p.add_thread(1, "main")
    compute, link = p.add_stream(7), p.add_stream(20)
    for step in range(6):
        p.open_span(thread, f"ProfilerStep#{step}")
        p.host(thread, 4_000)
        p.open(thread, "aten::copy_")
        name = "Memcpy HtoD (Pinned -> Device)"
        p.copy(thread, compute, name, 200_000, 6_000, 4_000_000)
        p.close(thread)
        for layer in range(8):
            p.host(thread, 4_000)
            p.open(thread, "aten::mm")
            p.kernel(thread, compute, f"gemm_{layer}", 40_000, 6_000)
            p.close(thread)
        for kernel, stream in (("ncclDevKernel_AllReduce", link), (_FOREACH, compute)):
            p.open(thread, kernel[:4])
            p.kernel(thread, stream, kernel, 90_000, 6_000)
            p.close(thread)
        p.close(thread)
    path = tmp_path_factory.mktemp("trained") / "trained.json"
    path.write_bytes(p.trace_text())
    return Scene(path)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("corpus")
    for turn in range(2):
        assert make(out, SMALL, "somebody", "NVIDIA H100", 3, turn).names
    return out


def draw_in(scene: Scene, seed: int, strength: float, null: bool = False) -> Draw:
    rng = np.random.default_rng(seed)
    thread = scene.threads[0]
    rows = scene.operators(thread)
    begin, end = int(scene.ts[rows[0]]), int(scene.end[rows[-1]])
    return Draw(rng, strength, null, thread, begin, end)


def all_mechanisms() -> list[tuple[str, str]]:
    return [(p, m) for p, ways in table.MECHANISMS.items() for m in ways]


def test_a_pattern_comes_about_in_three_ways_and_more() -> None:
    # An optimizer of many tensors is taken apart in one way only.
    ways = {pattern: len(found) for pattern, found in table.MECHANISMS.items()}
    assert ways.pop("unfused_optimizer") == 1
    assert min(ways.values()) >= 3
    assert set(table.WEIGHTS) == set(table.MECHANISMS)
    known = analyze(str(SMALL), quiet=True).core.pattern_names
    assert set(table.MECHANISMS) <= set(known)


@pytest.mark.parametrize(("pattern", "mechanism"), all_mechanisms())
def test_a_mechanism_makes_a_trace_that_replays_as_it_was_scheduled(
    scene: Scene, trained: Scene, pattern: str, mechanism: str
) -> None:
    if not table.can_have(scene, pattern) or mechanism == "unpinned":
        scene = trained
    perturbation = table.MECHANISMS[pattern][mechanism](scene, draw_in(scene, 5, 0.6))
    assert len(perturbation)
    result = outcome(scene, {}, perturbation, pattern)
    again = replay_of(result.text)
    assert again.fidelity.replayable
    assert again.fidelity.span_ns > 0
    # The replay of the written trace takes as long as was scheduled.
    scheduled = _lab.perturb(scene.analysis, perturbation).span_ns
    assert again.fidelity.span_ns == pytest.approx(scheduled, rel=0.01)
    assert again.fidelity.replayed_span_ns == pytest.approx(scheduled, rel=0.02)
    # Nothing takes less time for what is done besides.
    before, after = result.truth[pattern, 0]
    assert before[-1] - before[0] >= after[-1] - after[0]


def replay_of(text: bytes) -> _core.Replay:
    core = analyze(text, quiet=True).core_replay
    return core


def test_what_a_wait_costs_is_what_the_report_says_of_it(scene: Scene) -> None:
    perturbation = table.MECHANISMS["sync_stall"]["item"](scene, draw_in(scene, 1, 1.0))
    result = outcome(scene, {}, perturbation, "sync_stall")
    text = result.text
    found = [f for f in analyze(text, quiet=True).findings if f.pattern == "sync_stall"]
    gain = sum(f.recoverable_us or 0 for f in found)
    cost = result.saved["sync_stall"] * load(text).columns["dur"].max() / 1e3
    with_it = _lab.perturb(scene.analysis, perturbation).span_ns
    cost = (with_it - scene.natural.span_ns) / 1e3
    assert cost > 0
    assert gain == pytest.approx(cost, rel=0.25)


def test_without_a_perturbation_nothing_is_saved(scene: Scene) -> None:
    natural = natural_patterns(scene)
    assert natural  # launch_bound
    result = outcome(scene, {}, _lab.Perturbation(), "")
    before, after = result.truth[runs.ALL, 0]
    assert (before == after).all()
    assert len(load(result.text)) == len(scene.trace)


def test_nulls_cost_nothing(scene: Scene) -> None:
    found = [
        insert(scene, {}, np.random.default_rng(seed), null=True) for seed in range(8)
    ]
    found = [one for one in found if one is not None]
    assert found
    assert all(one.result.windows.max() < NOTHING for one in found)


@pytest.mark.parametrize(
    ("path", "pattern", "mechanism", "null"),
    [
        (STARVED, "dataloader_bound", "slow_workers", True),
        (LARGE, "pageable_copy", "batch_upload", False),
    ],
)
def test_what_was_put_in_counts_without_what_was_there(
    tmp_path: Path, path: Path, pattern: str, mechanism: str, null: bool
) -> None:
    crowded = Scene(path)
    natural = natural_patterns(crowded)
    assert pattern in natural
    draw = draw_in(crowded, 1, 1.0, null)
    perturbation = table.MECHANISMS[pattern][mechanism](crowded, draw)
    assert len(perturbation)
    result = outcome(crowded, natural, perturbation, pattern)
    as_found = outcome(crowded, natural, _lab.Perturbation(), "")
    assert as_found.found == pytest.approx(
        {name: as_found.saved[name] for name in natural}
    )
    # Its own cost, and what was found costs about what it did.
    alone = crowded.natural.span_ns
    with_it = _lab.perturb(crowded.analysis, perturbation).span_ns
    assert result.saved[pattern] == pytest.approx(1 - alone / with_it)
    assert result.found[pattern] * with_it == pytest.approx(
        as_found.found[pattern] * alone
    )
    run = runs.Run(
        "P-one", "P", "somebody", "null" if null else "slow", "", "resnet", True, 0,
        complete=False,
        causes=(runs.Cause(pattern, mechanism, 1.0, null=null),),
    )  # fmt: skip
    runs.write(tmp_path, run, result.text, result.truth)
    column = [name for name, _ in patterns()].index(pattern)
    saved = analyzed(tmp_path, run).fields["saved"][:, column]
    # Windows in which the found one costs are not known, the others are.
    assert np.isnan(saved).any() and np.isfinite(saved).any()
    if null:
        assert result.saved[pattern] == pytest.approx(0, abs=0.002)
        assert as_found.found[pattern] > 0.05
        assert np.nanmax(saved) < NOTHING
    else:
        assert result.saved[pattern] > 0.05
        assert np.nanmax(saved) > 0.05


def test_strength_costs_more(scene: Scene) -> None:
    costs = []
    for strength in (0.05, 0.5, 1.0):
        draw = draw_in(scene, 2, strength)
        perturbation = table.MECHANISMS["dataloader_bound"]["slow_workers"](scene, draw)
        costs.append(_lab.perturb(scene.analysis, perturbation).span_ns)
    assert scene.natural.span_ns < costs[0] < costs[1] < costs[2]


def test_runs_are_written_with_their_twins_and_truth(made: Path) -> None:
    found = {run.name: run for run in runs.read(made)}
    assert {run.role for run in found.values()} >= {"natural", "slow"}
    for run in found.values():
        assert run.source == "P" and not run.complete
        assert run.origin == run.group == "somebody"
        assert run.held_out == origins.held_out("somebody")
        meant = [cause.null for cause in run.causes if not cause.natural]
        assert not meant or (run.role == "null") == all(meant)
        assert run.role == "natural" or run.twin in found
        truth = runs.read_truth(made, run.name)
        assert (runs.ALL, 0) in truth
        for cause in run.causes:
            before, after = truth[cause.pattern, 0]
            assert (np.diff(before) >= 0).all() and (np.diff(after) >= 0).all()
            if not cause.natural:
                total = 1 - (after[-1] - after[0]) / (before[-1] - before[0])
                assert total == pytest.approx(cause.saved, abs=0.02)
        trace = load(str(runs.trace_path(made, run.name)))
        assert not trace.warnings


def test_runs_tell_nothing_of_where_they_come_from(made: Path) -> None:
    for run in runs.read(made):
        trace = load(str(runs.trace_path(made, run.name)))
        mark = json.loads(trace.metadata["torchtraceap"])
        assert mark == {"what_if": "rescheduled"}  # the same of all roles
        assert set(trace.metadata) <= {
            "schemaVersion", "deviceProperties", "distributedInfo",
            "displayTimeUnit", "torchtraceap",
        }  # fmt: skip


def test_the_same_seed_makes_the_same_runs(made: Path, tmp_path: Path) -> None:
    make(tmp_path, SMALL, "somebody", "NVIDIA H100", 3, 0)
    for run in runs.read(tmp_path):
        one, other = (runs.trace_path(out, run.name) for out in (made, tmp_path))
        assert one.read_bytes() == other.read_bytes()


def test_who_is_stopped_makes_what_is_missing(made: Path, tmp_path: Path) -> None:
    make(tmp_path, SMALL, "kineto-resnet50", "V100", 3, 0)
    found = list(runs.read(tmp_path))
    assert all(run.held_out for run in found)
    written = {run.name: runs.written_at(tmp_path, run.name) for run in found}
    gone = next(run for run in found if run.role == "natural")
    (tmp_path / "runs" / f"{gone.name}.json").unlink()
    make(tmp_path, SMALL, "kineto-resnet50", "V100", 3, 0)
    again = {name: runs.written_at(tmp_path, name) for name in written}
    assert [name for name in written if written[name] != again[name]] == [gone.name]


def test_a_role_says_what_was_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if nothing that comes of it were anything.
    monkeypatch.setattr("benchmarks.lab.corpus.perturbation.making.NOTHING", 9.0)
    make(tmp_path, SMALL, "somebody", "H100 SXM", 3, 0)
    put_in = [run for run in runs.read(tmp_path) if run.role in ("slow", "null")]
    assert any(run.role == "slow" for run in put_in)
    for run in put_in:
        (cause,) = (cause for cause in run.causes if not cause.natural)
        assert (run.role == "null") == cause.null


def test_gpus_have_one_name_in_all_sources() -> None:
    assert origins.gpu_name("Tesla V100-SXM2-32GB x2") == "V100"
    assert origins.gpu_name("NVIDIA A100-PG509-200 x8") == "A100"
    assert origins.gpu_name("NVIDIA H100 80GB HBM3") == "H100 SXM"
    assert origins.gpu_name("NVIDIA H100 PCIe") == "NVIDIA H100 PCIe"
    assert origins.gpu_name("AMD Instinct MI300X x8") == "AMD Instinct MI300X"
    assert origins.gpu_name("-") == ""


def test_traces_of_the_tree_do_where_there_are_no_others() -> None:
    found = origins.read_manifest(DATA)
    assert set(found) == {path.name for path in DATA.glob("*.json.gz")}
    assert {row["origin"] for row in found.values()} <= set(origins.ORIGINS)


def test_homes_are_blanked() -> None:
    result = outcome(Scene(LARGE, steps=6), {}, _lab.Perturbation(), "")
    assert b"/home/user/" in result.text
    assert b"yangu" not in result.text


def test_parts_of_large_traces_hold_all_their_work() -> None:
    part = draw_part(LARGE, np.random.default_rng(0))
    assert part
    assert 1_000 < len(Scene(LARGE, **part).trace) < 60_000
    assert draw_part(SMALL, np.random.default_rng(0)) == {}


def test_thinned_moments_tell_the_same() -> None:
    rng = np.random.default_rng(0)
    before = np.cumsum(rng.integers(1, 2_000, 4_000))
    after = before - np.cumsum(rng.random(4_000) < 0.02) * 500
    after = np.maximum.accumulate(after)
    few = thinned(np.stack([before, after]))
    assert few.shape[1] < 2_000
    off = np.interp(before, *few) - after
    assert np.abs(off).max() < 2_000


def test_a_third_of_the_origins_is_held_out() -> None:
    kept_out = origins.held_out_origins()
    assert len(kept_out) == len(origins.ORIGINS) // 3
    assert all(map(origins.held_out, kept_out))
    assert set(kept_out) >= origins.GOLD
    others = set(origins.ORIGINS) - set(kept_out)
    assert not any(map(origins.held_out, others))
    where = ("pytorch/kineto", "tb_plugin/samples/resnet50_num_workers_4/worker0")
    assert origins.origin_of(*where) == "kineto-resnet50"
    assert origins.origin_of("a/b", "c.json") == "a/b"


def test_the_command_goes_on_where_it_was(tmp_path: Path) -> None:
    rows = ["file\torigin_repo\tpath\tgpu", f"{SMALL.name}\tx/y\tz\tNVIDIA H100"]
    (tmp_path / "manifest.tsv").write_text("\n".join(rows) + "\n")
    (tmp_path / SMALL.name).write_bytes(SMALL.read_bytes())
    command = [
        sys.executable, "-m", "benchmarks.lab.corpus.perturb",
        "--out", tmp_path / "out", "--count", "4",
        "--traces", tmp_path,
    ]  # fmt: skip
    first = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "insertions and" in first
    written = {p: p.stat().st_mtime_ns for p in (tmp_path / "out").rglob("*.gz")}
    again = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert again.splitlines()[1:] == first.splitlines()[1:]
    assert {p: p.stat().st_mtime_ns for p in written} == written
