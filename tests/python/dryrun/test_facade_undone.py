# SPDX-License-Identifier: BSD-3-Clause
"""test_facade_undone.py: the facade beside a GPU, in a child, in a build with CUDA, and
that after a dry run torch is as before it, however that ended."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import threading
import types
from typing import Any

import pytest
import torch
from torch import Generator  # bound before any run

from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.dry_run import dry_run
from torchtraceap_dryrun.facade.facade import Facade
from torchtraceap_dryrun.facade.replacing import Replacements

from ..conftest import python
from .told import Told

_WATCHED = (
    "torch",
    "torch.__future__",
    "torch._C",
    "torch.accelerator",
    "torch.backends",
    "torch.distributed",
    "torch.version",
    "torch.random",
    "torch.amp",
)


def _state() -> dict[str, Any]:
    """All attributes of torch that a dry run might leave changed."""
    state: dict[str, Any] = {"here": Generator}
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
    return state


def changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
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
        during = changed(before, _state())
        torch.cuda.manual_seed(1)
        assert torch.get_device_module() is torch.cuda  # which remembers
        torch.cuda.Stream().synchronize()
    assert "torch._C._cuda_synchronize" in during and "here" in during
    assert "torch.cuda.Stream.__new__" in during and len(during) > 80
    assert changed(before, _state()) == []
    assert not torch.cuda.is_available() and not torch.cuda.is_initialized()
    assert torch.get_device_module() is torch.cpu
    # As the class has them, not as one gets them from it.
    assert isinstance(vars(torch.cuda.Stream)["__new__"], staticmethod)
    assert isinstance(vars(torch.cuda.Event)["from_ipc_handle"], classmethod)
    with pytest.raises((AssertionError, RuntimeError)):
        torch.cuda.current_device()
    with pytest.raises(RuntimeError):
        torch.cuda.Stream()


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
    assert changed(before, _state()) == []
    with Facade(Told()):  # and the next can begin
        assert torch.cuda.is_available()


def test_interrupted_exit_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _load()
    before = _state()
    undo, calls = Replacements.undo, []

    def interrupted(self: Replacements) -> None:
        calls.append(self)
        if len(calls) == 1:
            first, self._former = self._former[:50], self._former[50:]
            undo(self)
            self._former = first
            raise KeyboardInterrupt  # half-way
        undo(self)

    monkeypatch.setattr(Replacements, "undo", interrupted)
    with pytest.raises(KeyboardInterrupt), Facade(Told()):
        pass
    assert len(calls) == 2 and changed(before, _state()) == []


def test_runs_are_not_nested() -> None:
    with dry_run() as run:
        with (
            pytest.raises(DryRunError, match=r"already, begun at .*_undone\.py:\d+"),
            dry_run(),
        ):
            pass
        assert torch.cuda.is_available()
    assert not torch.cuda.is_available()
    with pytest.raises(DryRunError, match="once"), run:
        pass


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


def test_an_error_leaves_nothing_behind() -> None:
    with dry_run():  # what is imported on first use
        torch.nn.Linear(2, 2, device="cuda")
    before = _state()
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), dry_run():
            layer = torch.nn.Linear(2, 2).cuda()
            layer(torch.ones(2, device="cuda")).sum().backward()
            raise error
        assert changed(before, _state()) == []
        assert torch.ones(2).sum().item() == 2 and str(torch.ones(2).device) == "cpu"


def test_names_of_other_modules_are_found() -> None:
    module = types.ModuleType("imported_before")
    module.Generator = module.Made = torch.Generator  # type: ignore[attr-defined]
    sys.modules["imported_before"] = module
    try:
        with Facade(Told()):
            assert str(module.Made("cuda").device) == "cuda:0"
            module.Made = "the program's own now"
            late = types.ModuleType("imported_meanwhile")
            late.Generator = torch.Generator  # type: ignore[attr-defined]
        assert module.Generator is torch.Generator
        # What a module that was loaded meanwhile holds does as torch's own class.
        made = late.Generator()
        assert type(made) is torch.Generator and str(made.device) == "cpu"
        with pytest.raises(RuntimeError, match="CUDA"):
            late.Generator("cuda")
    finally:
        del sys.modules["imported_before"]


# --- Other builds and processes -------------------------------------------------------


def test_a_real_gpu_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA L4")
    before = dict(vars(torch.cuda)), dict(vars(torch._C))
    with pytest.raises(DryRunError, match="a real GPU is here: NVIDIA L4"):
        Facade(Told()).__enter__()
    assert before == (vars(torch.cuda), vars(torch._C))


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_forked_process_cannot_use_the_gpu(told: Told) -> None:
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=_in_child, args=(answers,))
    child.start()
    child.join()
    assert "Cannot re-initialize CUDA in forked subprocess" in answers.get()


_CUDA_BUILD = """
import sys, types

class Hook:
    def find_spec(self, name, path=None, target=None):
        if name != "torch.cuda":
            return
        C = sys.modules["torch._C"]
        def no_driver(*args, **kwargs):
            raise RuntimeError("Found no NVIDIA driver on your system.")
        # Classes in C are their bases there, as these two are.
        C._CudaStreamBase, C._CudaEventBase = C.Stream, C.Event
        C._CUDAGraph = type("_CUDAGraph", (), {})
        C._graph_pool_handle = C._cuda_isCurrentStreamCapturing = no_driver
        C._cuda_getDeviceCount = lambda: 0
        C._cuda_isInBadFork = lambda: False
        C._cudart = types.ModuleType("_cudart")
        for name in (
            "init exchangeDevice maybeExchangeDevice synchronize getDevice "
            "getCurrentStream setStream getCurrentRawStream"
        ).split():
            setattr(C, f"_cuda_{name}", no_driver)

sys.meta_path.insert(0, Hook())
import torch
from torch.cuda import Event, Stream, synchronize
from torchtraceap import dry_run

assert torch.cuda._is_compiled() and not torch.cuda.is_available()
assert issubclass(Stream, torch.Stream)
owners = torch.cuda, torch._C, Stream, Event
before = [dict(vars(owner)) for owner in owners]
with dry_run() as run:
    side, event = Stream(), Event()
    assert isinstance(side, Stream) and isinstance(event, Event)
    event.record(side)
    event.synchronize()
    synchronize()
    layer = torch.nn.Linear(3, 3).cuda()
    layer(torch.ones(3, device="cuda")).sum().backward()
    assert layer.weight.grad.is_cuda and torch.cuda.current_device() == 0
for owner, former in zip(owners, before):
    now = vars(owner)
    assert [k for k in now.keys() | former if now.get(k) is not former.get(k)] == []
try:
    synchronize()
except RuntimeError as error:
    print([sync.api for sync in run.syncs][:2], error)
"""


def test_build_with_cuda_on_a_machine_without_a_gpu() -> None:
    done = python("-c", _CUDA_BUILD)
    assert done.stderr == ""
    assert done.stdout == (
        "['Event.synchronize', 'torch.cuda.synchronize'] "
        "Found no NVIDIA driver on your system.\n"
    )
