# SPDX-License-Identifier: BSD-3-Clause
"""test_gpu_watch.py: the half of the checks for a machine with a GPU, as far as it runs
without one: what a report of such a run shows, and how it is made."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

import torchtraceap
import torchtraceap.waits.verdict
from torchtraceap.base.source_lines import Line, is_user_file, resolve
from torchtraceap.checking import gpu_watch, recording
from torchtraceap.checking.gpu_watch import line_at
from torchtraceap.checking.sync_check import SyncCheck, SyncStalls
from torchtraceap.waits.table import head_of
from torchtraceap.waits.verdict import Observation, decide

from . import other_project
from .torch_forks import TorchForks
from .trace_builder import call, frame, launched, op, trace_of

ITEM_HEAD = head_of("aten::_local_scalar_dense")
HERE = pathlib.Path(__file__).resolve()


# --- From a report of a GPU run --------------------------------------------------


def gpu_trace(*waits: int, lost: int = 0) -> bytes:
    """A step that launches a kernel and, for each wait (us), another and reads it.

    The last wait ends the step: nothing is launched after it. The last
    `lost` kernels are not in the trace.
    """
    calls, kernels, now = [], [], 10
    for n, wait in enumerate((0, *waits)):
        begin, end = now + 50, now + 50 + wait
        called, work = launched(2 * n + 1, now, now + 10, end - now - 12)
        calls.append(called)
        kernels.append(work)
        if wait:
            calls += [
                op("aten::_local_scalar_dense", begin - 5, wait + 10),
                call("cudaStreamSynchronize", begin, wait, 2 * n + 2),
            ]
        now = end + 10
    step = frame("train.py(7): step", 0, now)
    end = op("torchtraceap: end of no_sync_stalls", now, 1)
    return trace_of(step, end, *calls, *kernels[: len(kernels) - lost])


def observe(trace: bytes, line: Line | None = None, end_us: float = 1e9) -> Observation:
    report = torchtraceap.analyze(trace)
    return gpu_watch.from_report(report, lambda *_: line, int(1e3 * end_us))


def test_a_step_without_waits_passes() -> None:
    verdict = decide(observe(gpu_trace()))
    assert verdict.ok
    assert verdict.message.startswith("nothing waits for the GPU")


def test_a_wait_that_ends_the_step_fails_and_names_its_line() -> None:
    verdict = decide(observe(gpu_trace(400)))
    assert not verdict.ok
    first, place, what, *_ = verdict.message.splitlines()
    assert first.startswith(f"train.py:7 (where step begins): {ITEM_HEAD}")
    assert place.endswith(f"{ITEM_HEAD}  ×1, 400 µs blocked")
    assert ".item()" in what
    known = decide(observe(gpu_trace(400), Line("train.py", 12, "step")))
    assert known.message.startswith(f"train.py:12: {ITEM_HEAD} waits for")


def test_a_wait_after_the_end_is_not_the_step_s() -> None:
    # The profiler waits as it stops. The second of these two begins at 480 us.
    assert decide(observe(gpu_trace(300, 300), end_us=470), max_count=1).ok
    assert not decide(observe(gpu_trace(300, 300)), max_count=1).ok


@pytest.mark.parametrize(
    ("trace", "reason"),
    [
        (gpu_trace(*[20] * 9, lost=1), "1 launch comes after the last record"),
        (gpu_trace(*[20] * 9, lost=10), "launched device work 10 times"),
    ],
)
def test_a_recording_with_losses_cannot_be_judged(trace: bytes, reason: str) -> None:
    verdict = decide(observe(trace), over_us=1e9, max_count=99)
    assert not verdict.ok
    assert verdict.message.startswith("The recording cannot be judged: ")
    assert reason in verdict.message


def test_a_run_on_the_cpu_alone_cannot_be_judged(data: pathlib.Path) -> None:
    problem = observe((data / "cpu-macos-resnet18.json.gz").read_bytes()).problem
    assert problem == "Nothing was checked: the code ran nothing on the GPU."


def test_a_recorded_trace(slow_loader: torchtraceap.Report) -> None:
    observation = gpu_watch.from_report(slow_loader, lambda *_: None, 2**62)
    waits = slow_loader.core.blocking_calls
    assert len(observation.waits) == len(waits) > 0
    assert not decide(observation).ok
    assert decide(observation, over_us=1e9).ok


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
    from torchtraceap.checking import gpu_watch
    from torchtraceap.profiling import recorder

    def profile(activities: Any, **options: Any) -> Any:
        return torch.profiler.profile(activities=activities[:1], **options)

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(recorder, "profile", profile)
    return gpu_watch


def test_a_run_with_nothing_on_the_gpu(gpu_half: Any) -> None:
    with pytest.raises(SyncStalls, match="ran nothing on the GPU"), SyncCheck():
        torch.ones(3).sum().item()


def test_a_run_with_stalls(gpu_half: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    report = torchtraceap.analyze(gpu_trace(300, 400))
    monkeypatch.setattr(recording, "analyze", lambda profiler: report)
    with (
        pytest.raises(SyncStalls, match=r"×\d, [\d.]+ [mµ]?s blocked") as caught,
        SyncCheck(),
    ):
        for _ in range(5):
            torch.ones(3).sum().item()
    assert "Measured on the GPU" in str(caught.value)
    with SyncCheck(over_us=1000.0):
        torch.ones(3).sum().item()


# As `gpu_half`, and the first of all reports is that of a stored trace.
STANDS_IN = """
import torch, torchtraceap
from torchtraceap.checking import recording
from torchtraceap.profiling import recorder

real, stored = recording.analyze, [torchtraceap.analyze("gpu.json")]
torch.cuda.is_available = lambda: True
torch.cuda.synchronize = lambda: None
recorder.profile = lambda activities, **options: torch.profiler.profile(
    activities=activities[:1], **options)
recording.analyze = lambda profiler: stored.pop() if stored else real(profiler)
"""
TESTS = """
import pytest, torch

@pytest.mark.no_sync_stalls
def test_stalls(): torch.ones(3).sum().item()

def test_nothing(no_sync_stalls):
    with no_sync_stalls():
        torch.ones(3).sum().item()

def test_skips(no_sync_stalls):
    with no_sync_stalls(unknown="skip"):
        torch.ones(3).sum().item()
"""
OF_TESTS: other_project.Table = {
    "test_stalls": other_project.failed(
        f"*: {ITEM_HEAD} waits for *[[]no_sync_stalls[]]",
        f"  * {ITEM_HEAD}  ×2, 700 µs blocked",
        "FAILED no_sync_stalls [[]GPU: calls that blocked the CPU[]]",
        "Measured on the GPU*",
    ),
    "test_nothing": other_project.failed(
        "Nothing was checked: the code ran nothing on the GPU. *"
    ),
    "test_skips": ("skipped", []),
}


def test_the_fixture_shows_what_was_measured(
    gpu_half: Any, torch_forks: TorchForks, tmp_path: pathlib.Path
) -> None:
    files = {"conftest.py": STANDS_IN, "test_it.py": TESTS}
    files["gpu.json"] = gpu_trace(300, 400).decode()
    ran = other_project.run(torch_forks, tmp_path, files)
    ran.is_as(OF_TESTS)
    ran.says("Checks that could not be made, of 2 tests:")
    assert ran.properties["test_stalls"]["wasted_us"] == "700.0"


def test_what_the_profiler_does_at_the_end_is_not_judged(
    gpu_half: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = {}

    def see(report: torchtraceap.Report, line_of: Any, end_ns: int) -> Observation:
        trace = report.loaded
        for row, start in enumerate(trace.columns["ts"].tolist()):
            seen[trace.name(row).rpartition(": ")[2]] = start
        seen["end"] = end_ns
        return Observation((), "")

    monkeypatch.setattr(gpu_half, "from_report", see)
    with SyncCheck():
        torch.ones(3).sum().item()
    assert seen["aten::item"] < seen["end"] < seen["stop_trace"]


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
    trace = torchtraceap.analyze(prof).loaded
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
        # The profiler does not see the call of float(): it knows only the function.
        ("aten::_local_scalar_dense", 0, False),
    ]
    assert line_at(roots, base, "aten::nonzero") is None


def test_user_files() -> None:
    import numpy

    assert is_user_file(str(HERE))
    for module in (json, numpy, torchtraceap.waits.verdict):
        assert not is_user_file(module.__file__)
    for file in ("<string>", "json/decoder.py", "torch/nn/modules/module.py"):
        assert not is_user_file(file)
    assert resolve("json/decoder.py") == json.decoder.__file__
