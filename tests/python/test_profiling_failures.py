# SPDX-License-Identifier: BSD-3-Clause
"""test_profiling_failures.py: what goes wrong as a live profiler is analyzed, and that
it never ends the run."""

from __future__ import annotations

import io
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.analysis_plan import AnalysisPlan
from torchtraceap.profiling import live

torch = pytest.importorskip("torch")
from torch.profiler import (  # noqa: E402
    profile,
    schedule,
)

from .small_work import (  # noqa: E402
    CPU,
    NEEDS_PYTHON_EXPORT,
    SEVERAL_CYCLES,
    recorded,
    work,
)
from .torch_forks import TorchForks  # noqa: E402

pytestmark = SEVERAL_CYCLES


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


@torchtraceap.rule(side="cpu", summary="Slow.", advice="Do less.")
def fails(view: torchtraceap.RuleView) -> Any:
    return 1 / 0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_events": 0}, ValueError, "max_events must be"),
        ({"max_events": "5"}, TypeError, "max_events must be"),
        ({"config": {"patterns": {"sync": {}}}}, ValueError, "no such pattern"),
        ({"rules": [fails]}, torchtraceap.RuleError, "the rule fails failed"),
    ],
)
def test_a_wrong_option_in_a_handler_does_not_end_the_run(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.warns(RuntimeWarning, match=f"not analyzed: .*{message}"):
        prof = recorded(on_trace_ready=lambda p: torchtraceap.analyze(p, **options))
    with pytest.raises(error, match=message):
        torchtraceap.analyze(prof, **options)
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
        assert out.count("CPU only") == out.count(": print(prof.torch") == printed
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


@NEEDS_PYTHON_EXPORT
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


@NEEDS_PYTHON_EXPORT
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
