# SPDX-License-Identifier: BSD-3-Clause
"""facade.py: makes torch.cuda and its like answer as on a machine with one GPU.

What is replaced by what stands in facade_table.py. Loads torch.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from operator import attrgetter
from typing import Any

import torch

from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.facade.active_run import set_active
from torchtraceap_dryrun.facade.device_properties import (
    CUDA_VERSION,
    CUDNN_VERSION,
    Device,
    check_device,
    refuse,
)
from torchtraceap_dryrun.facade.facade_table import CACHES, REPLACED, SET_IF_NONE
from torchtraceap_dryrun.facade.memory_stats import Cudart, MemoryFigures, Nvtx
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.facade.stand_in_classes import (
    Generator,
    LegacyType,
    event_class,
    generator_class,
    stream_class,
)
from torchtraceap_dryrun.facade.streams import Event, Stream, Streams
from torchtraceap_dryrun.private_names import TESTED, private
from torchtraceap_dryrun.record_writer import RecordWriter


class Facade:
    """What stands in for parts of torch, while a block lasts.

    Raises:
        DryRunError: On entry: a real GPU is here, or this version of torch asks for
            other names. Nothing is changed then.
    """

    yes, one = True, 1
    cuda_version, cudnn_version = CUDA_VERSION, CUDNN_VERSION
    no_graph = refuse(
        "a CUDA graph", "what it would replay is not run. Dry-run the step without it"
    )
    no_ipc = refuse("an event of another process", "there is no GPU to share")
    no_allocator = refuse(
        "memory from CUDA's allocator", "there is none behind a tensor's sizes"
    )
    no_handle = refuse("a handle of cuBLAS or cuSOLVER", "no library runs")
    no_jiterator = refuse(
        "a kernel of torch.cuda.jiterator", "what it computes is not known"
    )
    no_tuning = refuse("what torch.cuda.tunable found", "no kernel is tried")
    no_sensors = refuse("a GPU's sensors", "there is no GPU to ask")
    no_default_type = refuse(
        "a type of CUDA as default",
        'write torch.set_default_device("cuda") and torch.set_default_dtype',
    )
    legacy_type = LegacyType("LegacyType", (), {})
    priority_range = staticmethod(Stream.priority_range)

    def __init__(self, host: RecordWriter, generator: Generator | None = None) -> None:
        self._host = host
        self._replaced = Replacements()
        self._of_torch_init = private("torch.cuda._lazy_init")
        self._of_torch_default = private("torch._C._set_default_tensor_type")
        self.device = Device(host.gpu)
        self.memory = MemoryFigures(host)
        self.cudart = Cudart(host, self.memory)
        self.nvtx = Nvtx()
        self.streams = Streams(host)
        self.generators = (generator or Generator(),)
        # As functions: they are called with the class first, which __new__ needs.
        of_cuda = self.streams.of_cuda
        self.cuda_stream = lambda cls, *args, **kwargs: of_cuda(cls, *args, **kwargs)
        self.cuda_event = lambda cls, *args, **kwargs: Event(*args, **kwargs)
        self.any_stream = stream_class(self.streams)
        self.any_event = event_class()
        self.any_generator = generator_class()

    def __enter__(self) -> Facade:
        with ExitStack() as undo:
            if torch.cuda.is_available():
                raise DryRunError(
                    f"a real GPU is here: {torch.cuda.get_device_name()}. A dry run is "
                    "for machines without; with CUDA_VISIBLE_DEVICES= (empty) there is "
                    "none for a program"
                )
            # Twice, for Ctrl-C may break off the first.
            undo.callback(self._undo)
            undo.callback(self._undo)
            set_active(self._host)
            _forget_answers()
            self._replace()
            self._check()
            self._exit = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    def _undo(self) -> None:
        self._replaced.undo()
        _forget_answers()
        set_active(None)

    def _replace(self) -> None:
        of_torch = []
        for path, attribute in (SET_IF_NONE | REPLACED).items():
            owner, name = _place(path)
            if owner is None:
                continue
            former = getattr(owner, name, None)
            if path in SET_IF_NONE and former is not None:
                continue
            value = attrgetter(attribute)(self)
            # A CPU build has few of them; `_check` tells whether they are asked.
            self._replaced.set(owner, name, value, new=True)
            if isinstance(former, type):
                of_torch.append((former, value))
        self._replaced.set_wherever(of_torch)

    def _check(self) -> None:
        """Raise DryRunError if this torch does not ask what was replaced."""
        answers: dict[str, Callable[[], bool]] = {
            "torch.cuda.is_available()": torch.cuda.is_available,
            "torch.cuda.device_count()": lambda: torch.cuda.device_count() == 1,
            "torch.accelerator.current_accelerator()": lambda: (
                str(torch.accelerator.current_accelerator()) == "cuda"
            ),
            "torch.cuda.current_stream()": lambda: (
                torch.cuda.current_stream() == self.streams.current()
            ),
        }
        for what, is_right in answers.items():
            if not is_right():
                raise DryRunError(
                    f"{what} of torch {torch.__version__} does not answer as it would "
                    "with a GPU, so no dry run can be made. Tested is torch "
                    f"{TESTED}: use that, or report it as a bug of torchtraceap"
                )

    def lazy_init(self) -> None:
        """Refuse a thread that the run does not follow; torch asks whenever a GPU is
        named."""
        self._host.check_thread()
        self._of_torch_init()

    def set_default_type(self, kind: Any) -> None:
        """Refuse a type of CUDA; pass on those of the host."""
        if kind is self.legacy_type:
            self.no_default_type()
        self._of_torch_default(kind)

    def synchronize(self) -> None:
        self._host.wait("torch.cuda.synchronize", "device_sync")

    def synchronize_accelerator(self, index: int) -> None:
        check_device(index)
        self._host.wait("torch.accelerator.synchronize", "device_sync")


def _place(path: str) -> tuple[Any, str]:
    """Return where a dotted name of torch lies (None: this torch has no such place),
    and its last part."""
    *parts, name = path.split(".")
    owner: Any = torch
    for at, part in enumerate(parts[1:], 2):
        if not hasattr(owner, part):
            try:
                import_module(".".join(parts[:at]))
            except ImportError:
                return None, name
        owner = getattr(owner, part)
    return owner, name


def _forget_answers() -> None:
    for path in CACHES:
        owner, name = _place(path)
        if forget := getattr(getattr(owner, name, None), "cache_clear", None):
            forget()
