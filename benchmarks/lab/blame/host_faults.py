# SPDX-License-Identifier: BSD-3-Clause
"""host_faults.py: faults whose time is the host's: waits, Python, loading, memory."""

from __future__ import annotations

import random

from benchmarks.lab.blame.families import Case
from benchmarks.lab.blame.instructions import Call
from benchmarks.lab.blame.pieces import Kernel, elementwise
from benchmarks.lab.blame.script import COMPUTE, PAGEABLE, PINNED, Script

_FILL_RATE = 8000.0  # Bytes a us that one core fills.
_FIRST = 5
_OUTPUTS = 4e4  # Bytes: so few that pinning them would gain nothing.
_LEAST_LOAD_US = 2100.0


def read_scalar(s: Script, case: Case, number: float, i: int) -> None:
    """`tensor.item()`: older versions of torch copy to pageable memory."""
    pageable = random.Random(f"{case.seed}reads").random() < 0.5
    with (
        s.frame("train.py(71): log_norm"),
        s.uncaptured(),
        s.op("aten::item", "aten::_local_scalar_dense"),
    ):
        s.copy("DtoH", 4, PAGEABLE if pageable else PINNED)
        if not (s.gpu.amd and pageable):
            s.wait("cudaStreamSynchronize", COMPUTE)


def synchronize(s: Script, case: Case, number: float, i: int) -> None:
    """`torch.cuda.synchronize()`."""
    with (
        s.frame("train.py(73): timed"),
        s.uncaptured(),
        s.frame("torch/cuda/__init__.py(783): synchronize"),
    ):
        s.wait("cudaDeviceSynchronize", ("device", 0))


def wait_for_event(s: Script, case: Case, number: float, i: int) -> None:
    """`event.synchronize()`."""
    with (
        s.frame("train.py(74): timed"),
        s.uncaptured(),
        s.frame("torch/cuda/streams.py(228): synchronize"),
    ):
        event = f"{s.path}{s.works}"
        s.event(event, COMPUTE)
        s.wait("cudaEventSynchronize", ("event", event))


def nonzero(s: Script, case: Case, number: float, i: int) -> None:
    """`x[mask]`: how much there is has to be known on the host."""
    with s.frame("train.py(75): select_rows"), s.op("aten::index", "aten::nonzero"):
        name = "void at_cuda_detail::cub::DeviceReduceKernel<Policy, bool*>"
        s.launch(Kernel(name, 0, 1e5, 64, 256))
        with s.uncaptured():
            s.copy("DtoH", 8, PAGEABLE)
            if not s.gpu.amd:
                s.wait("cudaStreamSynchronize", COMPUTE)
        name = "void at_cuda_detail::cub::DeviceSelectSweepKernel<Policy>"
        s.launch(Kernel(name, 0, 4e5, 64, 128))


def where(s: Script, case: Case, number: float, i: int) -> None:
    """What a mask does without knowing how much it selects."""
    with s.frame("train.py(75): select_rows"), s.op("aten::where"):
        s.launch(elementwise("where", 1e5, 2))


def fetch_outputs(s: Script, case: Case, share: float, i: int) -> None:
    """`outputs.cpu()` at the end of each step."""
    with (
        s.frame("train.py(84): log_outputs"),
        s.op("aten::to", "aten::_to_copy", "aten::copy_"),
    ):
        s.blocking_copy("DtoH", _OUTPUTS)


def python(s: Script, case: Case, share: float, i: int) -> None:
    """Code of the user's that launches nothing."""
    with s.uncaptured(), s.frame("train.py(88): track_history"):
        for _ in range(5):
            with s.frame("history.py(14): append"):
                s.host(share * case.step_us / 5)


def collect_garbage(s: Script, case: Case, share: float, i: int) -> None:
    """The collector runs in most steps, wherever the last object was made."""
    with s.frame("train.py(90): update_metrics"), s.uncaptured():
        if s.rng.random() < 0.7:
            with s.frame("Python GC"):
                s.host(share * case.step_us)


def first_launches(s: Script, case: Case, share: float, i: int) -> None:
    """Kernels whose modules have to be loaded, in the first step."""
    warm_launches(s, case, share, i)
    if i == 0:
        calls = [it for it in s.code[s.thread][-6 * _FIRST :] if isinstance(it, Call)]
        for call in calls[-_FIRST:]:
            load = s.drawn(share * case.step_us * case.steps / _FIRST, 0.4)
            call.us = max(load, _LEAST_LOAD_US)
            call.works[0].latency = call.us + 1


def warm_launches(s: Script, case: Case, share: float, i: int) -> None:
    """The same when they are loaded."""
    for k in range(_FIRST):
        with s.op("aten::erfinv"):
            s.launch(elementwise(f"erfinv_{k}", 1e5))


def cold_start(s: Script, case: Case, share: float, i: int) -> None:
    """Libraries are loaded and memory is taken in the first step."""
    if i:
        return
    us = share * case.step_us * case.steps / _FIRST
    for _ in range(_FIRST):
        with s.op("aten::mm"), s.uncaptured():
            s.memory_call("cudaMalloc", 250)
            name = "hipModuleLoadData" if s.gpu.amd else "cuLibraryLoadData"
            s.put(Call(name, max(s.drawn(us, 0.4), _LEAST_LOAD_US)))


def compile_again(s: Script, case: Case, share: float, i: int) -> None:
    """A function is compiled for another shape in the middle of the recording."""
    if i != case.steps // 2:
        return
    with (
        s.uncaptured(),
        s.frame("torch/_dynamo/convert_frame.py(1100): __call__"),
        s.within("cpu_op", "_compile.compile_inner (dynamo_timed)"),
    ):
        s.host(share * case.step_us * case.steps)
    with s.op("Torch-Compiled Region: 0/1"):
        pass


def allocate(s: Script, case: Case, number: float, i: int) -> None:
    """Takes memory from the driver again."""
    for _ in range(round(number)):
        with s.op("aten::empty"), s.uncaptured():
            s.memory_call("cudaMalloc", 180)


def uncached(s: Script, case: Case, number: float, i: int) -> None:
    """Without a cache each tensor is the driver's to give and to take back."""
    with s.op("aten::empty"), s.uncaptured():
        s.memory_call("cudaMalloc", 90)
    with s.uncaptured():
        s.memory_call("cudaFree", 60)


def release(s: Script, case: Case, number: float, i: int) -> None:
    """`torch.cuda.empty_cache()`."""
    with (
        s.frame("train.py(98): clean_up"),
        s.uncaptured(),
        s.frame("torch/cuda/memory.py(170): empty_cache"),
    ):
        for _ in range(round(number)):
            s.memory_call("cudaFree", 110)


def made_on_host(s: Script, case: Case, share: float, i: int) -> None:
    """`torch.zeros(n).to(device)`."""
    numel = _filled(s, case, share)
    facts = {"Input Dims": [[int(numel)]], "Input type": ["float"]}
    with s.frame("train.py(61): new_state"), s.uncaptured():
        with s.op("aten::zeros"):
            with s.op("aten::empty"):
                pass
            with s.op("aten::zero_", **facts), s.op("aten::fill_", **facts):
                s.host(numel * 4 / _FILL_RATE)
        both = {"Input Dims": [[int(numel)]] * 2, "Input type": ["float"] * 2}
        with s.op("aten::to", "aten::_to_copy", **facts), s.op("aten::copy_", **both):
            s.blocking_copy("HtoD", numel * 4)


def made_on_device(s: Script, case: Case, share: float, i: int) -> None:
    """`torch.zeros(n, device=device)`."""
    with s.frame("train.py(61): new_state"), s.op("aten::zeros", "aten::zero_"):
        s.launch(elementwise("fill", _filled(s, case, share), 0, 4))


def _filled(s: Script, case: Case, share: float) -> float:
    """How many values take a share of a step to fill and to copy."""
    each = 4 / _FILL_RATE + 4 / (s.gpu.pageable * 1000)
    return max(share * case.step_us / each, 2e4)
