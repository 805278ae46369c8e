# SPDX-License-Identifier: BSD-3-Clause
"""instructions.py: a simulated program, as data.

Every length is drawn when the program is written, so that the same work takes the
same time in a program with a fault and in the one without it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchmarks.lab.blame.gpus import Gpu

#: What names the same work in a program with a fault and in that without it.
Key = tuple[str, int]
Stream = tuple[int, int]  #: Device and number.


@dataclass(slots=True)
class Work:
    """A kernel, copy or memset of a device."""

    kind: str  #: kernel, gpu_memcpy or gpu_memset.
    name: str
    us: float
    stream: Stream
    key: Key
    latency: float  #: From its call's begin to its earliest start.
    gap: float  #: From the end of the work before on its stream.
    args: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Call:
    """A call into the runtime: gives work to streams, waits, or does neither."""

    name: str
    us: float  #: Without its waiting.
    works: tuple[Work, ...] = ()
    #: "work" (its own), a stream, ("device", number), or ("event", id).
    waits: Any = None
    wakes: float = 0.0  #: From the end of what is waited for to the return.
    after: float = 0.0  #: What the call does once its wait is over.
    records: str = ""  #: An event, of the stream `on`.
    gates: str = ""  #: The stream `on` goes on only after this event.
    on: Stream = (0, 7)


@dataclass(slots=True)
class Host:
    """Host time between calls."""

    us: float


@dataclass(slots=True)
class Open:
    """The begin of an operator, a range or a Python frame."""

    category: str
    name: str
    args: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Close:
    """The end of the last one opened."""


@dataclass(slots=True)
class Signal:
    """Lets those go on that await it."""

    token: str


@dataclass(slots=True)
class Await:
    """Waits for a signal of another thread."""

    token: str
    us: float  #: From the signal to going on.


@dataclass(slots=True)
class Take:
    """Waits for the next batch of the loader's workers."""

    number: int
    us: float


@dataclass(slots=True)
class Mark:
    """What cannot be part of a captured graph begins (or ends) here."""

    opens: bool


Instruction = Call | Host | Open | Close | Signal | Await | Take | Mark


@dataclass
class Workers:
    """The processes of a loader, and how far they are when recording begins."""

    number: int = 0
    batch_us: list[float] = field(default_factory=list)
    prefetch: int = 2
    behind: bool = False  #: They work on the first batches only now.


@dataclass
class Program:
    """What each thread does, in order; the first is the main thread."""

    gpu: Gpu
    threads: dict[int, list[Instruction]]
    workers: Workers
    start_us: dict[int, float] = field(default_factory=dict)
    world: int = 1
