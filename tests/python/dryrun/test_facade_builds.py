# SPDX-License-Identifier: BSD-3-Clause
"""test_facade_builds.py: the facade beside a GPU, in a child, in a build with CUDA."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from typing import Any

import pytest
import torch

from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.facade.facade import Facade

from .told import Told


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
    done = subprocess.run(
        [sys.executable, "-c", _CUDA_BUILD], capture_output=True, text=True
    )
    assert done.stderr == ""
    assert done.stdout == (
        "['Event.synchronize', 'torch.cuda.synchronize'] "
        "Found no NVIDIA driver on your system.\n"
    )
