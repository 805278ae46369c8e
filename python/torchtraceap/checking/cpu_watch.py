# SPDX-License-Identifier: BSD-3-Clause
"""cpu_watch.py: on the CPU, notes the operators that would wait if all tensors were on
a GPU, where that is asked for.

It sees each operator as Python's dispatcher does, before it runs, with the Python
stack still there. So the line is the exact line also where no function is called
(`if t:`, `x[mask]`), which the profiler's stacks cannot tell; and what the CPU's own
kernels read back inside an operator does not count as a wait. Loads torch.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from types import FrameType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from torchtraceap.checking.device import Watch, suspended
from torchtraceap.waits.table import BY_OPERATOR, PRINT
from torchtraceap.waits.verdict import Observation
from torchtraceap.waits.wait import Wait
from torchtraceap.waits.written import written
from torchtraceap_dryrun.lines import frame_at, user_stack


class CpuWatch(Watch):
    """Records from `start` to `stop` on the calling thread."""

    def __init__(self) -> None:
        self._mode = _Mode()
        self._open = ExitStack()

    def prepare(self) -> None:
        """Leave the dry run of the test: a test may ask for the CPU in one block."""
        self._open.enter_context(suspended())

    def start(self) -> None:
        self._open.enter_context(self._mode)
        self._open.enter_context(_noting_prints(self._mode))

    def step(self) -> None:
        self._mode.steps += 1

    def abandon(self) -> None:
        self._open.close()

    def stop(self) -> Observation:
        self.abandon()
        found = self._mode.found
        return Observation(
            tuple(found),
            scope=_scope(self._mode.on_host),
            mode="no GPU: operators that would wait for one",
            # What follows the last step is one, too.
            steps=max(1, self._mode.steps, *(max(w.in_steps) + 1 for w in found)),
        )


_COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd


@cache
def _is_composite(func: Any) -> bool:
    """Tell whether an operator is only made of others, which is what to look at.

    Autograd takes such operators apart before a mode sees them, but not in
    torch.inference_mode, where `item` arrives instead of `_local_scalar_dense`.
    """
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    name = func.name()
    return has_kernel(name, _COMPOSITE) and not has_kernel(name, "CPU")


class _Mode(TorchDispatchMode):  # type: ignore[misc]
    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self.found: list[Wait] = []
        self.on_host: Counter[str] = Counter()

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        # Compiled code stays compiled (torch 2.13); else torch would skip it, and
        # refuse to run what was compiled with fullgraph=True.
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        schema = getattr(func, "_schema", None)  # higher-order operators have none
        if schema is not None:
            # Nested tensors have kernels of their own.
            if _is_composite(func) and not any(
                getattr(one, "is_nested", False) for one in args
            ):
                with self:
                    return func._op_dk(_COMPOSITE, *args, **kwargs)
            row = BY_OPERATOR.get(schema.name)
            if row is not None and row.applies(args, kwargs):
                self.note(schema.name)
        return func(*args, **kwargs)

    def note(self, operator: str) -> None:
        frame = sys._getframe(2)
        if what := _host_code(frame):
            self.on_host[what] += 1
            return
        place = next(iter(user_stack(frame)), None)
        self.found.append(
            Wait(
                line=place,
                api=operator,
                cause=BY_OPERATOR[operator],
                in_steps={self.steps: 1},
                written=written(frame_at(frame, place)) if place is not None else "",
            )
        )


def _host_code(frame: FrameType | None) -> str:
    """Name the library code that is running whose tensors live on the CPU also when
    there is a GPU; "" if none is."""
    while frame is not None:
        code, caller = frame.f_code, frame.f_back
        if "torch/utils/data/" in code.co_filename:
            return "the data loader"
        # Adam and its like keep `step` on the CPU unless capturable or fused, and read
        # it through this function only. ASGD keeps it beside the parameters.
        if (
            code.co_name == "_get_value"
            and code.co_filename.endswith("torch/optim/optimizer.py")
            and not (caller and caller.f_code.co_filename.endswith("/optim/asgd.py"))
        ):
            return "optimizers' step counters"
        frame = caller
    return ""


@contextmanager
def _noting_prints(mode: _Mode) -> Iterator[None]:
    """Note where tensors become text: torch turns dispatch modes off to do that."""
    to_text = torch._tensor_str._str
    thread = threading.get_ident()

    def noting(*args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() == thread:
            mode.note(PRINT)
        return to_text(*args, **kwargs)

    torch._tensor_str._str = noting
    try:
        yield
    finally:
        torch._tensor_str._str = to_text


def _scope(on_host: Counter[str]) -> str:
    lines = [
        "Checked on the CPU: which operators would make it wait if all tensors were on "
        "a GPU.\n"
        "Not known here: how long; copies to the host (.cpu(), .to('cpu'), .tolist(), "
        ".numpy());\n"
        "and which tensors your code keeps on the CPU on purpose: they look the same.",
    ]
    if on_host:
        counts = ", ".join(f"{count} by {what}" for what, count in on_host.items())
        lines.append(f"Not counted, because they stay on the CPU anyway: {counts}.")
    return "\n".join(lines)
