# SPDX-License-Identifier: BSD-3-Clause
"""host_guesses.py: which memory of the host holds what was guessed. Loads torch.

A tensor that is copied from the device with a guess in it, and what is worked out of it
on the host, carries a mark on its storage, so that it is no known value once it is
copied back. Numbers of Python carry none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from torchtraceap_dryrun.device.nested import tensors_in
from torchtraceap_dryrun.device.signatures import written_by

_MARK = "_traceap_guessed"


def mark_guessed(tensor: Tensor) -> None:
    """Say that the values of a tensor of the host come from guesses."""
    if tensor.layout == torch.strided:
        setattr(tensor.untyped_storage(), _MARK, True)


def is_guessed(tensor: Tensor) -> bool:
    """Tell whether the values of a tensor of the host come from guesses."""
    if tensor.layout != torch.strided:
        return False
    try:
        storage = tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):  # Of a subclass that has none.
        return False
    return getattr(storage, _MARK, False)


def run_on_host(
    func: Any, args: Sequence[Any], kwargs: dict[str, Any], given: Iterable[Tensor]
) -> Any:
    """Run an operator of the host; what it makes of guesses is one.

    Args:
        func: The operator.
        args: What it is called with.
        kwargs: The same.
        given: Those tensors among it that may hold guesses.
    """
    guessed = any(map(is_guessed, given))
    out = func(*args, **kwargs)
    if guessed:
        for tensor in tensors_in([out, *written_by(func, args, kwargs)]):
            mark_guessed(tensor)
    return out
