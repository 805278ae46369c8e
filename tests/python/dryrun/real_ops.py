# SPDX-License-Identifier: BSD-3-Clause
"""real_ops.py: the operators of a real run, as a mode sees them."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Real(NamedTuple):
    """An operator that ran."""

    name: str  #: Without aten's.
    phase: str  #: "forward" or "backward".
    args: tuple[Any, ...]


class RealOps(TorchDispatchMode):  # type: ignore[misc]
    """Writes down what runs while it is on."""

    def __init__(self) -> None:
        super().__init__()
        self.ops: list[Real] = []

    @property
    def names(self) -> list[str]:
        return [op.name for op in self.ops]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        phase = "backward" if torch._C._current_autograd_node() else "forward"
        self.ops.append(Real(func._schema.name.removeprefix("aten::"), phase, args))
        return func(*args, **(kwargs or {}))
