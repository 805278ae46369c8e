# SPDX-License-Identifier: BSD-3-Clause
"""test_live_comm_compile.py: collectives and compiled functions, recorded live.

Each workload has a twin that does the same the right way. The wrong way is made to
cost most of the recording, whatever else the machine does meanwhile.
"""

from __future__ import annotations

import inspect
import itertools
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import torchtraceap

torch = pytest.importorskip("torch")
dist = pytest.importorskip("torch.distributed")
from torch.profiler import ProfilerActivity, profile  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # torch's own, of many kinds
    pytest.mark.verify,
]

ROUNDS = 3


def recorded(work: Callable[[], Any], stack: bool = True) -> torchtraceap.Report:
    with profile(activities=[ProfilerActivity.CPU], with_stack=stack) as prof:
        work()
    return torchtraceap.analyze(prof)


def found(report: torchtraceap.Report, pattern: str) -> list[torchtraceap.Finding]:
    return [f for f in report.findings if f.pattern == pattern]


def line_of(function: Callable[..., Any], text: str = "def ") -> int:
    """Returns the number of the first line of a function that holds a text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


# --- Collectives over gloo, with a second rank in a process of its own -----------

WAIT = timedelta(seconds=120)

# The other rank: 50 ms late after each word of the first that it is about to wait, then
# prompt.
OTHER_RANK = f"""
    import sys, time
    from datetime import timedelta
    import torch
    import torch.distributed as dist

    dist.init_process_group(
        "gloo", init_method=sys.argv[1], rank=1, world_size=2,
        timeout=timedelta(seconds={WAIT.seconds}),
    )
    words = dist.FileStore(sys.argv[2], 2)
    gradient = torch.ones(100_000)
    dist.barrier()
    for number in range(3 * {ROUNDS}):
        if number < 2 * {ROUNDS}:
            words.get(str(number))
            time.sleep(0.05)
        dist.all_reduce(gradient)
    dist.barrier()
    dist.destroy_process_group()
"""


def compute(rounds: int = 1) -> None:
    x = torch.ones(64, 64)
    for _ in range(rounds):
        x = (x @ x).clamp(max=1)


def reduce_and_wait(gradient: Any, say: Callable[[], None]) -> None:
    for _ in range(ROUNDS):
        compute()
        say()
        dist.all_reduce(gradient)


def reduce_beside_work(gradient: Any) -> None:
    for _ in range(ROUNDS):
        work = dist.all_reduce(gradient, async_op=True)
        while not work.is_completed():
            compute(50)
        work.wait()


@pytest.fixture(scope="module")
def reductions(tmp_path_factory: Any) -> Iterator[dict[str, torchtraceap.Report]]:
    """The reports of the first rank: waiting with and without frames, and beside."""
    if not (dist.is_available() and dist.is_gloo_available()):
        pytest.skip("this torch was built without gloo")
    if dist.is_initialized():
        pytest.skip("the process is in a process group already")
    folder = tmp_path_factory.mktemp("gloo")
    method, said = (folder / "store").as_uri(), str(folder / "words")
    script = textwrap.dedent(OTHER_RANK)
    other = subprocess.Popen([sys.executable, "-c", script, method, said])
    words = dist.FileStore(said, 2)
    numbers = itertools.count()

    def say() -> None:
        words.set(str(next(numbers)), "waiting")

    try:
        dist.init_process_group(
            "gloo", init_method=method, rank=0, world_size=2, timeout=WAIT
        )
        gradient = torch.ones(100_000)
        dist.barrier()
        yield {
            "waits": recorded(lambda: reduce_and_wait(gradient, say)),
            "waits, no frames": recorded(lambda: reduce_and_wait(gradient, say), False),
            "beside": recorded(lambda: reduce_beside_work(gradient)),
        }
        dist.barrier()
        assert other.wait(WAIT.seconds) == 0
    finally:
        other.kill()
        if dist.is_initialized():
            dist.destroy_process_group()


def test_a_collective_that_is_waited_for(reductions: Any) -> None:
    (finding,) = found(reductions["waits"], "comm_exposed")
    assert finding.count == ROUNDS
    assert finding.wasted_us > ROUNDS * 20_000  # the other rank sleeps 50 ms
    assert Path(finding.location.file).name == Path(__file__).name
    assert finding.location.function == "reduce_and_wait"
    assert finding.location.recorded_line == line_of(reduce_and_wait)
    assert finding.operator == "c10d::allreduce_"


@pytest.mark.parametrize("name", ["waits", "waits, no frames", "beside"])
def test_threads_wait_for_collectives(reductions: Any, name: str) -> None:
    """The main thread's waits are those of comm_exposed; gloo's have its ranges."""
    report = reductions[name]
    exposed_us = report.balance[0].idle_us["comm_exposed"]
    main = max(report.threads, key=lambda thread: thread.operators_us)
    backend = [t for t in report.threads if t.wait_comm_us and t is not main]
    assert all(thread.busy_us == 0 for thread in backend)
    if name == "beside":
        assert main.wait_comm_us < main.busy_us
    else:
        assert main.wait_comm_us == pytest.approx(exposed_us, abs=0.01 * exposed_us)
        assert sum(t.wait_comm_us for t in backend) > ROUNDS * 20_000


def test_a_collective_beside_work(reductions: Any) -> None:
    assert not found(reductions["beside"], "comm_exposed")


# --- Compiled functions -------------------------------------------------------------


def with_breaks(x: Any) -> Any:
    x = torch.sin(x)
    if x.sum().item() > 100:
        x = x + 1
    return torch.cos(x)


def without_breaks(x: Any) -> Any:
    x = torch.sin(x)
    x = torch.where(x.sum() > 100, x + 1, x)
    return torch.cos(x)


def with_a_print(x: Any) -> Any:
    x = torch.sin(x)
    print(f"mean {x.mean()}")
    return torch.cos(x)


def warm(function: Callable[..., Any], backend: str) -> Callable[[], None]:
    """Compiles a function; returns a call of what is compiled by then."""
    torch._dynamo.reset()
    compiled = torch.compile(function, backend=backend)
    x = torch.ones(16)
    for _ in range(2):
        compiled(x)

    def run() -> None:
        for _ in range(20):
            compiled(x)

    return run


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    ("function", "culprit"), [(with_breaks, ".item()"), (with_a_print, "print(f")]
)
def test_a_graph_that_breaks(
    function: Callable[..., Any], culprit: str, backend: str, capsys: Any
) -> None:
    report = recorded(warm(function, backend))
    finding, *_ = found(report, "graph_break")
    assert finding.count == 20
    assert Path(finding.location.file).name == Path(__file__).name
    assert finding.location.line == line_of(function, culprit)
    assert function.__name__ in finding.location.function


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("stack", [True, False])
def test_one_graph(backend: str, stack: bool) -> None:
    report = recorded(warm(without_breaks, backend), stack)
    assert not found(report, "graph_break")


def test_functions_compiled_apart() -> None:
    first = warm(without_breaks, "eager")
    x = torch.ones(16)
    second = torch.compile(torch.tanh, backend="eager")
    second(x)

    def run() -> None:
        for _ in range(5):
            first()
            torch.exp(x)
            second(x)

    assert not found(recorded(run), "graph_break")


# --- Compiling again ----------------------------------------------------------------


def call_with_new_shapes(compiled: Callable[..., Any]) -> None:
    for size in range(20, 24):
        compiled(torch.ones(size))


@pytest.mark.parametrize("dynamic", [False, True])
def test_shapes_that_change(dynamic: bool) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(without_breaks, backend="eager", dynamic=dynamic)
    for size in (17, 18):  # warm: with dynamic=True one graph is for all sizes
        compiled(torch.ones(size))
    report = recorded(lambda: call_with_new_shapes(compiled))
    findings = found(report, "recompile_or_lazy_load")
    if dynamic:
        assert not findings
        return
    assert findings[0].subtype == "recompile"
    assert findings[0].count == 4
    assert findings[0].location.function == "call_with_new_shapes"
    assert findings[0].location.recorded_line == line_of(call_with_new_shapes)
    assert not found(report, "graph_break")
