# SPDX-License-Identifier: BSD-3-Clause
"""test_facade.py: torch.cuda as on a machine with one GPU, and as before afterwards.

What CUDA answers is taken from PyTorch's documentation and from its sources.
"""

from __future__ import annotations

import gc
import multiprocessing
import sys
import threading
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

torch = pytest.importorskip("torch")
if torch.cuda.is_available():
    pytest.skip("a GPU is here", allow_module_level=True)

# Bound before any run, as in a user's module.
from torch import Event as AnyEvent  # noqa: E402
from torch import Generator, Stream  # noqa: E402
from torch.accelerator import current_accelerator  # noqa: E402
from torch.cuda import (  # noqa: E402
    Event,
    current_stream,
    get_device_name,
    is_available,
    memory_allocated,
    synchronize,
)
from torch.cuda import Stream as CudaStream  # noqa: E402

from torchtraceap.dryrun.dry_run import dry_run  # noqa: E402
from torchtraceap.dryrun.facade import Facade  # noqa: E402
from torchtraceap.dryrun.gpus import Gpu, gpu  # noqa: E402
from torchtraceap.dryrun.sync_ops import BY_OPERATOR  # noqa: E402
from torchtraceap.errors import DryRunError  # noqa: E402

_MIB = 2**20


@dataclass
class Told:
    """A recorder that only remembers."""

    gpu: Gpu = field(default_factory=lambda: gpu("H100"))
    current_stream: int = 7
    calls: list[tuple[str, int, int]] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    now: int = 0
    peak: int = 0

    def call(self, kind: str, stream: int = 7, event: int = -1) -> None:
        self.calls.append((kind, stream, event))

    def wait(self, api: str) -> None:
        self.waits.append(api)

    def note(self, sentence: str) -> None:
        self.notes.append(sentence)

    def memory(self) -> tuple[int, int]:
        return self.now, self.peak

    def reset_peak(self) -> None:
        self.peak = self.now

    def use(self, size: int) -> None:
        self.now = size
        self.peak = max(self.peak, size)


@pytest.fixture
def told() -> Iterator[Told]:
    host = Told()
    with Facade(host):
        yield host


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


# --- Streams and events ---------------------------------------------------------------


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


def test_stream_of_a_run_that_ended_says_so() -> None:
    with Facade(Told()):
        side = torch.cuda.Stream()
    with pytest.raises(DryRunError, match="has ended"):
        side.synchronize()
    with Facade(Told()) as _:
        side.synchronize()  # as one of a module's variables in the next test


def test_modes_of_sync_debugging(told: Told) -> None:
    torch.cuda.set_sync_debug_mode("warn")
    assert torch.cuda.get_sync_debug_mode() == 1


# --- Random numbers -------------------------------------------------------------------


def test_generator_of_the_gpu(told: Told) -> None:
    for kind in (Generator, torch.Generator):
        made = kind("cuda")
        assert str(made.device) == "cuda:0" and isinstance(made, kind)
        assert str(kind().device) == "cpu" and isinstance(kind(), kind)
    made.manual_seed(3)
    first = torch.rand(4, generator=made)
    assert torch.equal(first, torch.rand(4, generator=made.manual_seed(3)))


def test_state_of_random_numbers_is_kept_and_put_back(told: Told) -> None:
    torch.manual_seed(5)  # seeds all devices
    assert torch.cuda.initial_seed() == 5
    torch.cuda.manual_seed_all(6)
    generator = torch.cuda.default_generators[0]
    state = torch.cuda.get_rng_state()
    first = torch.rand(4, generator=generator)
    torch.cuda.set_rng_state(state)
    assert torch.equal(first, torch.rand(4, generator=generator))
    of_a_gpu = torch.tensor([9, *[0] * 15], dtype=torch.uint8)  # seed 9, offset 0
    torch.cuda.set_rng_state_all([of_a_gpu])
    assert torch.cuda.initial_seed() == 9
    with torch.random.fork_rng(devices=[0]):
        torch.cuda.manual_seed(7)
    assert torch.cuda.initial_seed() == 9


# --- Memory ---------------------------------------------------------------------------


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
    with torch.cuda.memory.caching_allocator_disabled():
        pass
    assert torch.cuda.get_allocator_backend() == "native"
    torch.cuda.ipc_collect()
    torch.cuda.reset_accumulated_memory_stats()


# --- Tools, and what cannot be had ----------------------------------------------------


def test_tools_find_what_they_need(told: Told) -> None:
    assert torch.cuda.nvtx.range_push("step") == 0
    assert torch.cuda.nvtx.range_push("inner") == 1
    assert [torch.cuda.nvtx.range_pop() for _ in range(3)] == [1, 0, -1]
    with torch.cuda.nvtx.range("epoch {}", 3), torch.cuda.profiler.profile():
        torch.cuda.nvtx.mark("here")
    torch.cuda.check_error(torch.cuda.cudart().cudaProfilerStart())
    assert not torch.cuda.is_current_stream_capturing()
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


# --- Afterwards -----------------------------------------------------------------------

_WATCHED = (
    "torch",
    "torch._C",
    "torch.accelerator",
    "torch.backends",
    "torch.distributed",
    "torch.version",
    "torch.random",
    "torch.amp",
)


def _state() -> dict[str, Any]:
    """All attributes of torch's modules, and of classes there, that are watched."""
    state = {}
    for name, module in list(sys.modules.items()):
        if name not in _WATCHED and not name.startswith(
            ("torch.cuda", "torch.backends")
        ):
            continue
        places = {name: module}
        if isinstance(getattr(module, "m", None), types.ModuleType):
            places[f"{name}.m"] = module.m
        for key, value in vars(module).items():
            if issubclass(type(value), type) and value.__module__.startswith(
                "torch.cuda"
            ):
                places[f"{name}.{key}"] = value
        for place, owner in places.items():
            state |= {f"{place}.{key}": at for key, at in vars(owner).items()}
    state["here"] = Generator
    return state


def _changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    missing = object()
    keys = before.keys() | after.keys()
    return sorted(
        k for k in keys if before.get(k, missing) is not after.get(k, missing)
    )


def _load() -> None:
    """Import what is imported on first use, which would look like a change."""
    with Facade(Told()):
        torch.cuda.memory_summary()
    gc.collect()


def test_everything_is_put_back() -> None:
    _load()
    before = _state()
    with Facade(Told()):
        during = _changed(before, _state())
        torch.cuda.manual_seed(1)
        torch.cuda.Stream().synchronize()
    assert "torch._C._cuda_synchronize" in during and "here" in during
    assert "torch.cuda.Stream.__new__" in during and len(during) > 80
    assert _changed(before, _state()) == []
    assert not torch.cuda.is_available() and not torch.cuda.is_initialized()
    assert torch.get_device_module() is torch.cpu
    with pytest.raises((AssertionError, RuntimeError)):
        torch.cuda.current_device()
    with pytest.raises(RuntimeError):
        torch.cuda.Stream()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_leaves_nothing_behind(error: type[BaseException]) -> None:
    _load()
    before = _state()
    with pytest.raises(error), Facade(Told()):
        raise error
    assert _changed(before, _state()) == []


def test_interrupted_entry_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _load()
    before = _state()

    def interrupt(_: Facade) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Facade, "_check", interrupt)
        with pytest.raises(KeyboardInterrupt), Facade(Told()):
            pass
    assert _changed(before, _state()) == []
    with Facade(Told()):  # and the next can begin
        assert torch.cuda.is_available()


def test_abandoned_generator_leaves_nothing_behind() -> None:
    _load()
    before = _state()

    def steps() -> Iterator[int]:
        with Facade(Told()):
            yield 1

    going = steps()
    next(going)
    assert torch.cuda.is_available()
    going.close()
    assert _changed(before, _state()) == []


def test_runs_are_not_nested() -> None:
    with dry_run():
        with (
            pytest.raises(
                DryRunError, match=r"already, begun at .*test_facade\.py:\d+"
            ),
            dry_run(),
        ):
            pass
        assert torch.cuda.is_available()
    assert not torch.cuda.is_available()


def test_another_thread_has_to_wait() -> None:
    errors: list[BaseException] = []

    def second() -> None:
        try:
            with dry_run():
                pass
        except DryRunError as error:
            errors.append(error)

    with dry_run():
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
        assert torch.cuda.is_available()
    assert "in another thread" in str(errors[0])
    second()
    assert len(errors) == 1


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_an_error_in_a_whole_run_leaves_nothing_behind(
    error: type[BaseException],
) -> None:
    with dry_run():  # what is imported on first use
        torch.nn.Linear(2, 2, device="cuda")
    before = _state()
    layer = torch.nn.Linear(2, 2)
    with pytest.raises(error), dry_run():
        layer.cuda()(torch.ones(2, device="cuda")).sum().backward()
        raise error
    assert _changed(before, _state()) == []
    assert torch.ones(2).sum().item() == 2 and str(torch.ones(2).device) == "cpu"
    with dry_run():
        assert torch.cuda.device_count() == 1


def test_a_real_gpu_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA L4")
    before = _state()
    with pytest.raises(DryRunError, match="a real GPU is here: NVIDIA L4"):
        Facade(Told()).__enter__()
    assert _changed(before, _state()) == []


def test_torch_that_asks_for_other_names_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DryRunError, match=r"is_available\(\) of torch"):
        Facade(Told()).__enter__()


def _in_child(answers: Any) -> None:
    try:
        torch.cuda.current_device()
        answers.put("no error")
    except RuntimeError as error:
        answers.put(str(error))


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_forked_process_cannot_use_the_gpu(told: Told) -> None:
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=_in_child, args=(answers,))
    child.start()
    child.join()
    assert "Cannot re-initialize CUDA in forked subprocess" in answers.get()
