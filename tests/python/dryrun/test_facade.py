# SPDX-License-Identifier: BSD-3-Clause
"""test_facade.py: torch.cuda answers as on a machine with one GPU.

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
from torch.accelerator import current_accelerator
from torch.cuda import get_device_name, is_available, memory_allocated

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
