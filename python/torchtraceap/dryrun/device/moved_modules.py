# SPDX-License-Identifier: BSD-3-Clause
"""moved_modules.py: modules that were moved to the device come back in the end.

What is on the device has no values, so a model that a program built before, and goes on
with afterwards, would be lost: a fixture's in other tests, for example. Loads torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch import Tensor, nn

from torchtraceap.dryrun.device.devices import on_device
from torchtraceap.dryrun.facade.replacing import Replacements
from torchtraceap.dryrun.private_names import private

_NoFunctionModes = private("torch._C.DisableTorchFunction")


@contextmanager
def bringing_back() -> Iterator[None]:
    """Give modules their tensors of the host again when the block is over, with the
    values that they had when they left it. That memory is kept meanwhile."""
    parameters: dict[nn.Parameter, Tensor] = {}
    buffers: dict[tuple[nn.Module, str], Tensor] = {}
    recurrent: set[nn.RNNBase] = set()
    apply = nn.Module._apply

    def keeping(self: nn.Module, *args: Any, **kwargs: Any) -> nn.Module:
        if isinstance(self, nn.RNNBase):
            recurrent.add(self)
        with _NoFunctionModes():
            for parameter in self._parameters.values():
                if parameter is not None and _is_hosts(parameter):
                    parameters[parameter] = parameter.detach()
            for name, buffer in self._buffers.items():
                if buffer is not None and _is_hosts(buffer):
                    buffers[self, name] = buffer
        moved: nn.Module = apply(self, *args, **kwargs)
        return moved

    replaced = Replacements()
    replaced.set(nn.Module, "_apply", keeping)
    try:
        yield
    finally:
        replaced.undo()
        for layer in recurrent:
            layer._flat_weight_refs = []  # which would keep its weights where they are
        for parameter, host in parameters.items():
            _bring_back(parameter, host)
        for layer in recurrent:
            layer._init_flat_weights()
        for (module, name), buffer in buffers.items():
            now = module._buffers.get(name)
            if now is not None and on_device(now):
                module._buffers[name] = buffer


def _is_hosts(tensor: Tensor) -> bool:
    return bool(tensor.device.type == "cpu")


def _bring_back(parameter: nn.Parameter, host: Tensor) -> None:
    if not on_device(parameter):
        return
    parameter.grad = None
    with torch.inference_mode(host.is_inference()):
        returned = nn.Parameter(host, requires_grad=parameter.requires_grad)
    # torch does not swap what somebody holds a weak reference to.
    with suppress(RuntimeError):
        torch.utils.swap_tensors(parameter, returned)
