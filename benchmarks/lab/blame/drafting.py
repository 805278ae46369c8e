# SPDX-License-Identifier: BSD-3-Clause
"""drafting.py: the frame of a program that is being written: draws, parts, ranges.

What happens in a part of the program is drawn from that part's own seed. So the parts
that two programs share are equal in both, whatever else is in one of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.lab.blame.gpus import Gpu
from benchmarks.lab.blame.instructions import (
    Await,
    Close,
    Host,
    Instruction,
    Key,
    Mark,
    Open,
    Signal,
    Take,
)

MAIN, AUTOGRAD = 4100, 4177
_STACK = 1.35  # Recording frames slows Python down.
_ENTER_US = 0.3  # Between the begins of two frames.


class Draft:
    """A program that is being written."""

    def __init__(self, gpu: Gpu, seed: int, causes: dict[str, float], stack: bool):
        self.gpu = gpu
        self.seed = seed
        self.causes = causes
        self.stack = stack
        self.code: dict[int, list[Instruction]] = {MAIN: []}
        self.thread = MAIN
        self.path = ""
        self.rng = random.Random(seed)
        self.works = 0
        self.modules = 0
        self.step = ""  #: The path of the step that is being written.
        self.slow = _STACK if stack else 1.0

    def has(self, cause: str) -> float:
        """Return a fault's strength, 0 without it."""
        return self.causes.get(cause, 0.0)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """A part of the program with draws of its own; "/name" is in no other part, so
        that it may be written elsewhere in another program."""
        before = self.path, self.rng, self.works
        self.path = name if name.startswith("/") else f"{self.path}/{name}"
        self.rng, self.works = random.Random(f"{self.seed}{self.path}"), 0
        yield
        self.path, self.rng, self.works = before

    @contextmanager
    def on_thread(self, tid: int) -> Iterator[None]:
        """What is written meanwhile is another thread's."""
        before, self.thread = self.thread, tid
        self.code.setdefault(tid, [])
        yield
        self.thread = before

    def put(self, it: Instruction) -> None:
        """Add an instruction."""
        self.code[self.thread].append(it)

    def key(self) -> Key:
        """Name the next work of this part."""
        self.works += 1
        return self.path, self.works

    def drawn(self, us: float, spread: float = 0.15) -> float:
        """Draw a length around `us`."""
        return us * self.rng.lognormvariate(0, spread)

    def host(self, us: float) -> None:
        """Let host time pass."""
        self.put(Host(self.drawn(us)))

    @contextmanager
    def within(self, category: str, name: str, **args: Any) -> Iterator[None]:
        """A range around what is written meanwhile."""
        self.put(Open(category, name, args))
        yield
        self.put(Close())

    def range(self, name: str) -> Any:
        """An annotation."""
        return self.within("user_annotation", name)

    @contextmanager
    def frame(self, name: str) -> Iterator[None]:
        """A Python frame, in recordings that have them."""
        if not self.stack:
            yield
            return
        with self.within("python_function", name):
            self.put(Host(_ENTER_US))
            yield
            self.put(Host(_ENTER_US))

    @contextmanager
    def uncaptured(self) -> Iterator[None]:
        """What no captured graph can hold."""
        self.put(Mark(True))
        yield
        self.put(Mark(False))

    @contextmanager
    def op(self, *names: str, **args: Any) -> Iterator[None]:
        """Nested operators around what is written meanwhile."""
        cost = self.gpu.dispatch * self.slow
        for name in names:
            self.put(Open("cpu_op", name, args))
            self.host(cost * 0.6 / len(names))
        yield
        for _ in names:
            self.host(cost * 0.25 / len(names))
            self.put(Close())
        self.host(cost * 0.15)

    def signal(self, token: str) -> None:
        """Let another thread go on."""
        self.put(Signal(token))

    def wait_for(self, token: str, us: float = 25.0) -> None:
        """Wait for another thread."""
        self.put(Await(token, self.drawn(us, 0.3)))

    def take(self, number: int, us: float) -> None:
        """Take a batch from the loader's workers."""
        self.put(Take(number, self.drawn(us)))
