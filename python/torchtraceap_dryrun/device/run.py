# SPDX-License-Identifier: BSD-3-Clause
"""run.py: a dry run, as what stands in for operators and functions knows it.

Operators on device tensors run on meta, which works out shapes, and where values are
small also on their shadows (values.py). Loads torch.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from torchtraceap.waits.table import BY_OPERATOR
from torchtraceap_dryrun.device.arguments import tensors_in, written_by
from torchtraceap_dryrun.device.modes import OtherModes
from torchtraceap_dryrun.device.propagation import Follower
from torchtraceap_dryrun.device.shapes import ShapeCache, run_on_meta
from torchtraceap_dryrun.device.tensors import DEVICE, memory_of, on_device
from torchtraceap_dryrun.device.users_meta import UsersMeta
from torchtraceap_dryrun.device.values import Values
from torchtraceap_dryrun.record import Copy
from torchtraceap_dryrun.record_writer import RecordWriter

#: Stands in for an operator or function: called with the run, that, its arguments.
Handler = Callable[["Run", Any, Sequence[Any], dict[str, Any]], Any]
#: By function of torch above the dispatcher, as the mode is asked for it.
FunctionTable = Mapping[Any, Handler]


class Run:
    """Runs and records what is on the device."""

    def __init__(self, recorder: RecordWriter, values: Values) -> None:
        self.recorder = recorder
        self.values = values
        self.paused = False  #: True: its modes leave everything as it is.
        self.other_modes = OtherModes()
        self.users_meta = UsersMeta()
        self._shapes = ShapeCache()
        self._follower = Follower(self.values, self.recorder.note)

    def run(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Run an operator on the device's tensors, follow its values, record it with
        its entry in the table; return its result."""
        name = func._schema.name
        out = self._shapes_of(func, args, kwargs)
        outs = [t for t in tensors_in([out]) if on_device(t)]
        written = [
            t for t in tensors_in(written_by(func, args, kwargs)) if on_device(t)
        ]
        fresh = [t for t in outs if memory_of(t) is None]
        for tensor in itertools.chain(outs, written):
            self.recorder.live.allocate(tensor)
        self._follower.follow(func, args, kwargs, out, fresh, written)
        is_view = (
            bool(outs)
            and not fresh
            and (not written or torch.Tag.inplace_view in func.tags)
        )
        self.recorder.op(name, func._overloadname, args, kwargs, outs, is_view=is_view)
        row = BY_OPERATOR.get(name)
        if row is not None and row.applies(args, kwargs):
            self.recorder.sync(name, "table" if row.hidden else "seen")
        return out

    def _shapes_of(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if self.other_modes.there:  # They see each operator.
            with self.other_modes.shown():
                return run_on_meta(func, args, kwargs)
        return self._shapes.run(func, args, kwargs)

    def new(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Return a tensor on the device whose memory is counted."""
        tensor = torch.empty(tuple(shape), dtype=dtype, device=DEVICE)
        self.recorder.live.allocate(tensor)
        return tensor

    def emit(
        self,
        func: Any,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        outs: Sequence[Tensor],
        copy: Copy | None = None,
    ) -> None:
        """Record an operator that a handler stands in for."""
        for tensor in outs:
            if on_device(tensor):
                self.recorder.live.allocate(tensor)
        name = func._schema.name
        self.recorder.op(name, func._overloadname, args, kwargs, outs, copy)
