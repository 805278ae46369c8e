# SPDX-License-Identifier: BSD-3-Clause
"""tools.py: what programs use around a step: `torch.compile`, torch's profiler, data
loaders, models of Hugging Face. Loads torch.

Compiled functions run uncompiled: no kernels can be compiled for a GPU that is not
there, so operators that Inductor would fuse are seen as the program wrote them; a note
says so. `torch.export`, which needs the compiler, is refused. The profiler would look
for a GPU, and warn for each event about the missing one, so it records the CPU alone.

Nothing can be pinned: what a DataLoader with workers does in a thread of its own is
done where the batch is taken. Workers are other processes, where there is no dry run.
`from_pretrained(device_map="cuda")` else moves weights in a pool of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

# Loaded now: while torch.cuda seems to be there it would look for parts that are not.
import torch._dynamo
from torch.utils.data import _utils
from torch.utils.data.dataloader import DataLoader

from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.device.modes import (
    without_dispatch_modes,
    without_function_modes,
)
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.private_names import private

COMPILE_NOTE = (
    "torch.compile was bypassed: a GPU would run fewer, fused kernels than the "
    "operators counted here"
)


def _refuse_fakes(*_: Any) -> None:
    raise DryRunError(
        "FakeTensorMode, which torch.export and the backward of flex_attention enter, "
        "cannot be entered in a dry run: its tensors are meta too. Export before the "
        "block, run flex_attention under torch.no_grad() or put scaled_dot_product_"
        "attention in its place, or leave out what enters it"
    )


@contextmanager
def compile_bypassed(note: Callable[[str], Any]) -> Iterator[None]:
    """Run compiled functions as they were written, also those compiled before; tell
    ``note`` of it."""
    on_call = private("torch._dynamo.eval_frame._callback_from_stance")

    def noted(compiler: Any) -> Any:
        if compiler not in (None, False):  # as for functions never to be compiled
            note(COMPILE_NOTE)
        return on_call(compiler)

    with torch.compiler.set_stance("force_eager"), Replacements() as replaced:
        fakes = private("torch._subclasses.fake_tensor.FakeTensorMode")
        replaced.set(fakes, "__enter__", _refuse_fakes)
        replaced.set(torch._dynamo.eval_frame, "_callback_from_stance", noted)
        # torch.compile warns of hooks on all modules, which are the dry run's own.
        modules = torch.nn.modules.module
        replaced.set(modules, "_has_any_global_hook", lambda: False)
        yield


PROFILER_NOTE = (
    "torch's profiler recorded only the CPU: its operators on the GPU show the work of "
    "the dry run"
)


@contextmanager
def profiling_cpu_alone(note: Callable[[str], Any]) -> Iterator[None]:
    """Let profilers made in the block do without a GPU; tell ``note`` of it."""
    profile = torch.autograd.profiler.profile
    of_torch = profile.__init__

    def without_gpu(self: Any, *args: Any, **kwargs: Any) -> None:
        note(PROFILER_NOTE)
        if kwargs.pop("use_cuda", False) or kwargs.get("use_device") == "cuda":
            kwargs = {**kwargs, "use_device": None, "use_cpu": True}
        of_torch(self, *args, **kwargs)

    with Replacements() as replaced:
        replaced.set(profile, "__init__", without_gpu)
        yield


_worker_loop = private("torch.utils.data._utils.worker._worker_loop")


def worker_loop(*args: Any, **kwargs: Any) -> None:
    """Be a worker without the modes of the dry run, which a forked process inherits."""
    with without_function_modes(), without_dispatch_modes():
        _worker_loop(*args, **kwargs)


@contextmanager
def loading_pinned() -> Iterator[None]:
    """Let data loaders with workers give batches that count as pinned, on request."""
    iterator = private("torch.utils.data.dataloader._MultiProcessingDataLoaderIter")
    pin = private("torch.utils.data._utils.pin_memory.pin_memory")
    init, next_data = iterator.__init__, iterator._next_data

    def init_unpinned(self: Any, loader: DataLoader[Any]) -> None:
        self._torchtraceap_pins = loader.pin_memory
        loader.pin_memory = False
        try:
            init(self, loader)
        finally:
            loader.pin_memory = self._torchtraceap_pins

    def next_pinned(self: Any) -> Any:
        batch = next_data(self)
        return pin(batch) if getattr(self, "_torchtraceap_pins", False) else batch

    with Replacements() as replaced:
        replaced.set(iterator, "__init__", init_unpinned)
        replaced.set(iterator, "_next_data", next_pinned)
        replaced.set(_utils.worker, "_worker_loop", worker_loop)
        yield


_NAME = "HF_DEACTIVATE_ASYNC_LOAD"


@contextmanager
def transformers_in_one_thread() -> Iterator[None]:
    """Tell transformers so, by the variable that it has for that."""
    former = os.environ.get(_NAME)
    os.environ[_NAME] = "1"
    try:
        yield
    finally:
        if former is None:
            os.environ.pop(_NAME, None)
        else:
            os.environ[_NAME] = former
