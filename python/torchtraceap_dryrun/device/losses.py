# SPDX-License-Identifier: BSD-3-Clause
"""losses.py: losses that go another way without values than CUDA tensors do.

Replacements for the border (border.py); loads torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from torchtraceap_dryrun.device.replacements import FunctionTable, is_here

if TYPE_CHECKING:
    from torchtraceap_dryrun.device.border import Border

_CROSS_ENTROPY = (
    *("input", "target", "weight", "size_average", "ignore_index", "reduce"),
    *("reduction", "label_smoothing"),
)
_LENGTHS = ("log_probs", "targets", "input_lengths", "target_lengths")


def _cross_entropy(
    border: Border, func: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """With weights and label_smoothing, targets that do not count are left out by a
    masked_select where tensors have values, and without one on meta."""
    given = {**dict(zip(_CROSS_ENTROPY, args, strict=False)), **kwargs}
    out = func(*args, **kwargs)
    both = given.get("weight") is not None and given.get("label_smoothing", 0.0) > 0
    classes = not given["target"].is_floating_point()
    mean = given.get("reduction", "mean") == "mean"
    if both and classes and mean and is_here(given["input"]):
        border.run.recorder.sync("aten::cross_entropy_loss", "table")
    return out


def _ctc_loss(
    border: Border, func: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """The kernel wants lengths of the host, as numbers: those on the device are copied
    back. On meta it would take them as tensors."""
    given = {**dict(zip(_LENGTHS, args, strict=False)), **kwargs}
    rest = args[len(_LENGTHS) :]
    if is_here(given["log_probs"]):
        for name in _LENGTHS[2:]:
            if isinstance(given[name], Tensor):
                given[name] = given[name].cpu().tolist()
    first = [given.pop(name) for name in _LENGTHS]
    kwargs = {key: value for key, value in given.items() if key in kwargs}
    return func(*first, *rest, **kwargs)


LOSSES: FunctionTable = {
    functional.cross_entropy: _cross_entropy,
    functional.ctc_loss: _ctc_loss,
    torch.ctc_loss: _ctc_loss,
}
