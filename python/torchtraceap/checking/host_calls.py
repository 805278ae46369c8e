# SPDX-License-Identifier: BSD-3-Clause
"""host_calls.py: notes calls that copy to the host, which do nothing on the CPU.

Between tensors of the CPU no operator runs in them, so that a watch of operators does
not see them; on a GPU each waits. Loads torch.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from torchtraceap.checking.sync_observation import Stall
from torchtraceap.dryrun.waits.sync_ops import host_code
from torchtraceap.source_lines import Line, deepest_user_line, stack

_CALLS = {
    Tensor.cpu: "cpu",
    Tensor.to: "to",
    Tensor.numpy: "numpy",
    Tensor.__array__: "numpy",
    Tensor.tolist: "tolist",
}
_WRITTEN = {"cpu": ".cpu()", "to": '.to("cpu")', "numpy": ".numpy()"}


class HostCalls(TorchFunctionMode):  # type: ignore[misc]
    """Notes them in a block, and lets all run as it would."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self._found: Counter[tuple[Line | None, str, int]] = Counter()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        try:
            call = _CALLS.get(func)
        except TypeError:  # not hashable
            call = None
        if (
            call is not None
            and args[0].device.type == "cpu"
            and (call != "to" or _names_cpu(args[1:2], kwargs))
        ):
            self._note(call)
        return func(*args, **kwargs)

    def _note(self, call: str) -> None:
        lines = stack(sys._getframe(2))
        for line, caller in zip(lines, [*lines[1:], None], strict=True):
            if host_code(line.file, line.function, caller.file if caller else ""):
                return  # It stays on the CPU anyway.
        self._found[deepest_user_line(lines), call, self.steps] += 1

    @property
    def found(self) -> tuple[Stall, ...]:
        """What was noted, as waits that there may be."""
        return tuple(
            Stall(
                line=line,
                operator="aten::_to_copy",
                count=count,
                wasted_us=None,
                what=f"{_WRITTEN.get(call, '.tolist()')} copies to the host",
                advice="copy after the loop, or with non_blocking=True into pinned "
                "memory",
                names=(call,),
                step=step,
            )
            for (line, call, step), count in self._found.items()
        )


def _names_cpu(first: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    named = kwargs.get("device", first[0] if first else None)
    if isinstance(named, str):
        return named.partition(":")[0] == "cpu"
    return isinstance(named, torch.device) and named.type == "cpu"
