# SPDX-License-Identifier: BSD-3-Clause
"""test_sync_verdict.py: when waits for the GPU are too much, and what is said of them.

Also the half for a machine with a GPU, as far as it runs without one.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

import torchtraceap
from torchtraceap import sync_verdict
from torchtraceap.call_lines import line_at
from torchtraceap.source_lines import Line, is_user_file, resolve
from torchtraceap.sync_check import SyncCheck, SyncStalls
from torchtraceap.sync_verdict import Observation, Stall, decide

HERE = pathlib.Path(__file__).resolve()
SHARED = HERE.parents[3] / "shared" / "traces"


def stall(
    line: int = 1, count: int = 1, wasted_us: float | None = None, **more: Any
) -> Stall:
    where = Line("/home/me/train.py", line, "step")
    return Stall(where, "aten::nonzero", count, wasted_us, "what", "advice", **more)


def passes(*stalls: Stall, **options: Any) -> bool:
    return decide(Observation(stalls, "scope"), **options).ok


# --- The decision, without torch and pytest --------------------------------------


def test_nothing_passes_and_something_does_not() -> None:
    assert passes()
    assert not passes(stall())


def test_max_count_counts_calls_not_places() -> None:
    assert passes(stall(1, count=2), stall(2), max_count=3)
    assert not passes(stall(1, count=2), stall(2), max_count=2)


def test_over_us_is_the_mean_and_needs_times() -> None:
    assert passes(stall(count=4, wasted_us=190.0), over_us=50.0)
    assert not passes(stall(count=4, wasted_us=200.0), over_us=50.0)
    assert not passes(stall(wasted_us=None), over_us=1e9)


@pytest.mark.parametrize(
    "allowed",
    [
        "nonzero",
        "aten::nonzero",
        "aten::non*",
        "kind",
        "train.py",
        "train.py:88",
        "/home/me/train.py:88",
        "*/me/*",
    ],
)
def test_allow(allowed: str) -> None:
    assert passes(stall(88, names=("kind",)), allow=[allowed])


@pytest.mark.parametrize("not_allowed", ["rain.py", "train.py:8", "non", ""])
def test_allow_takes_whole_names(not_allowed: str) -> None:
    assert not passes(stall(88), allow=[not_allowed])


def test_message() -> None:
    stalls = (stall(7, 2), stall(9, 1, 99.5), stall(3, names=("fine",)))
    verdict = decide(Observation(stalls, "What was checked."), allow=["fine"])
    assert verdict.message.splitlines() == [
        "/home/me/train.py:9: aten::nonzero and 1 more wait for the GPU (max_count=0)",
        "  /home/me/train.py:9  aten::nonzero  ×1, 100 µs idle",
        "      what",
        "      instead: advice",
        "  /home/me/train.py:7  aten::nonzero  ×2",
        "  and 1 that are allowed or shorter than over_us",
        "What was checked.",
    ]


def test_a_run_that_shows_nothing_fails() -> None:
    verdict = decide(Observation((), "", problem="Nothing was checked."), max_count=9)
    assert not verdict.ok
    assert "Nothing was checked." in verdict.message


@pytest.mark.parametrize(
    "options", [{"over_us": -1}, {"max_count": -1}, {"warmup": -1}, {"allow": "item"}]
)
def test_wrong_options_are_named(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        SyncCheck(**options)


# --- From a report of a GPU run --------------------------------------------------


def test_the_pattern_is_in_the_table() -> None:
    assert sync_verdict.PATTERN in {p.name for p in torchtraceap._core.patterns()}


def gpu_trace(waits: int) -> bytes:
    """A step that launches, waits and reads, so that the device idles 400 us each."""
    events: list[dict[str, Any]] = [
        {"cat": "python_function", "name": "train.py(7): step", "ts": 0, "pid": 1,
         "tid": 1, "dur": 1000 * waits, "args": {"Python id": 1}},
    ]  # fmt: skip
    for n in range(waits + 1):
        t = 1000 * n
        host = {"pid": 1, "tid": 1}
        launch = {"correlation": 2 * n + 1, "External id": 2 * n + 1}
        events += [
            {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": t + 10, "dur": 5,
             "args": launch, **host},
            {"cat": "kernel", "name": "k", "ts": t + 20, "dur": 500, "pid": 0, "tid": 7,
             "args": {"device": 0, "stream": 7, **launch}},
            {"cat": "cpu_op", "name": "aten::_local_scalar_dense", "ts": t + 100,
             "dur": 430, "args": {"External id": 2 * n + 2}, **host},
            {"cat": "cuda_runtime", "name": "cudaStreamSynchronize", "ts": t + 110,
             "dur": 415, "args": {"correlation": 2 * n + 2}, **host},
        ]  # fmt: skip
    return json.dumps({"traceEvents": [{"ph": "X", **e} for e in events]}).encode()


def test_stalls_of_a_report() -> None:
    report = torchtraceap.analyze(gpu_trace(waits=3))
    (found,) = sync_verdict.from_report(report)
    assert found.operator == "aten::_local_scalar_dense"
    assert (found.line, found.count) == (Line("train.py", 7, "step", False), 3)
    assert found.wasted_us == sum(f.wasted_us for f in report.findings if f.operator)
    assert 3 * 300 < found.wasted_us <= 3 * 500
    verdict = decide(Observation((found,), ""))
    assert "train.py:7 (where step begins)  aten::_local_scalar" in verdict.message
    assert decide(Observation((found,), ""), over_us=500.0).ok


def test_a_finding_falls_apart_into_its_lines() -> None:
    report = torchtraceap.analyze(gpu_trace(waits=3))
    lines = iter([Line("train.py", 12, "step"), Line("train.py", 12, "step"), None])
    stalls = sync_verdict.from_report(report, lambda finding, event: next(lines))
    assert [(s.line.line, s.line.exact, s.count) for s in stalls if s.line] == [
        (12, True, 2),
        (7, False, 1),
    ]
    total = sum(s.wasted_us or 0 for s in stalls)
    assert total == pytest.approx(sum(f.wasted_us for f in report.findings))


def test_a_recorded_trace() -> None:
    path = SHARED / "kineto2021-resnet50-autograd-catnames.json.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not at hand")
    report = torchtraceap.analyze(path)
    stalls = sync_verdict.from_report(report)
    wasted = sum(f.wasted_us for f in report.findings if f.pattern == "sync_stall")
    assert sum(s.wasted_us or 0 for s in stalls) == pytest.approx(wasted)
    assert not decide(Observation(stalls, "")).ok
    assert decide(Observation(stalls, ""), over_us=1e9).ok


# --- The half for a GPU, as far as it runs without one ---------------------------

try:
    import torch
except ImportError:
    torch = None
needs_torch = pytest.mark.skipif(torch is None, reason="torch is not installed")


@pytest.fixture
def gpu_half(monkeypatch: pytest.MonkeyPatch) -> Any:
    if torch is None or torch.cuda.is_available():
        pytest.skip("this needs torch and stands in for a GPU")
    from torchtraceap import sync_run

    def profile(activities: Any, **options: Any) -> Any:
        return torch.profiler.profile(activities=activities[:1], **options)

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(sync_run, "profile", profile)
    return sync_run


def test_a_run_with_nothing_on_the_gpu(gpu_half: Any) -> None:
    with pytest.raises(SyncStalls, match="ran nothing on the GPU"), SyncCheck():
        torch.ones(3).sum().item()


def test_a_run_with_stalls(gpu_half: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    report = torchtraceap.analyze(gpu_trace(waits=3))
    monkeypatch.setattr(gpu_half, "analyze", lambda trace: report)
    with pytest.raises(SyncStalls, match=r"×\d, \d+ µs idle") as caught, SyncCheck():
        for _ in range(5):
            torch.ones(3).sum().item()
    assert "Measured on the GPU" in str(caught.value)
    with SyncCheck(over_us=1000.0):
        torch.ones(3).sum().item()


def test_a_profiler_inside_and_outside(gpu_half: Any) -> None:
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with (
        pytest.raises(SyncStalls, match="uses torch's profiler itself"),
        SyncCheck(),
        torch.profiler.profile(activities=cpu),
    ):
        torch.ones(3).sum()
    with (
        torch.profiler.profile(activities=cpu) as prof,
        pytest.raises(RuntimeError, match="a profiler is running already"),
        SyncCheck(),
    ):
        pass
    assert torchtraceap.analyze(prof).trace.events
    assert not torch.autograd._profiler_enabled()


def test_an_error_inside_stops_the_profiler(gpu_half: Any) -> None:
    with pytest.raises(KeyError), SyncCheck():
        raise KeyError
    assert not torch.autograd._profiler_enabled()


# --- Lines from the event tree, which a run on a GPU has -------------------------


@needs_torch
def test_line_of_a_call_in_the_event_tree() -> None:
    def step() -> None:
        x = torch.randn(8)
        x.sum().item()
        torch.nonzero(x)
        float(x[0])

    first = step.__code__.co_firstlineno
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], with_stack=True
    ) as prof:
        step()
    trace = torchtraceap.analyze(prof)._trace
    base = int(trace.metadata["baseTimeNanoseconds"])
    roots = prof.profiler.kineto_results.experimental_event_tree()
    found = []
    for row, start in enumerate(trace.columns["ts"].tolist()):
        name = trace.name(row)
        if name in ("aten::_local_scalar_dense", "aten::nonzero"):
            line = line_at(roots, base + start, name)
            assert line is not None and line.file == str(HERE)
            found.append((name, line.line - first, line.exact))
    assert found == [
        ("aten::_local_scalar_dense", 2, True),
        ("aten::nonzero", 3, True),
        # float() is no call that the profiler sees: all it knows is the function.
        ("aten::_local_scalar_dense", 0, False),
    ]
    assert line_at(roots, base, "aten::nonzero") is None


def test_user_files() -> None:
    import numpy

    assert is_user_file(str(HERE))
    for module in (json, numpy, sync_verdict):
        assert not is_user_file(module.__file__)
    for file in ("<string>", "json/decoder.py", "torch/nn/modules/module.py"):
        assert not is_user_file(file)
    assert resolve("json/decoder.py") == json.decoder.__file__
