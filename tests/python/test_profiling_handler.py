# SPDX-License-Identifier: BSD-3-Clause
"""test_profiling_handler.py: live profilers, whose own exports keep working."""

from __future__ import annotations

import gc
import gzip
import io
import json
import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import torchtraceap
from torchtraceap.analysis_plan import AnalysisPlan
from torchtraceap.profiling import live

torch = pytest.importorskip("torch")
from torch.profiler import (  # noqa: E402
    profile,
    schedule,
    tensorboard_trace_handler,
)

from .small_work import CPU, SEVERAL_CYCLES, work  # noqa: E402
from .torch_forks import TorchForks  # noqa: E402

pytestmark = SEVERAL_CYCLES


def recorded(**options: Any) -> Any:
    with profile(activities=CPU, **options) as prof:
        work()
    return prof


def read(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)


def assert_same_events(report: torchtraceap.Report, path: Path) -> None:
    """The report was made from what the file holds, to the last column."""
    mine, theirs = report.loaded, torchtraceap.load(path)
    assert mine.strings == theirs.strings
    for name, column in mine.columns.items():
        if name != "args_offset":  # the header may differ
            np.testing.assert_array_equal(column, theirs.columns[name], err_msg=name)


def test_after_the_block(tmp_path: Path) -> None:
    prof = recorded(record_shapes=True, with_stack=True, profile_memory=True)
    report = torchtraceap.analyze(prof)
    assert prof.torchtraceap_reports == [report]
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert_same_events(report, tmp_path / "trace.json")
    rows = range(report.trace.events)
    theirs = torchtraceap.load(tmp_path / "trace.json")
    assert report.loaded.read_args(rows) == theirs.read_args(rows)


def test_autograd_profiler(tmp_path: Path) -> None:
    with torch.autograd.profiler.profile() as prof:
        work()
    report = torchtraceap.analyze(prof)
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert_same_events(report, tmp_path / "trace.json")


def test_a_second_analysis_replaces_the_first() -> None:
    prof = recorded(on_trace_ready=torchtraceap.analyze)
    again = torchtraceap.analyze(prof, max_events=7)
    assert prof.torchtraceap_reports == [again]


def exporter(folder: Path, kind: str) -> Callable[[Any], None]:
    if kind.startswith("tensorboard"):
        handler = tensorboard_trace_handler(str(folder), use_gzip=kind.endswith("gz"))
        return lambda prof: handler(prof)
    return lambda prof: prof.export_chrome_trace(
        str(folder / f"{prof.step_num}.{kind}")
    )


EXPORTS = ["json", "json.gz", "tensorboard", "tensorboard gz"]


@pytest.mark.parametrize("kind", EXPORTS)
def test_cycles_with_an_export_after(tmp_path: Path, kind: str) -> None:
    export = exporter(tmp_path, kind)

    def handler(prof: Any) -> None:
        torchtraceap.analyze(prof)
        export(prof)

    plan = schedule(wait=1, warmup=1, active=2, repeat=3)
    with profile(activities=CPU, schedule=plan, on_trace_ready=handler) as prof:
        for _ in range(12):
            work()
            prof.step()

    files = sorted(tmp_path.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    assert len(files) == len(prof.torchtraceap_reports) == 3
    for path, report in zip(files, prof.torchtraceap_reports, strict=True):
        assert_same_events(report, path)
    steps = [[step.number for step in r.steps] for r in prof.torchtraceap_reports]
    assert steps == [[2, 3], [6, 7], [10, 11]]


@pytest.mark.parametrize("kind", EXPORTS)
def test_an_export_before(tmp_path: Path, kind: str) -> None:
    """torch's own second export has to do, which is equal up to some details."""
    export = exporter(tmp_path, kind)

    def handler(prof: Any) -> None:
        export(prof)
        with pytest.warns(RuntimeWarning, match="call analyze first"):
            torchtraceap.analyze(prof)

    prof = recorded(on_trace_ready=handler, profile_memory=True)
    (path,) = tmp_path.iterdir()
    mine = prof.torchtraceap_reports[0].loaded.columns
    theirs = torchtraceap.load(path).columns
    for name in ("category", "ts", "dur", "external_id"):
        timed = [
            (c["phase"] == b"X") & (c["category"] != _TRACE) for c in (mine, theirs)
        ]
        np.testing.assert_array_equal(
            mine[name][timed[0]], theirs[name][timed[1]], name
        )


_TRACE = torchtraceap._core.category_names().index("Trace")


def test_exports_in_any_number(tmp_path: Path) -> None:
    prof = recorded(on_trace_ready=torchtraceap.analyze)
    paths = [tmp_path / name for name in ("a.json", "b.json.gz", "c.json")]
    for path in paths:
        prof.export_chrome_trace(str(path))
    prof.export_chrome_trace(str(tmp_path / "p.json"), use_python_export=True)
    a, b, c = (read(path) for path in paths)
    assert a["traceName"] == str(paths[0])
    assert c["traceName"] == str(paths[2])
    assert a["traceEvents"] == b["traceEvents"] == c["traceEvents"]
    # Only torch's Python export calls threads so.
    names = {
        e["args"].get("name")
        for e in read(tmp_path / "p.json")["traceEvents"]
        if e["ph"] == "M"
    }
    assert f"thread {os.getpid()}" in names


def test_the_copy_is_kinetos_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def keep(path: str) -> None:
        if os.path.exists(made := os.path.join(path, "trace.json")):
            shutil.copy(made, tmp_path / "kineto.json")

    removed = shutil.rmtree
    monkeypatch.setattr(
        shutil,
        "rmtree",
        lambda path, **kw: (keep(path), removed(path, **kw)),
    )
    prof = recorded(on_trace_ready=torchtraceap.analyze, record_shapes=True)
    prof.export_chrome_trace(str(tmp_path / "copy.json"))
    original, copy = read(tmp_path / "kineto.json"), read(tmp_path / "copy.json")
    del original["traceName"], copy["traceName"]
    assert original == copy
    assert list(original) == list(copy)


def test_accumulating_cycles_export_the_newest(tmp_path: Path) -> None:
    plan = schedule(wait=0, warmup=1, active=1, repeat=2)
    last = tmp_path / "last.json"
    with profile(
        activities=CPU,
        schedule=plan,
        on_trace_ready=torchtraceap.analyze,
        acc_events=True,
    ) as prof:
        for _ in range(4):
            work()
            prof.step()
    first, second = prof.torchtraceap_reports
    prof.export_chrome_trace(str(last))
    assert [r.steps[0].number for r in (first, second)] == [1, 3]
    assert_same_events(second, last)


def test_an_export_is_of_the_newest_cycle_also_if_that_was_not_analyzed(
    tmp_path: Path,
) -> None:
    def first_only(prof: Any) -> None:
        if not vars(prof).get("torchtraceap_reports"):
            torchtraceap.analyze(prof)

    plan = schedule(wait=0, warmup=1, active=1, repeat=2)
    with profile(
        activities=CPU, schedule=plan, on_trace_ready=first_only, acc_events=True
    ) as prof:
        for _ in range(4):
            work()
            prof.step()
    prof.export_chrome_trace(str(tmp_path / "last.json"))
    last = torchtraceap.analyze(tmp_path / "last.json")
    assert [step.number for step in last.steps] == [3]


def test_a_wrong_path_warns_as_kineto_prints(tmp_path: Path) -> None:
    prof = recorded(on_trace_ready=torchtraceap.analyze)
    with pytest.warns(UserWarning, match="the trace was not exported"):
        prof.export_chrome_trace(str(tmp_path / "none" / "trace.json"))


def test_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def kept_files() -> int:
        links = (f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd"))
        return sum(str(tmp_path) in os.readlink(f) for f in links if os.path.islink(f))

    prof = recorded(on_trace_ready=torchtraceap.analyze)
    assert list(tmp_path.iterdir()) == []
    assert kept_files() == 1
    gc.collect()
    gc.disable()
    try:  # goes with the profiler's results, and they without the collector's help
        prof.profiler = None
        assert kept_files() == 0
    finally:
        gc.enable()


# --- What goes wrong -------------------------------------------------------------


def test_a_profiler_that_recorded_nothing() -> None:
    with pytest.raises(ValueError, match="has not recorded anything yet"):
        torchtraceap.analyze(profile(activities=CPU))


def test_a_profiler_ended_by_another_one() -> None:
    """Exporting it would crash the process (torch 2.13)."""
    with (
        pytest.warns(RuntimeWarning, match="only one profiler at a time"),
        profile(activities=CPU, on_trace_ready=torchtraceap.analyze) as outer,
    ):
        inner = recorded()
    assert not hasattr(outer, "torchtraceap_reports")
    assert torchtraceap.analyze(inner).trace.events > 10


def test_errors_in_a_handler_do_not_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise torchtraceap.TraceError("what went wrong")

    monkeypatch.setattr(AnalysisPlan, "report", broken)
    with pytest.warns(RuntimeWarning, match="this cycle was not analyzed: what"):
        prof = recorded(on_trace_ready=torchtraceap.analyze)
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert torchtraceap.load(tmp_path / "trace.json")
    with pytest.raises(torchtraceap.TraceError, match="what went wrong"):
        torchtraceap.analyze(prof)


@pytest.mark.parametrize("wrong", [0, 1.5, "5"])
def test_a_wrong_option_in_a_handler_does_not_end_the_run(wrong: Any) -> None:
    with pytest.warns(RuntimeWarning, match="not analyzed: .*max_events must be"):
        prof = recorded(
            on_trace_ready=lambda p: torchtraceap.analyze(p, max_events=wrong)
        )
    with pytest.raises((ValueError, TypeError), match="max_events must be"):
        torchtraceap.analyze(prof, max_events=wrong)
    assert torchtraceap.analyze(prof).trace.events > 10


def test_as_the_handler_it_prints_what_nobody_would_see(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def own(prof: Any) -> None:
        torchtraceap.analyze(prof)

    plan = schedule(wait=0, warmup=1, active=1, repeat=2)
    for handler, printed in (
        (torchtraceap.analyze, 2),
        (lambda prof: torchtraceap.analyze(prof), 2),
        (partial(torchtraceap.analyze, quiet=True), 0),
        (own, 0),  # It has the report.
    ):
        with profile(activities=CPU, schedule=plan, on_trace_ready=handler) as prof:
            for _ in range(4):
                work()
                prof.step()
        out = capsys.readouterr().out
        assert out.count("torchtraceap: <profiler>\n") == printed
        assert out.count("Findings") == out.count("All of it: ") == printed
    torchtraceap.analyze(prof)
    assert capsys.readouterr().out == ""


def test_of_several_ranks_the_first_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in (1, 0):
        monkeypatch.setenv("RANK", str(rank))
        prof = recorded(on_trace_ready=torchtraceap.analyze)
        assert len(prof.torchtraceap_reports) == 1
        assert bool(capsys.readouterr().out) is (rank == 0)


def test_what_cannot_be_printed_does_not_end_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Full(io.StringIO):
        def write(self, text: str, /) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.warns(RuntimeWarning, match="could not be printed: .*No space left"):
        prof = recorded(on_trace_ready=torchtraceap.analyze)
    assert len(prof.torchtraceap_reports) == 1


def test_without_a_recorded_cycle_there_is_no_list() -> None:
    """Nothing of ours ran, so the docs tell to ask with getattr."""
    plan = schedule(wait=9, warmup=1, active=1)
    with profile(
        activities=CPU, schedule=plan, on_trace_ready=torchtraceap.analyze
    ) as prof:
        prof.step()
    assert getattr(prof, "torchtraceap_reports", []) == []


def test_several_profilers() -> None:
    profs = [recorded(), recorded()]
    reports = torchtraceap.analyze(profs)
    assert [prof.torchtraceap_reports for prof in profs] == [[r] for r in reports]


def test_an_export_before_on_an_older_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "is_repeatable", lambda export: False)
    prof = recorded()
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    with pytest.raises(RuntimeError, match="call analyze first"):
        torchtraceap.analyze(prof)


def test_damaged_names_after_an_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prof = recorded()
    prof.export_chrome_trace(str(tmp_path / "trace.json"))

    def damaged(*_: object) -> None:
        raise UnicodeDecodeError("utf-8", b"\xe0", 0, 1, "invalid")

    monkeypatch.setattr(
        "torch.profiler._chrome_trace_export.export_chrome_trace", damaged
    )
    with (
        pytest.warns(RuntimeWarning, match="Python export"),
        pytest.raises(RuntimeError, match="names in it are damaged"),
    ):
        torchtraceap.analyze(prof)


def test_damaged_names_do_no_harm(torch_forks: TorchForks, tmp_path: Path) -> None:
    """Importing in a region with stacks often gives frames with names of garbage."""
    code = """if True:
        import torch, torchtraceap
        from functools import partial
        from torch.profiler import ProfilerActivity, profile
        handler = partial(torchtraceap.analyze, quiet=True)
        with profile(activities=[ProfilerActivity.CPU], with_stack=True,
                     on_trace_ready=handler) as prof:
            import wsgiref.simple_server, xml.dom.minidom, html
            torch.ones(3).sum().item()
        print(prof.torchtraceap_reports[0].trace.events)
    """
    ended = torch_forks.run(code, cwd=tmp_path, warn="error")
    assert ended.code == 0, ended.err
    assert int(ended.out) > 100


def test_no_room_for_the_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kineto's one export is spent, and the user's own must work all the same."""
    prof = recorded()
    results = type(prof.profiler)
    with monkeypatch.context() as patch:
        patch.setattr(results, "export_chrome_trace", lambda self, path: None)
        with pytest.raises(OSError, match="is it full"):
            torchtraceap.analyze(prof)
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert torchtraceap.load(tmp_path / "trace.json")


def test_cupti_monitor_merges_into_the_kept_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That back end adds device events at each export; here a copy stands for it."""
    merge = "torch.profiler._cupti_monitor_trace.merge_trace_window_into_chrome_trace"
    monkeypatch.setattr(
        merge, lambda src, dst, window, trace_name: shutil.copy(src, dst)
    )
    prof = recorded()
    prof._use_cupti_monitor, prof._monitor_trace_window = True, {}
    report = torchtraceap.analyze(prof)
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert_same_events(report, tmp_path / "trace.json")
