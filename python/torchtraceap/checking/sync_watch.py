# SPDX-License-Identifier: BSD-3-Clause
"""sync_watch.py: without a GPU, notes the operators that would wait for one.

It sees each operator as Python's dispatcher does, before it runs, with the Python
stack still there. So the line is the exact line also where no function is called
(`if t:`, `x[mask]`), which the profiler's stacks cannot tell; and what the CPU's own
kernels read back inside an operator does not count as a wait.

Between tensors of the CPU no operator runs in them, so that a watch of operators does
not see them; on a GPU each waits. Loads torch.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from torchtraceap.base.source_lines import Line, deepest_user_line, stack
from torchtraceap.checking.dry_stage import suspended
from torchtraceap.checking.sync_recorder import Recorder
from torchtraceap.waits.table import BY_OPERATOR, PRINT, host_code
from torchtraceap.waits.verdict import Observation, Stall
from torchtraceap.waits.written import written
from torchtraceap_dryrun.lines import frame_at

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


class SyncWatch(Recorder):
    """Records from `start` to `stop` on the calling thread. Loads torch."""

    def __init__(self) -> None:
        self._mode = _Mode()
        self._open = ExitStack()

    def prepare(self) -> None:
        # Where a test asks for the CPU in one of its blocks only.
        self._open.enter_context(suspended())

    def step(self) -> None:
        self._mode.steps += 1

    def start(self) -> None:
        self._open.enter_context(self._mode)
        self._open.enter_context(_noting_prints(self._mode))

    def abandon(self) -> None:
        self._open.close()

    def stop(self) -> Observation:
        self.abandon()
        found, steps = self._mode.found, self._mode.steps
        return Observation(
            tuple(_stall(*place, count) for place, count in found.items()),
            scope=_scope(self._mode.on_host),
            mode="no GPU: operators that would wait for one",
            steps=max(1, steps, *(step + 1 for _, _, step, _ in found)),
        )


_COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd


@cache
def _is_composite(func: Any) -> bool:
    """Tells whether an operator is only made of others, which is what to look at.

    Autograd takes such operators apart before a mode sees them, but not in
    torch.inference_mode, where `item` arrives instead of `_local_scalar_dense`.
    """
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    name = func.name()
    return has_kernel(name, _COMPOSITE) and not has_kernel(name, "CPU")


def _is_nested(argument: Any) -> bool:
    return isinstance(argument, torch.Tensor) and argument.is_nested  # own kernels


#: A line, an operator, how many steps came before, and what of the line waits.
Found = tuple[Line | None, str, int, str]


class _Mode(TorchDispatchMode):  # type: ignore[misc]
    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self.found: Counter[Found] = Counter()
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
            if _is_composite(func) and not any(_is_nested(one) for one in args):
                with self:
                    return func._op_dk(_COMPOSITE, *args, **kwargs)
            row = BY_OPERATOR.get(schema.name)
            if row is not None and row.applies((args, kwargs)):
                self.note(schema.name)
        return func(*args, **kwargs)

    def note(self, operator: str) -> None:
        frame = sys._getframe(2)
        lines = stack(frame)
        for line, caller in zip(lines, [*lines[1:], None], strict=True):
            host = host_code(line.file, line.function, caller.file if caller else "")
            if host is not None:
                self.on_host[host.what] += 1
                return
        place = deepest_user_line(lines)
        text = written(frame_at(frame, place)) if place is not None else ""
        self.found[place, operator, self.steps, text] += 1


@contextmanager
def _noting_prints(mode: _Mode) -> Iterator[None]:
    """Notes where tensors become text: torch turns dispatch modes off to do that."""
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


def _stall(line: Line | None, operator: str, step: int, text: str, count: int) -> Stall:
    row = BY_OPERATOR[operator]
    return Stall(
        line=line,
        operator=operator,
        count=count,
        wasted_us=None,
        what=row.what,
        advice=row.instead,
        names=row.names,
        step=step,
        written=text,
    )


def _scope(on_host: Counter[str]) -> str:
    lines = [
        "Checked on a machine without a GPU: which operators would make the CPU wait "
        "for one.\n"
        "Not known here: how long; copies to the host (.cpu(), .to('cpu'), .tolist(), "
        ".numpy());\n"
        "and which tensors your code keeps on the CPU on purpose: they look the same.",
    ]
    if on_host:
        counts = ", ".join(f"{count} by {what}" for what, count in on_host.items())
        lines.append(f"Not counted, because they stay on the CPU anyway: {counts}.")
    return "\n".join(lines)
