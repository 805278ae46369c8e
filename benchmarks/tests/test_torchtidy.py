# SPDX-License-Identifier: BSD-3-Clause
"""test_torchtidy.py: the same recordings, judged by torch's own matcher and by us.

``torch.profiler._pattern_matcher`` (TorchTidy) looks at a live profiler's events and
fires on what they are called; we read the trace that the same profiler exported and
fire on the cost. Six of its eight patterns can be decided on a CPU:

=============================  ===================  ====================================
torch                          here                 where the two differ, and why
=============================  ===================  ====================================
OptimizerSingleTensor          unfused_optimizer    torch knows Adam, AdamW and SGD and
                                                    needs Python frames; we take every
                                                    optimizer of torch's, and no frames.
                                                    We are silent for a few parameters,
                                                    or large ones: no time to win.
GradNotSetToNone               zero_grad_fill       torch needs the frame of zero_grad,
                                                    we take its annotation as well. We
                                                    are silent if the fills are cheap.
ForLoopIndexing                loop_indexing        torch's period ends at the next
                                                    select, so that it misses
                                                    ``out[i] = f(x[i])``, which has two;
                                                    and it fires on a loop of operators
                                                    that work for long, which a batch
                                                    would not make faster.
Conv2dBiasFollowedByBatchNorm  conv_bias_bn         on a CPU the convolution adds the
                                                    bias on its way: torch fires, and
                                                    there is no time to win.
SynchronizedDataLoader         dataloader_bound     torch fires where there are no
                                                    workers, also if loading takes no
                                                    time; we also fire where workers are
                                                    too slow.
MatMulDimInFP16                misaligned_gemm      a matter of tensor cores: torch
                                                    fires on the CPU too, where there
                                                    are none, and we do not.
=============================  ===================  ====================================

ExtraCUDACopy and FP32MatMul need a device.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap._core import Finding

torch: Any = pytest.importorskip("torch")
matcher: Any = pytest.importorskip("torch.profiler._pattern_matcher")

pytestmark = pytest.mark.verify


class Judged:
    """What both make of one recording."""

    def __init__(self, run: Callable[[], object], folder: Path) -> None:
        run()  # caches, lazy imports
        with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU],
            with_stack=True,
            record_shapes=True,
        ) as self.profile:
            run()
        path = folder / "trace.json"
        self.profile.export_chrome_trace(str(path))
        self.report = torchtraceap.analyze(path)

    def torch_fires(self, pattern: str) -> bool:
        return bool(getattr(matcher, pattern)(self.profile).matched_events())

    def of(self, pattern: str) -> list[Finding]:
        return [f for f in self.report.findings if f.pattern == pattern]


@pytest.fixture
def judge(tmp_path: Path) -> Callable[[Callable[[], object]], Judged]:
    return lambda run: Judged(run, tmp_path)


Judge = Callable[[Callable[[], object]], Judged]


def parameters(count: int, size: int) -> list[Any]:
    out = [torch.nn.Parameter(torch.ones(size)) for _ in range(count)]
    for parameter in out:
        parameter.grad = torch.ones(size)
    return out


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_an_optimizer_by_parameter(judge: Judge, name: str) -> None:
    optimizer = getattr(torch.optim, name)(parameters(50, 64), lr=0.1, foreach=False)
    judged = judge(lambda: [optimizer.step() for _ in range(5)])
    assert judged.torch_fires("OptimizerSingleTensorPattern")
    (finding,) = judged.of("unfused_optimizer")
    assert finding.subtype == "single_tensor"
    assert finding.count == 5
    assert finding.location is not None
    assert Path(finding.location.file).name == Path(__file__).name


@pytest.mark.parametrize("form", ["foreach", "fused"])
def test_an_optimizer_of_many_tensors(judge: Judge, form: str) -> None:
    optimizer = torch.optim.Adam(parameters(50, 64), lr=0.1, **{form: True})
    judged = judge(lambda: [optimizer.step() for _ in range(5)])
    assert not judged.torch_fires("OptimizerSingleTensorPattern")
    assert not judged.of("unfused_optimizer")


def test_an_optimizer_that_torch_does_not_list(judge: Judge) -> None:
    optimizer = torch.optim.RMSprop(parameters(50, 64), lr=0.1, foreach=False)
    judged = judge(lambda: [optimizer.step() for _ in range(5)])
    assert not judged.torch_fires("OptimizerSingleTensorPattern")
    assert judged.of("unfused_optimizer")


def test_an_optimizer_of_few_parameters_costs_nothing(judge: Judge) -> None:
    optimizer = torch.optim.SGD(parameters(2, 64), lr=0.1, foreach=False)
    judged = judge(lambda: [optimizer.step() for _ in range(5)])
    assert judged.torch_fires("OptimizerSingleTensorPattern")
    assert not judged.of("unfused_optimizer")


def test_gradients_filled_with_zeros(judge: Judge) -> None:
    # Small ones are filled in less time altogether than any finding is made of.
    optimizer = torch.optim.SGD(parameters(100, 1 << 16), lr=0.1)
    judged = judge(lambda: optimizer.zero_grad(set_to_none=False))
    assert judged.torch_fires("GradNotSetToNonePattern")
    (finding,) = judged.of("zero_grad_fill")
    assert finding.count == 100


def test_gradients_dropped(judge: Judge) -> None:
    layers = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(20)])
    optimizer = torch.optim.SGD(layers.parameters(), lr=0.1)

    def step() -> None:
        layers(torch.ones(8, 64)).sum().backward()
        optimizer.zero_grad(set_to_none=True)

    judged = judge(step)
    assert not judged.torch_fires("GradNotSetToNonePattern")
    assert not judged.of("zero_grad_fill")


def test_a_loop_over_elements(judge: Judge) -> None:
    x = torch.ones(200, 32)

    def each() -> None:
        for i in range(len(x)):
            x[i] = i

    judged = judge(each)
    assert judged.torch_fires("ForLoopIndexingPattern")
    (finding,) = judged.of("loop_indexing")
    assert finding.count >= 190
    assert finding.location is not None
    assert finding.location.recorded_line == each.__code__.co_firstlineno
    assert finding.location.function == "each"


def test_a_loop_of_two_indexes_a_pass(judge: Judge) -> None:
    x, out = torch.ones(200, 32), torch.empty(200, 32)

    def each() -> None:
        for i in range(len(x)):
            out[i] = torch.tanh(x[i])

    judged = judge(each)
    assert not judged.torch_fires("ForLoopIndexingPattern")
    (finding,) = judged.of("loop_indexing")
    assert finding.location is not None
    assert finding.location.function == "each"
    batched = judge(lambda: [torch.tanh(x) for _ in range(200)])
    assert not batched.torch_fires("ForLoopIndexingPattern")
    assert not batched.of("loop_indexing")


def test_a_loop_of_long_operators_costs_nothing(judge: Judge) -> None:
    x = torch.ones(12, 400, 400)

    def each() -> None:
        for i in range(len(x)):
            torch.mm(x[i], x[0])

    def products() -> None:
        for i in range(len(x)):
            torch.linalg.matrix_power(x[i], 40)

    assert judge(each).torch_fires("ForLoopIndexingPattern") is False  # two indexes
    judged = judge(products)
    assert judged.torch_fires("ForLoopIndexingPattern")
    assert sum(f.wasted_us for f in judged.of("loop_indexing")) < 5_000


def test_the_bias_before_a_batch_norm(judge: Judge) -> None:
    layers = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, bias=True), torch.nn.BatchNorm2d(16)
    )
    judged = judge(lambda: layers(torch.ones(4, 3, 32, 32)))
    assert judged.torch_fires("Conv2dBiasFollowedByBatchNorm2dPattern")
    assert not judged.of("conv_bias_bn")  # added by the convolution on its way
    plain = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, bias=False), torch.nn.BatchNorm2d(16)
    )
    judged = judge(lambda: plain(torch.ones(4, 3, 32, 32)))
    assert not judged.torch_fires("Conv2dBiasFollowedByBatchNorm2dPattern")
    assert not judged.of("conv_bias_bn")


class Samples:
    """Numbers that take a while each."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> int:
        time.sleep(self.seconds)
        return index


def test_a_loader_without_workers(judge: Judge) -> None:
    loader = torch.utils.data.DataLoader(Samples(0.001), batch_size=4)
    judged = judge(lambda: [batch + 1 for batch in loader])
    assert judged.torch_fires("SynchronizedDataLoaderPattern")
    (finding,) = judged.of("dataloader_bound")
    assert finding.subtype == "single_process"


def test_a_loader_without_workers_that_takes_no_time(judge: Judge) -> None:
    loader = torch.utils.data.DataLoader(Samples(0), batch_size=20)
    work = torch.ones(1500, 1500)
    # Much work: on a busy machine the loader's thread may lose its turn for some ms.
    judged = judge(lambda: [work @ work for _ in loader for _ in range(12)])
    assert judged.torch_fires("SynchronizedDataLoaderPattern")
    assert not judged.of("dataloader_bound")


def test_sizes_that_only_tensor_cores_mind(judge: Judge) -> None:
    a = torch.ones(101, 101, dtype=torch.bfloat16)
    judged = judge(lambda: [torch.mm(a, a) for _ in range(10)])
    assert judged.torch_fires("MatMulDimInFP16Pattern")
    assert not judged.of("misaligned_gemm")
