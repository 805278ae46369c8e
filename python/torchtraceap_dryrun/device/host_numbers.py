# SPDX-License-Identifier: BSD-3-Clause
"""host_numbers.py: single values of the host beside tensors of the device.

Most operators take a 0-dim tensor of the host as a number. These copy it to the device,
or want a number and read one of the device back. Loads torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from torchtraceap_dryrun.device.copies import moved
from torchtraceap_dryrun.device.devices import on_device

if TYPE_CHECKING:
    from torchtraceap_dryrun.device.dispatch import Dispatch, Handler


def _where(run: Dispatch, func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """Values of the host are copied first, as where_self_out has it."""
    args = [
        moved(run, arg) if isinstance(arg, Tensor) and _is_host_number(arg) else arg
        for arg in args
    ]
    return run.run(func, args, kwargs)


def _fill(run: Dispatch, func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """A value of the host is a number; the table says that one of the device waits."""
    *rest, value = args
    if not isinstance(value, Tensor) or on_device(value):
        return run.run(func, args, kwargs)
    packet = getattr(torch.ops.aten, func._schema.name.removeprefix("aten::"))
    scalar = func._overloadname.replace("Tensor", "Scalar")
    return filled(run, getattr(packet, scalar), rest, value)


def filled(run: Dispatch, func: Any, args: Sequence[Any], value: Tensor) -> Any:
    """Run an operator that takes a value of the host as a number."""
    out = run.run(func, (*args, value.item()), {})
    if not run.values.known(value):
        run.values.doubt(out)
    return out


def _is_host_number(tensor: Tensor) -> bool:
    return tensor.dim() == 0 and not on_device(tensor)


HOST_NUMBERS: Mapping[str, Handler] = {
    "aten::where": _where,
    "aten::masked_fill": _fill,
    "aten::masked_fill_": _fill,
    "aten::index_fill": _fill,
    "aten::index_fill_": _fill,
}
