# SPDX-License-Identifier: BSD-3-Clause
"""stand_in_classes.py: classes for torch.Stream, Event and Generator. Loads torch.

These three are written in C for all devices, so they cannot be changed, as
torch.cuda.Stream can: others take their names. So it is with torch.cuda.FloatTensor and
its like, which are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchtraceap_dryrun.facade.active_run import is_active
from torchtraceap_dryrun.facade.device_properties import check_device, refuse
from torchtraceap_dryrun.facade.streams import CUDA, Event, Streams

_OF_A_GPU = 16  # Bytes of the state of a real CUDA generator: seed, then offset.


class Generator(torch.Generator):  # type: ignore[misc]
    """Replaces torch.Generator("cuda"): one of the CPU that calls itself cuda:0.

    Its numbers are the CPU's. So is its state, which is longer than that of a GPU's;
    of a state that a GPU gave, the seed is taken.
    """

    @property
    def device(self) -> Any:
        return torch.device("cuda", 0)

    def set_state(self, new_state: Any) -> Any:
        """Go on from a state, this one's or that of a real GPU's generator."""
        if new_state.numel() == _OF_A_GPU:
            seed = int.from_bytes(bytes(new_state.tolist()[:8]), "little")
            return self.manual_seed(seed)
        return super().set_state(new_state)

    def clone_state(self) -> Generator:
        clone = Generator()
        clone.set_state(self.get_state())
        return clone

    def get_offset(self) -> int:
        """Return 0: how many numbers were drawn is not counted."""
        return 0

    def set_offset(self, offset: int) -> None:
        """Take any offset for that of the seed."""


class LegacyType(type):
    """The class of the replacements for `torch.cuda.FloatTensor` and the like."""

    refused = refuse(
        "torch.cuda.FloatTensor and its like",
        'write torch.tensor(data, dtype=torch.float, device="cuda"), x.cuda().float(), '
        "and ask x.is_cuda and x.dtype",
    )
    __call__ = refused
    is_cuda = True

    def __instancecheck__(cls, instance: object) -> bool:
        # A module that was loaded meanwhile may hold this class for ever.
        return is_active() and bool(LegacyType.refused())


def stream_class(made_by: Streams) -> Any:
    """Return a class for torch.Stream: of the GPU unless told otherwise."""

    def make(device: Any = None, priority: int = 0, **kwargs: Any) -> Any:
        if "stream_id" in kwargs:
            if kwargs.get("device_type", CUDA) != CUDA:
                return None
        elif not _is_on_gpu(device):
            return None
        return made_by.of_cuda(torch.cuda.Stream, device, priority, **kwargs)

    return _stand_in(torch.Stream, make)


def event_class() -> Any:
    """Return a class for torch.Event: of the GPU unless told otherwise."""

    def make(device: Any = None, enable_timing: bool = False, **_: Any) -> Any:
        return Event(enable_timing) if _is_on_gpu(device) else None

    return _stand_in(torch.Event, make)


def generator_class() -> Any:
    """Return a class for torch.Generator: of the CPU unless told otherwise."""

    def make(device: Any = "cpu") -> Any:
        return Generator() if _is_on_gpu(device) else None

    return _stand_in(torch.Generator, make)


def _is_on_gpu(device: Any) -> bool:
    """Tell whether a device is the GPU; so is None, which means the accelerator.

    Raises torch.AcceleratorError for another GPU.
    """
    device = torch.device("cuda" if device is None else device)
    if device.type != "cuda":
        return False
    check_device(device.index or 0)
    return True


def _stand_in(former: Any, make: Callable[..., Any]) -> Any:
    """Return a class that makes what ``make`` does or, where that is None, what
    ``former`` does, and counts all of these as its instances."""

    class Meta(type(former)):  # type: ignore[misc]
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, former)

        def __subclasscheck__(cls, other: type) -> bool:
            return issubclass(other, former)

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            if cls is not stand_in:  # A user's subclass of it.
                return super().__call__(*args, **kwargs)
            # A module that was loaded meanwhile may hold this class for ever.
            made = make(*args, **kwargs) if is_active() else None
            return former(*args, **kwargs) if made is None else made

    names = {"__doc__": former.__doc__, "__module__": former.__module__}
    stand_in = Meta(former.__name__, (former,), names)
    return stand_in
