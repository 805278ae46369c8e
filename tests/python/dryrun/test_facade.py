# SPDX-License-Identifier: BSD-3-Clause
"""test_facade.py: torch.cuda, streams and events answer as on a machine with one GPU.

What CUDA answers is taken from PyTorch's documentation and from its sources.
"""

from __future__ import annotations

import contextlib
import inspect
import warnings
from typing import Any

import pytest
import torch

# Bound before any run, as in a user's module.
from torch import Event as AnyEvent
from torch import Stream
from torch.accelerator import current_accelerator
from torch.cuda import (
    Event,
    current_stream,
    get_device_name,
    is_available,
    memory_allocated,
    synchronize,
)
from torch.cuda import Stream as CudaStream

from torchtraceap.base.errors import DryRunError
from torchtraceap.waits.table import BY_OPERATOR
from torchtraceap_dryrun.estimate.gpus import gpu
from torchtraceap_dryrun.facade.facade import Facade

from .told import Told

# --- What there is --------------------------------------------------------------------


def test_there_is_one_gpu(told: Told) -> None:
    assert is_available() and torch.cuda.is_available()
    assert torch.cuda.device_count() == torch.accelerator.device_count() == 1
    assert torch.cuda.current_device() == torch.accelerator.current_device_index() == 0
    assert torch.cuda.is_initialized()
    assert str(current_accelerator(check_available=True)) == "cuda"
    assert torch.get_device_module() is torch.cuda
    assert torch.get_device_module("cuda") is torch.cuda
    assert torch.backends.cuda.is_built() and torch.backends.cudnn.is_available()
    assert torch.backends.cudnn.version() > 90000
    assert int(torch.version.cuda.split(".")[0]) >= 12
    assert torch.cuda.amp.common.amp_definitely_not_available() is False
    assert torch.distributed.is_nccl_available()
    assert not torch.cuda.can_device_access_peer(0, 0)


def test_it_is_the_one_that_was_asked_for(told: Told) -> None:
    properties = torch.cuda.get_device_properties("cuda:0")
    assert properties.name == get_device_name() == "NVIDIA H100 80GB HBM3"
    assert (properties.major, properties.minor) == (9, 0)
    assert torch.cuda.get_device_capability() == (9, 0)
    assert properties.total_memory == 80 * 2**30
    assert properties.multi_processor_count == 132
    assert properties.warp_size == 32
    assert torch.cuda.get_arch_list() == ["sm_90"]
    assert (
        torch.bfloat16 in torch.accelerator.get_device_capability()["supported_dtypes"]
    )
    with pytest.raises(AttributeError, match="no clock_rate of NVIDIA H100"):
        _ = properties.clock_rate


@pytest.mark.parametrize(
    ("name", "native", "tf32"), [("V100", False, False), ("A100", True, True)]
)
def test_bfloat16_by_generation(name: str, native: bool, tf32: bool) -> None:
    # torch emulates it before compute capability 8.0.
    with Facade(Told(gpu(name))):
        assert torch.cuda.is_bf16_supported()
        assert torch.cuda.is_bf16_supported(including_emulation=False) is native
        assert torch.cuda.is_tf32_supported() is tf32


def test_device_can_be_chosen_if_it_is_the_first(told: Told) -> None:
    torch.cuda.set_device("cuda:0")
    torch.cuda.set_device(-1)  # a no-op, as documented
    torch.accelerator.set_device_index(0)
    with torch.cuda.device(0), torch.cuda.device("cuda"), torch.cuda.device(None):
        assert torch.cuda.current_device() == 0
    with torch.accelerator.device_index(0):
        assert torch.cuda.current_device() == 0


@pytest.mark.parametrize(
    "use",
    [
        lambda: torch.cuda.set_device(1),
        lambda: torch.cuda.device(1).__enter__(),
        lambda: torch.cuda.synchronize(1),
        lambda: torch.cuda.Stream(device=1),
        lambda: torch.cuda.memory_allocated(1),
        lambda: torch.cuda.mem_get_info(1),
        lambda: torch.accelerator.set_device_index(1),
        lambda: torch.accelerator.synchronize(1),
        lambda: torch.Generator("cuda:1"),
        lambda: torch.Event("cuda:1"),
    ],
)
def test_second_gpu_is_missing_as_cuda_says(told: Told, use: Any) -> None:
    with pytest.raises(torch.AcceleratorError, match="invalid device ordinal"):
        use()


def test_second_gpu_has_no_properties(told: Told) -> None:
    for ask in (torch.cuda.get_device_properties, torch.cuda.get_device_name):
        with pytest.raises(AssertionError, match="Invalid device id"):
            ask(1)


# --- All there is ------------------------------------------------------------------


@pytest.mark.parametrize(
    "module",
    [
        torch.accelerator,
        torch.backends.cuda,
        torch.cuda,
        torch.cuda.memory,
        torch.cuda.profiler,
        torch.cuda.random,
        torch.cuda.tunable,
    ],
)
def test_all_functions_answer_or_say_why_not(told: Told, module: Any) -> None:
    asked = 0
    for name in module.__all__:
        function = getattr(module, name, None)
        if not inspect.isfunction(function) or _takes_something(function):
            continue
        asked += 1
        with contextlib.suppress(DryRunError), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what is deprecated
            function()
    assert asked >= 2


def _takes_something(function: Any) -> bool:
    try:
        inspect.signature(function).bind()
    except TypeError:
        return True
    return False


# --- Tools, and what cannot be had ----------------------------------------------------


def test_tools_find_what_they_need(told: Told) -> None:
    assert torch.cuda.nvtx.range_push("step") == 0
    assert torch.cuda.nvtx.range_push("inner") == 1
    assert [torch.cuda.nvtx.range_pop() for _ in range(3)] == [1, 0, -1]
    with torch.cuda.nvtx.range("epoch {}", 3), torch.cuda.profiler.profile():
        torch.cuda.nvtx.mark("here")
    torch.cuda.check_error(torch.cuda.cudart().cudaProfilerStart())
    assert not torch.cuda.is_current_stream_capturing()
    assert torch.cuda.nccl.version()[0] == 2
    with torch.backends.cudnn.flags(benchmark=True):
        assert torch.backends.cudnn.benchmark


@pytest.mark.parametrize(
    ("use", "what"),
    [
        (lambda: torch.cuda.CUDAGraph(), "CUDA graph"),
        (lambda: torch.cuda.MemPool(), "CUDA's allocator"),
        (lambda: torch.cuda.caching_allocator_alloc(8), "CUDA's allocator"),
        (lambda: torch.cuda.current_blas_handle(), "cuBLAS"),
        (lambda: torch.cuda.utilization(), "sensors"),
        (lambda: torch.cuda.Event.from_ipc_handle(0, b""), "another process"),
        (lambda: torch.cuda.Event().ipc_handle(), "another process"),
        (lambda: type("Own", (torch.cuda.Stream,), {})(), "subclass"),
    ],
)
def test_what_cannot_be_had_is_refused(told: Told, use: Any, what: str) -> None:
    with pytest.raises(DryRunError, match=what):
        use()


# --- Memory, and random numbers -------------------------------------------------------

_MIB = 2**20


def test_memory_is_that_of_the_tensors(told: Told) -> None:
    told.use(3 * _MIB)
    told.use(1 * _MIB)
    assert memory_allocated() == _MIB == torch.accelerator.memory_allocated()
    assert torch.cuda.max_memory_allocated() == 3 * _MIB
    assert torch.cuda.memory_reserved() == 3 * _MIB  # kept for later
    assert torch.cuda.mem_get_info() == (80 * 2**30 - 3 * _MIB, 80 * 2**30)
    assert torch.accelerator.get_memory_info() == torch.cuda.mem_get_info()
    assert " 3072 KiB |" in torch.cuda.memory_summary()
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == _MIB
    assert torch.cuda.memory_stats()["num_ooms"] == 0
    assert torch.cuda.memory_snapshot() == []


def test_cache_is_emptied_with_a_wait_if_it_holds_something(told: Told) -> None:
    torch.cuda.empty_cache()
    assert not told.waits
    told.use(3 * _MIB)
    told.use(_MIB)
    torch.cuda.empty_cache()
    assert told.waits == ["torch.cuda.empty_cache"]
    assert told.waits[0] in BY_OPERATOR
    assert torch.cuda.memory_reserved() == _MIB
    torch.cuda.empty_cache()
    assert len(told.waits) == 1
    told.use(2 * _MIB)
    assert torch.cuda.memory_reserved() == 2 * _MIB


def test_limits_of_the_allocator(told: Told) -> None:
    torch.cuda.set_per_process_memory_fraction(0.5)
    assert torch.cuda.get_per_process_memory_fraction() == 0.5
    if torch.__version__ >= (2, 12):
        with torch.cuda.memory.caching_allocator_disabled():
            pass
    assert torch.cuda.get_allocator_backend() == "native"
    torch.cuda.ipc_collect()
    torch.cuda.reset_accumulated_memory_stats()


# --- Streams and events: what is ordered and waited for -------------------------------


def test_streams_are_streams(told: Told) -> None:
    side = CudaStream()
    for kind in (CudaStream, torch.cuda.Stream, Stream, torch.Stream):
        assert isinstance(side, kind)
    assert str(side.device) == "cuda:0" and side.cuda_stream != 0
    assert current_stream().cuda_stream == 0
    assert current_stream() == torch.cuda.default_stream() != side
    assert isinstance(torch.Stream("cuda"), CudaStream)
    assert isinstance(Stream(), CudaStream)  # of the accelerator, by default
    assert not isinstance(torch.Stream("cpu"), CudaStream)
    assert len({torch.cuda.current_stream(), torch.cuda.default_stream(), side}) == 2
    assert side.priority_range() == torch.cuda.Stream.priority_range() == (0, -3)
    assert torch.cuda.Stream(priority=-99).priority == -3
    outside = torch.cuda.ExternalStream(0xABC)
    assert outside.cuda_stream == 0xABC
    assert outside == torch.cuda.get_stream_from_external(0xABC)


def test_pool_of_streams_begins_anew_after_32(told: Told) -> None:
    made = [torch.cuda.Stream() for _ in range(33)]
    assert made[32] == made[0] and len(set(made)) == 32


def test_work_is_ordered_as_the_program_says(told: Told) -> None:
    side, done = torch.cuda.Stream(), Event()
    side.wait_stream(current_stream())
    with torch.cuda.stream(side):
        assert current_stream() == side
        assert told.current_stream == side.number
        done.record()
        with torch.cuda.stream(None):
            assert current_stream() == side
    assert told.current_stream == 7
    current_stream().wait_event(done)
    done.wait()
    kinds = [(kind, stream) for kind, stream, _ in told.calls]
    assert kinds == [
        ("event_record", 7),
        ("stream_wait", side.number),
        ("event_record", side.number),
        ("stream_wait", 7),
        ("stream_wait", 7),
    ]
    again = Event()
    again.record(side)  # though another stream is current
    again.wait(side)
    assert told.calls[-2:] == [
        ("event_record", side.number, told.calls[-1][2]),
        ("stream_wait", side.number, told.calls[-1][2]),
    ]
    del told.calls[-2:]
    first, second = told.calls[0][2], told.calls[2][2]
    assert [event for *_, event in told.calls] == [first, first, *[second] * 3]
    assert first != second and not told.waits


def test_stream_is_put_back_after_an_error(told: Told) -> None:
    side = torch.Stream()
    with pytest.raises(ZeroDivisionError), side:
        assert torch.accelerator.current_stream() == side
        _ = 1 / 0
    assert told.current_stream == 7
    torch.accelerator.set_stream(side)
    assert told.current_stream == side.number
    torch.cuda.set_stream(torch.cuda.default_stream())
    assert told.current_stream == 7


@pytest.mark.parametrize(
    ("wait", "api", "kind"),
    [
        (lambda: synchronize(), "torch.cuda.synchronize", "device_sync"),
        (lambda: synchronize("cuda"), "torch.cuda.synchronize", "device_sync"),
        (
            lambda: torch.accelerator.synchronize(),
            "torch.accelerator.synchronize",
            "device_sync",
        ),
        (
            lambda: current_stream().synchronize(),
            "Stream.synchronize",
            "stream_sync",
        ),
        (
            lambda: current_stream().record_event().synchronize(),
            "Event.synchronize",
            "event_sync",
        ),
    ],
)
def test_waits_are_told(told: Told, wait: Any, api: str, kind: str) -> None:
    wait()
    assert api in BY_OPERATOR  # which says what to do instead
    assert told.waits == [api] and told.calls[-1][0] == kind


def test_what_waits_for_nothing_is_no_wait(told: Told) -> None:
    never = Event(enable_timing=True)
    never.synchronize()
    never.wait()
    assert never.query() and current_stream().query() and not told.calls
    begin, end = AnyEvent("cuda", enable_timing=True), Event(enable_timing=True)
    begin.record()
    end.record()
    # cudaEventElapsedTime raises if an event is not done; it does not wait for it.
    assert begin.elapsed_time(end) == 1.0 == -end.elapsed_time(begin)
    assert begin.elapsed_time(begin) == 0.0
    assert not told.waits and "no GPU ran" in told.notes[0]


def test_events_that_cannot_be_timed_say_so(told: Told) -> None:
    timed, plain = Event(enable_timing=True), Event()
    with pytest.raises(ValueError, match="enable_timing=True"):
        timed.elapsed_time(plain)
    with pytest.raises(ValueError, match="must be recorded"):
        timed.elapsed_time(Event(enable_timing=True))
    assert isinstance(plain, torch.cuda.Event) and isinstance(plain, torch.Event)
    assert str(plain.device) == "cuda:0"


def test_streams_and_events_can_outlive_a_run() -> None:
    # As variables of a module.
    with Facade(Told()) as _:
        made = [torch.cuda.Stream() for _ in range(3)]
        side, done = made[-1], Event()
        done.record(side)
    for use in (side.synchronize, side.query, done.synchronize, done.record):
        with pytest.raises(DryRunError, match="has ended"):
            use()
    told = Told()
    with Facade(told):
        done.synchronize()  # of the run before, so it is over
        assert not told.waits
        with torch.cuda.stream(side):
            assert current_stream() == side
            Event().record()
            done.record()
        with side:
            assert current_stream() == side
        done.wait()
    assert told.calls == [  # Event numbers start over.
        ("event_record", side.number, 1),
        ("event_record", side.number, 2),
        ("stream_wait", 7, 2),
    ]


def test_modes_of_sync_debugging(told: Told) -> None:
    torch.cuda.set_sync_debug_mode("warn")
    assert torch.cuda.get_sync_debug_mode() == 1
