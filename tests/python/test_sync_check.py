# SPDX-License-Identifier: BSD-3-Clause
"""test_sync_check.py: what waits for a GPU, where, and when that is too much."""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import pytest

import torchtraceap
from torchtraceap import sync_check
from torchtraceap.source_lines import Line, is_user_file, resolve
from torchtraceap.sync_check import Observation, Stall, SyncCheck, SyncStalls, decide

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
    ["nonzero", "aten::nonzero", "aten::non*", "kind", "train.py", "train.py:88"]
    + ["/home/me/train.py:88", "*/me/*"],
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
    assert sync_check.PATTERN in {p.name for p in torchtraceap._core.patterns()}


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
    (found,) = sync_check.from_report(report)
    assert found.operator == "aten::_local_scalar_dense"
    assert (found.line, found.count) == (Line("train.py", 7, "step", False), 3)
    assert found.wasted_us == pytest.approx(3 * 500, rel=0.1)
    verdict = decide(Observation((found,), ""))
    assert "train.py:7 (where step begins)" in verdict.message
    assert "×3, 1,5" in verdict.message
    assert decide(Observation((found,), ""), over_us=600.0).ok


def test_a_finding_falls_apart_into_its_lines() -> None:
    report = torchtraceap.analyze(gpu_trace(waits=3))
    lines = iter([Line("train.py", 12, "step"), Line("train.py", 12, "step"), None])
    stalls = sync_check.from_report(report, lambda finding, event: next(lines))
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
    stalls = sync_check.from_report(report)
    wasted = sum(f.wasted_us for f in report.findings if f.pattern == "sync_stall")
    assert sum(s.wasted_us or 0 for s in stalls) == pytest.approx(wasted)
    assert not decide(Observation(stalls, "")).ok
    assert decide(Observation(stalls, ""), over_us=1e9).ok


# --- Recorded on a machine without a GPU -----------------------------------------

torch = pytest.importorskip("torch")

if torch.cuda.is_available():
    pytest.skip("these watch a run without a GPU", allow_module_level=True)


def lines_of(code: Callable[[], object], **options: Any) -> list[tuple[str, int]]:
    """Operators that would wait, with their line counted from that of `code`."""
    check = SyncCheck(**options)
    try:
        with check:
            code()
    except SyncStalls:
        pass
    assert check.verdict is not None
    first = code.__code__.co_firstlineno  # type: ignore[attr-defined]
    found = []
    for one in check.verdict.stalls:
        assert one.line is not None and one.line.file == str(HERE), one
        found += [(one.operator.removeprefix("aten::"), one.line.line - first)]
    return sorted(found, key=lambda pair: pair[1])


def test_lines_are_exact_also_where_nothing_is_called() -> None:
    def code() -> None:
        x = torch.randn(8)
        if x.sum() > 0:
            float(x[0])
        x[x > 0]
        print(x)
        (
            x
            .sum()
            .item()
        )  # fmt: skip

    scalar = "_local_scalar_dense"
    assert [pair for pair in lines_of(code) if pair[1] != 3] == [
        (scalar, 2),
        ("index", 4),
        ("Tensor.__repr__", 5),
        (scalar, 9 if sys.version_info >= (3, 11) else 7),
    ]


WAITS = {
    "item": lambda x: x[0].item(),
    "bool": lambda x: bool(x[0] > 0),
    "where": lambda x: torch.where(x > 0),
    "masked_select": lambda x: x.masked_select(x > 0),
    "index_put": lambda x: x.__setitem__(x > 0, x[:1].expand(int(8))[x > 0]),
    "unique": torch.unique,
    "unique_consecutive": torch.unique_consecutive,
    "repeat_interleave": lambda x: x.repeat_interleave(torch.ones(8).long()),
    "bincount": lambda x: torch.bincount(torch.ones(3).long()),
    "equal": lambda x: torch.equal(x, x),
    "allclose": lambda x: torch.allclose(x, x),
    "inv": lambda x: torch.linalg.inv(torch.eye(3)),
    "eigh": lambda x: torch.linalg.eigh(torch.eye(3)),
    "format": lambda x: f"{x[0]:.2f}",
    "clip": lambda x: torch.nn.utils.clip_grad_norm_([x], 1.0, error_if_nonfinite=True),
}
DOES_NOT_WAIT = {
    "fill by mask": lambda x: x.__setitem__(x > 0, 1.0),
    "index by numbers": lambda x: x[torch.ones(3).long()],
    "repeat_interleave": lambda x: x.repeat_interleave(
        torch.ones(8).long(), output_size=8
    ),
    "repeat_interleave by number": lambda x: x.repeat_interleave(2),
    "where with values": lambda x: torch.where(x > 0, x, 0),
    "all": lambda x: torch.isfinite(x).all(),
    "inv_ex": lambda x: torch.linalg.inv_ex(torch.eye(3)),
    "multinomial": lambda x: torch.multinomial(x.abs() + 1, 2),
    "clip": lambda x: torch.nn.utils.clip_grad_norm_([x], 1.0),
}


def fresh() -> Any:
    x = torch.randn(8)
    x.grad = torch.randn(8)
    return x


@pytest.mark.parametrize("name", WAITS)
def test_waits(name: str) -> None:
    x = fresh()
    with pytest.raises(SyncStalls), SyncCheck():
        WAITS[name](x)


@pytest.mark.parametrize("name", DOES_NOT_WAIT)
def test_does_not_wait(name: str) -> None:
    x = fresh()
    with SyncCheck():
        DOES_NOT_WAIT[name](x)


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "RMSprop", "NAdam"])
def test_a_whole_training_step_is_clean(optimizer: str) -> None:
    """Step counters and samplers read values too, but of tensors on the CPU."""
    model = torch.nn.Linear(4, 1)
    data = torch.utils.data.TensorDataset(torch.randn(8, 4))
    opt = getattr(torch.optim, optimizer)(model.parameters(), lr=0.1)
    with SyncCheck() as check:
        for (x,) in torch.utils.data.DataLoader(data, batch_size=4, shuffle=True):
            model(x).pow(2).mean().backward()
            opt.step()
            opt.zero_grad()
    assert check.verdict is not None
    assert "by the data loader" in check.verdict.message


def test_backward_has_the_line_that_called_it() -> None:
    class Reads(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            grad.item()
            return grad

    def code() -> None:
        Reads.apply(torch.ones((), requires_grad=True)).backward()

    offset = Reads.backward.__code__.co_firstlineno + 2 - code.__code__.co_firstlineno
    assert lines_of(code) == [("_local_scalar_dense", offset)]


def test_compiled_code_stays_compiled() -> None:
    compiled: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        compiled.append(graph)
        return graph.forward

    @torch.compile(backend=backend, fullgraph=True)
    def whole(x: Any) -> Any:
        return (x @ x).relu()

    @torch.compile(backend=backend)
    def broken(x: Any) -> Any:
        return x * x.sum().item()

    with SyncCheck():
        whole(torch.ones(2, 2))
    assert compiled
    with pytest.raises(SyncStalls, match=HERE.name):
        with SyncCheck():
            broken(torch.ones(2, 2))


def test_warmup() -> None:
    with SyncCheck(warmup=1) as check:
        torch.ones(3).sum().item()
        check.step()
        torch.ones(3).sum()
    with pytest.raises(SyncStalls), SyncCheck(warmup=1) as check:
        check.step()
        torch.ones(3).sum().item()
    with pytest.raises(ValueError, match="nothing was checked"):
        with SyncCheck(warmup=2) as check:
            check.step()


def test_errors_of_the_code_come_through_and_all_is_undone() -> None:
    to_text = torch._tensor_str._str
    with pytest.raises(KeyError), SyncCheck():
        torch.ones(3).sum().item()
        raise KeyError
    assert torch._tensor_str._str is to_text
    with SyncCheck() as check:
        pass
    torch.ones(3).sum().item()
    assert check.verdict is not None and check.verdict.ok


def test_the_code_may_use_a_profiler() -> None:
    with SyncCheck():
        with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU]
        ) as prof:
            torch.ones(3).sum()
    assert torchtraceap.analyze(prof).trace.events


# --- Lines from the event tree, which a run on a GPU has -------------------------


def test_line_of_a_call_in_the_event_tree() -> None:
    from torchtraceap.call_lines import line_at

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
    assert not any(
        map(
            is_user_file,
            [json.__file__, numpy.__file__, torch.__file__, sync_check.__file__]
            + ["<string>", "json/decoder.py", "torch/nn/modules/module.py"],
        )
    )
    assert resolve("json/decoder.py") == json.decoder.__file__
