# SPDX-License-Identifier: BSD-3-Clause
"""record.py: what a dry run writes down, in the order in which it happened.

Plain data without torch: operators that a GPU would run, calls by which the host
orders streams, and waits for the GPU. Nothing in it is a measured time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

from torchtraceap.base.source_lines import Line

#: Which part of a training step an operator belongs to; "forward" is all that is
#: neither of the others.
Phase = Literal["forward", "backward", "optimizer"]

#: Which values are worked out, those of "small" tensors or of "all"; the others' are
#: guessed.
Dial = Literal["none", "small", "all"]

#: How a wait became known: an operator that reads back was seen; a table says that
#: the CUDA kernel of this operator waits inside; the program called for it.
How = Literal["seen", "table", "facade"]

#: Whether the value that was read back is the one a GPU would have given. "none": no
#: value was read.
Value = Literal["known", "guessed", "none"]

#: How a call of the host orders streams, or waits for them.
CallKind = Literal[
    "event_record", "stream_wait", "event_sync", "stream_sync", "device_sync"
]

#: The number of the stream that work goes to where the program names none, as CUPTI
#: numbers it.
DEFAULT_STREAM = 7

#: What no dry run can tell, whatever it found.
CANNOT_KNOW = (
    "times of the host: Python, the dispatcher, data loading, other processes",
    "where a guessed value would have led otherwise: loops, branches, sizes",
    "waits of the driver (cudaMalloc, module loading) and of NCCL",
    "which algorithms cuDNN and cuBLAS choose, clocks, fragmentation of memory",
)

#: The note on a run that Ctrl-C ended.
INTERRUPTED = "The run was interrupted: this is what was found until then."

_ITEM_BYTES = {
    name: size
    for size, names in {
        2: "int16 uint16 float16 bfloat16",
        4: "int32 uint32 float32 complex32",
        8: "int64 uint64 float64 complex64",
        16: "complex128",
    }.items()
    for name in names.split()
}


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """What is known of a tensor that an operator took or gave."""

    shape: tuple[int, ...]
    dtype: str  #: As torch names it, without "torch.".
    stride: tuple[int, ...]
    device: Literal["cuda", "cpu"]

    @property
    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def item_bytes(self) -> int:
        """Bytes of an element; 1 of a type that is not listed."""
        return _ITEM_BYTES.get(self.dtype, 1)

    @property
    def nbytes(self) -> int:
        """Bytes that its elements take; broadcast elements count once."""
        sizes = zip(self.shape, self.stride, strict=True)
        return self.item_bytes * math.prod(n for n, step in sizes if step or n == 0)


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy between host and device, or on the device."""

    direction: Literal["h2d", "d2h", "d2d"]
    nbytes: int
    pinned: bool  #: The host's side is page-locked.
    blocking: bool  #: The call returns when the copy is done.


@dataclass(slots=True)
class Op:
    """An operator that took or gave a tensor on the device.

    Of ``args`` and ``kwargs``, tensors are TensorInfo, lists of tensors tuples of them,
    all else (sizes, numbers, dtypes as text) plain values.
    """

    name: str  #: As the dispatcher names it: "aten::addmm".
    overload: str  #: "", "out", "Tensor" ...
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: tuple[TensorInfo, ...]
    step: int  #: How many steps had ended before.
    phase: Phase
    #: The innermost line of the user's own code; of backward, see `forward`.
    line: Line | None
    #: The innermost module: "Net.encoder.0"; in an optimizer's step its class; else "".
    module: str
    stream: int = DEFAULT_STREAM
    #: Of a backward operator: the place in `Record.entries` of the forward operator
    #: whose gradient it works out, if known. Its ``line`` and ``module`` are that
    #: operator's; ``caller`` is where backward() was called.
    forward: int | None = None
    caller: Line | None = None
    stack: tuple[Line, ...] = ()  #: The user's own lines, innermost first.
    copy: Copy | None = None
    #: True: gives another view of the same memory, or memory without content, and
    #: launches nothing.
    is_view: bool = False


@dataclass(slots=True)
class Call:
    """A call by which the host orders streams or waits for them; launches nothing."""

    kind: CallKind
    step: int
    line: Line | None
    stream: int = DEFAULT_STREAM
    event: int = -1  #: Number of the event; -1: none.


@dataclass(slots=True)
class Sync:
    """A moment at which the host waits for the device."""

    api: str  #: "aten::_local_scalar_dense", "torch.cuda.synchronize" ...
    how: How
    value: Value
    step: int
    phase: Phase
    line: Line | None
    module: str
    entry: int  #: Place in `Record.entries` of the operator or call it belongs to.
    stack: tuple[Line, ...] = ()
    #: The innermost line outside of torch, where that is a library's.
    inner: Line | None = None
    #: What of the line waits, as the user wrote it: ".item()"; "": that is not known.
    written: str = ""


@dataclass(frozen=True)
class Stopped:
    """Where a program was ended, as it had made as many steps as were asked for."""

    line: Line | None  #: The innermost of the user's own; None: there is none.
    #: What it would have done after the loop of its steps, each as
    #: ``train.py:40-52 (evaluate, print)``.
    not_reached: tuple[str, ...] = ()


@dataclass(slots=True)
class Record:
    """All that a dry run wrote down."""

    entries: list[Op | Call] = field(default_factory=list)
    syncs: list[Sync] = field(default_factory=list)
    steps: int = 0  #: How many ended.
    peak_bytes: int = 0  #: Most memory that tensors on the device took at once.
    #: What the run could not do as a GPU would, each a sentence; in order, once each.
    notes: list[str] = field(default_factory=list)
    interrupted: bool = False  #: Ctrl-C ended it before its end.
    #: Where a program was ended, as it had made its steps; None: it was not.
    stopped: Stopped | None = None

    @property
    def last_step(self) -> int | None:
        """The number of the last step that ended; None: none did."""
        return self.steps - 1 if self.steps else None
