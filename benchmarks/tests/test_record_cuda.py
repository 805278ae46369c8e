# SPDX-License-Identifier: BSD-3-Clause
"""test_record_cuda.py: the recorder of slow/fixed pairs, on the CPU."""

from __future__ import annotations

import dataclasses
import functools
import gzip
import json
import multiprocessing
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")


from benchmarks.lab.corpus import record_cuda, session
from benchmarks.lab.corpus.measure import TwinsDiffer, label, twins_agree
from benchmarks.lab.corpus.workloads import device_twins, pairs
from benchmarks.lab.corpus.workloads.families import FAMILIES
from benchmarks.lab.corpus.workloads.training import Lab, Training, tf32

# Loader workers are forked from a process with threads, which Python 3.12 warns about.
pytestmark = [
    pytest.mark.verify,
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]

ITEM, LOADER = "item_per_parameter.recommender", "loader_without_workers.cnn"
TF32 = "fp32_matmul.cnn"
BY_SWITCH = ("tensor_core_unused", "misaligned_gemm")
# Those that compile are compared in test_device_twins.py, without a compiler.
EAGER = [
    case
    for case in pairs.cases(pairs.PAIRS)
    if case.pair.needs != "compiler" and case.pair.pattern != "recompile_or_lazy_load"
]


def run(out: Path, *names: str, more: tuple[str, ...] = ()) -> int:
    return record_cuda.main(
        ["--device", "cpu", "--out", str(out), "--pairs", ",".join(names), *more]
    )


def manifest(out: Path) -> dict:
    return json.loads((out / "manifest.json").read_text("utf-8"))


def traces(out: Path) -> dict[str, dict]:
    """Read every member of every archive as a trace."""
    found = {}
    for path in out.glob("*.tar"):
        with tarfile.open(path) as tar:
            for info in tar:
                found[info.name] = json.loads(
                    gzip.decompress(tar.extractfile(info).read())
                )
    return found


def lab(family: str = "recommender") -> Lab:
    return Lab(torch.device("cpu"), FAMILIES[family], "cpu", seed=0)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("recorded") / "new" / "folder"
    assert run(out, ITEM, LOADER, TF32) == record_cuda.DONE
    return out


def test_manifest_tells_what_was_done(recorded: Path) -> None:
    told = manifest(recorded)
    assert told["identity"]["torch"] == torch.__version__
    assert told["identity"]["seed"] == 0
    assert len(told["runs"][0]["source_sha256"]) == 64
    assert str(recorded) not in json.dumps(told)
    assert {name: case["status"] for name, case in told["cases"].items()} == {
        ITEM: "recorded",
        LOADER: "recorded",
        TF32: "skipped",
    }
    assert "TF32" in told["cases"][TF32]["reason"]
    case = told["cases"][ITEM]
    assert told["pairs"][case["pair"]]["pattern"] == "sync_stall"
    assert 0 <= case["equality"]["update_error"] <= case["equality"]["tolerance"]
    blocks = told["protocol"]["blocks"]
    assert len(case["saving_by_block"]) == blocks
    for side in ("slow", "fixed"):
        assert case[side]["median_ms"] > 0
        assert case[side]["steps"] == blocks * told["protocol"]["block"]


def test_traces_hold_what_the_manifest_says(recorded: Path) -> None:
    told, found = manifest(recorded), traces(recorded)
    assert len(list(recorded.iterdir())) <= 8
    named = set()
    for case in (told["cases"][ITEM], told["cases"][LOADER]):
        for side in ("slow", "fixed"):
            facts = case[side]["trace"]
            named.add(facts["member"])
            trace = found[facts["member"]]
            assert len(trace["traceEvents"]) == facts["events"]
            assert facts["profiled_steps"] == told["protocol"]["active"]
            assert facts["python_frames"] > 0
            assert trace["record_shapes"] == trace["with_stack"] == 1
            assert trace["host_name"] == trace["traceName"] == ""
    assert set(found) == named


def test_cause_names_a_frame_that_only_the_slow_trace_has(recorded: Path) -> None:
    (cause,) = manifest(recorded)["pairs"]["item_per_parameter"]["cause"]
    assert ".item()" in cause["code"]
    found = traces(recorded)
    for side, expected in (("slow", True), ("fixed", False)):
        events = found[f"{ITEM}.{side}.json.gz"]["traceEvents"]
        assert any(event.get("name") == cause["frame"] for event in events) is expected


def test_names_in_the_traces_do_not_tell_the_twins_apart(recorded: Path) -> None:
    twins = [pair.slow.__name__ for pair in pairs.PAIRS]
    twins += [pair.fixed.__name__ for pair in pairs.PAIRS if pair.fixed is not Training]
    for trace in traces(recorded).values():
        for event in trace["traceEvents"]:
            assert not any(word in event.get("name", "") for word in twins)


def test_worker_processes_are_gone(recorded: Path) -> None:
    assert not multiprocessing.active_children()


def test_second_run_does_nothing_again(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def must_not_run(*_: object) -> None:
        raise AssertionError("done work was done again")

    before = {path.name: path.read_bytes() for path in recorded.glob("*.tar")}
    cases = manifest(recorded)["cases"]
    monkeypatch.setattr(session, "measure", must_not_run)
    monkeypatch.setattr(session, "record", must_not_run)
    assert run(recorded, ITEM, LOADER, TF32) == record_cuda.DONE
    assert {path.name: path.read_bytes() for path in recorded.glob("*.tar")} == before
    assert manifest(recorded)["cases"] == cases
    assert len(manifest(recorded)["runs"]) == 2


def test_run_goes_on_after_time_or_a_file_was_lost(tmp_path: Path) -> None:
    assert run(tmp_path, ITEM, more=("--minutes", "0")) == record_cuda.UNFINISHED
    assert manifest(tmp_path)["cases"] == {}
    assert run(tmp_path, ITEM) == record_cuda.DONE
    (archive,) = tmp_path.glob("*.tar")
    timed = manifest(tmp_path)["cases"][ITEM]["slow"]["median_ms"]
    archive.write_bytes(archive.read_bytes()[:2000])
    assert run(tmp_path, ITEM) == record_cuda.DONE
    assert len(traces(tmp_path)) == 2
    assert manifest(tmp_path)["cases"][ITEM]["slow"]["median_ms"] == timed


def test_what_does_not_fit_is_skipped_with_its_size(tmp_path: Path) -> None:
    assert run(tmp_path, ITEM, more=("--max-mb", "0.51")) == record_cuda.DONE
    case = manifest(tmp_path)["cases"][ITEM]
    assert case["status"] == "skipped"
    assert "MB" in case["reason"]
    assert not list(tmp_path.glob("*.tar"))
    assert run(tmp_path, ITEM) == record_cuda.DONE
    assert manifest(tmp_path)["cases"][ITEM]["status"] == "recorded"
    assert "reason" not in manifest(tmp_path)["cases"][ITEM]


class Forgets(Training):
    """Never updates anything."""

    def update(self) -> None:
        pass


class Raises(Training):
    """Breaks in its first step."""

    def update(self) -> None:
        raise RuntimeError("out of luck")


def test_broken_pairs_are_reported_and_stop_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = next(pair for pair in pairs.PAIRS if pair.name == "item_per_parameter")
    table = [
        dataclasses.replace(
            good, name=name, slow=slow, fixed=Training, families=("recommender",)
        )
        for name, slow in (("forgets", Forgets), ("raises", Raises), ("same", Training))
    ]
    monkeypatch.setattr(record_cuda, "PAIRS", table)
    assert run(tmp_path, "forgets", "raises", "same") == record_cuda.FAILED
    cases = manifest(tmp_path)["cases"]
    assert cases["forgets.recommender"]["status"] == "failed"
    assert "TwinsDiffer: after 3 steps" in cases["forgets.recommender"]["reason"]
    assert cases["raises.recommender"]["reason"] == "RuntimeError: out of luck"
    assert cases["same.recommender"]["status"] == "recorded"
    # Repaired, they are taken up again, and only they.
    table[:2] = [dataclasses.replace(pair, slow=Training) for pair in table[:2]]
    assert run(tmp_path, "forgets", "raises", "same") == record_cuda.DONE
    told = manifest(tmp_path)["cases"]
    assert [told[f"{name}.recommender"]["timed_in_run"] for name in
            ("forgets", "raises", "same")] == [1, 1, 0]  # fmt: skip


def test_results_of_two_machines_are_not_mixed(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (recorded / "manifest.json").read_bytes()
    assert run(recorded, ITEM, more=("--seed", "1")) == record_cuda.USAGE
    assert "seed" in capsys.readouterr().err
    assert (recorded / "manifest.json").read_bytes() == before


@pytest.mark.parametrize("case", EAGER, ids=lambda case: case.name)
def test_twins_compute_the_same(case: pairs.Case) -> None:
    if lacking := session.missing(case.pair, torch.device("cpu")):
        pytest.skip(lacking)
    if case.pair.name == "loader_without_workers" and case.family.name != "cnn":
        pytest.skip("one family is enough to start worker processes for")
    here = lab(case.family.name)
    with closing(case.pair.slow(here)) as slow, closing(case.pair.fixed(here)) as fixed:
        told = twins_agree(slow, fixed, steps=3, tolerance=case.pair.tolerance)
    errors = [value for name, value in told.items() if name.endswith("_error")]
    assert max(errors) <= case.pair.tolerance


def test_twins_that_learn_nothing_do_not_agree() -> None:
    with pytest.raises(TwinsDiffer, match="update_error nan"):
        twins_agree(Forgets(lab()), Forgets(lab()), steps=2, tolerance=1.0)


def test_every_pair_has_a_cause_in_a_function() -> None:
    for pair in pairs.PAIRS:
        found = pairs.causes(pair)
        # Precision and sizes are decided by a switch, not on a line of the step.
        assert bool(found) is (pair.pattern not in BY_SWITCH)
        assert all(cause["frame"].endswith(tuple("abcdefghijklmnopqrstuvwxyz"))
                   for cause in found)  # fmt: skip


def test_first_round_holds_every_pair_once() -> None:
    first = list(pairs.cases(pairs.PAIRS))[: len(pairs.PAIRS)]
    assert [case.pair for case in first] == list(pairs.PAIRS)


def test_label_follows_cost_and_blocks_that_disagree_are_grey() -> None:
    assert label([0.05, 0.5]) == "positive"
    assert label([-3.0, 0.019]) == "negative"
    assert label([0.04, 0.5]) == label([0.0, 0.06]) == label([0.03]) == "grey"


def test_tf32_is_switched_and_put_back() -> None:
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    for allowed, precision in ((True, "high"), (False, "highest")):
        with tf32(allowed):
            assert torch.get_float32_matmul_precision() == precision
            assert torch.backends.cudnn.allow_tf32 is allowed
    assert (
        torch.get_float32_matmul_precision(),
        torch.backends.cudnn.allow_tf32,
    ) == before


# The compiler hides its own warnings where they are shown; as errors they break it.
@pytest.mark.filterwarnings("ignore")
def test_graph_breaks_stay_with_the_slow_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    # The pieces are the same without a compiler behind them, and come in seconds.
    compiled = functools.partial(torch.compile, backend="eager")
    monkeypatch.setattr(torch, "compile", compiled)
    here = lab("transformer")
    slow, fixed = device_twins.CompilesInPieces(here), device_twins.Compiles(here)
    with closing(slow), closing(fixed):
        twins_agree(slow, fixed, steps=2, tolerance=1e-3)
        counts = []
        for twin in (slow, fixed):
            with torch.profiler.profile() as profiler:
                twin.step()
            names = [event.name for event in profiler.events()]
            counts.append(sum(name.startswith("Torch-Compiled") for name in names))
    assert counts == [here.config["depth"], 1]


def test_unknown_pair_is_bad_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path / "out", "no_such") == record_cuda.USAGE
    assert "no_such" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
