# SPDX-License-Identifier: BSD-3-Clause
"""outliving.py: tells threads that outlive the run which followed them. Loads torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from torchtraceap.dryrun.device.devices import on_device
from torchtraceap.dryrun.device.memory import memory_of
from torchtraceap.dryrun.device.nested import tensors_in
from torchtraceap.dryrun.host_threads import outlived
from torchtraceap.dryrun.without_modes import without_function_modes


def refuse_after_end(
    args: Sequence[Any], kwargs: Mapping[str, Any], what: str, *, names: bool = False
) -> None:
    """Raise DryRunError if the GPU of a run that has ended is used.

    Args:
        args: What a function, or an operator, was given.
        kwargs: The same.
        what: Its name.
        names: Whether it uses the GPU whatever it was given.
    """
    with without_function_modes():
        given = [*args, *kwargs.values()]
        of_run = any(map(_is_of_run, tensors_in(given)))
        if names or of_run or any(map(_names_gpu, given)):
            raise outlived(what)


def refuse_made(out: Any, what: str) -> None:
    """Raise DryRunError if a function that was under way as its run ended returns
    something on the GPU."""
    with without_function_modes():
        if any(map(on_device, tensors_in([out]))):
            raise outlived(what)


def _names_gpu(value: Any) -> bool:
    if isinstance(value, str):
        return value.partition(":")[0] == "cuda"
    return isinstance(value, torch.device) and value.type == "cuda"


def _is_of_run(tensor: Tensor) -> bool:
    """Tell whether a tensor is of the run; others may be meta too."""
    return on_device(tensor) and memory_of(tensor) is not None
