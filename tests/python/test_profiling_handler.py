# SPDX-License-Identifier: BSD-3-Clause
"""test_profiling_handler.py: live profilers, whose own exports keep working."""

from __future__ import annotations

import gc
import gzip
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import torchtraceap

torch = pytest.importorskip("torch")
from torch.profiler import (  # noqa: E402
    profile,
    schedule,
    tensorboard_trace_handler,
)

from .small_work import (  # noqa: E402
    CPU,
    NEEDS_PYTHON_EXPORT,
    SEVERAL_CYCLES,
    recorded,
    work,
)

pytestmark = SEVERAL_CYCLES


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


@NEEDS_PYTHON_EXPORT
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


@NEEDS_PYTHON_EXPORT
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


@pytest.mark.parametrize("analyzed", [1, 2])
def test_accumulating_cycles_export_the_newest(tmp_path: Path, analyzed: int) -> None:
    """Also if that one was not analyzed."""

    def handler(prof: Any) -> None:
        if len(vars(prof).get("torchtraceap_reports", [])) < analyzed:
            torchtraceap.analyze(prof)

    plan = schedule(wait=0, warmup=1, active=1, repeat=2)
    last = tmp_path / "last.json"
    with profile(
        activities=CPU, schedule=plan, on_trace_ready=handler, acc_events=True
    ) as prof:
        for _ in range(4):
            work()
            prof.step()
    prof.export_chrome_trace(str(last))
    reports = prof.torchtraceap_reports
    assert [r.steps[0].number for r in reports] == [1, 3][:analyzed]
    assert [step.number for step in torchtraceap.analyze(last).steps] == [3]
    if analyzed == 2:
        assert_same_events(reports[-1], last)


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


@pytest.mark.skipif(
    torch.__version__ < (2, 13), reason="this torch has no such back end"
)
def test_cupti_monitor_merges_into_the_kept_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That back end adds device events at each export; here a copy replaces it."""
    merge = "torch.profiler._cupti_monitor_trace.merge_trace_window_into_chrome_trace"
    monkeypatch.setattr(
        merge, lambda src, dst, window, trace_name: shutil.copy(src, dst)
    )
    prof = recorded()
    prof._use_cupti_monitor, prof._monitor_trace_window = True, {}
    report = torchtraceap.analyze(prof)
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert_same_events(report, tmp_path / "trace.json")


# --- Cuspy, torch 2.15's own writer of what devices did -------------------------------


class Observer:
    """Holds what devices did, until it is exported once."""

    __module__ = "torch.profiler._cuspy.observers.profiler"


DEVICE_EVENT = '{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1}'


class CuspyProfile(profile):
    """A profiler with the export of torch 2.15, which merges once and may be late."""

    late: tuple[str, str] | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.observer: Observer | None = Observer()
        self.annotated: list[str] = []

    def export_chrome_trace(
        self,
        path: str,
        use_python_export: bool = False,
        cuda_graph_annotations: Any = None,
        graph_lanes: str = "none",
        default_stream: int = 7,
    ) -> None:
        if cuda_graph_annotations:
            self.annotated.append(path)
        elif self.observer is not None:
            self.observer = None
            self.late = path, path + ".cpu"
            self.profiler.export_chrome_trace(path + ".cpu")

    def wait_for_exports(self) -> None:
        if self.late is None:
            return
        (path, source), self.late = self.late, None
        text = Path(source).read_text()
        list_start = text.index('"traceEvents": [') + len('"traceEvents": [')
        Path(path).write_text(
            text[:list_start] + DEVICE_EVENT + "," + text[list_start:]
        )


def cuspy_recorded(**options: Any) -> Any:
    with CuspyProfile(activities=CPU, **options) as prof:
        work()
    return prof


@pytest.mark.parametrize("handler", [None, torchtraceap.analyze])
def test_cuspy_merges_once(tmp_path: Path, handler: Any) -> None:
    prof = cuspy_recorded(on_trace_ready=handler)
    if handler is None:
        torchtraceap.analyze(prof)
    (report,) = prof.torchtraceap_reports
    assert "k" in report.loaded.strings
    for name in ("a.json", "b.json.gz"):
        prof.export_chrome_trace(str(tmp_path / name))
        assert_same_events(report, tmp_path / name)
    assert read(tmp_path / "b.json.gz")["traceName"] == str(tmp_path / "b.json.gz")


def test_annotations_of_graphs_are_torchs_own_export(tmp_path: Path) -> None:
    prof = cuspy_recorded(on_trace_ready=torchtraceap.analyze)
    path = str(tmp_path / "trace.json")
    prof.export_chrome_trace(path, cuda_graph_annotations={1: {"name": "attention"}})
    assert prof.annotated == [path]


def test_what_cuspy_cannot_write_again(tmp_path: Path) -> None:
    prof = cuspy_recorded(on_trace_ready=torchtraceap.analyze)
    with pytest.warns(UserWarning, match="JSON only"):
        prof.export_chrome_trace(str(tmp_path / "trace.pftrace.gz"))
    assert list(tmp_path.iterdir()) == []


def test_cuspys_export_came_first(tmp_path: Path) -> None:
    prof = cuspy_recorded()
    prof.export_chrome_trace(str(tmp_path / "mine.json"))
    prof.wait_for_exports()
    prof._use_cupti_monitor = True  # as torch 2.14 says which back end it was
    with pytest.raises(RuntimeError, match="only once"):
        torchtraceap.analyze(prof)


def test_activities_with_their_settings_reach_torch() -> None:
    """torch 2.15 configures Cuspy inside of them."""
    seen: list[Any] = []

    class Torchs(profile):
        def __init__(self, *, activities: Any, **options: Any) -> None:
            seen.append(activities)
            super().__init__(activities=CPU, **options)

    settings = {torch.profiler.ProfilerActivity.CUDA: object()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("torchtraceap.profiling.recorder.profile", Torchs)
        for given in ([*CPU, settings], settings):
            with torchtraceap.profile(wait=0, warmup=0, quiet=True, activities=given):
                work()
    assert seen == [[*CPU, settings], settings]
