# SPDX-License-Identifier: BSD-3-Clause
"""items.py: the actions of a program in order, before they have times.

A step is a list of items; causes (causes.py) put items in or take them out. An item
keeps its key whatever is around it: the key selects its random numbers, and the
moments by which a run is compared with the same run without a cause.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Literal

from torchtraceap_dryrun.estimate.launch import Launch
from torchtraceap_dryrun.record import Copy


@dataclass(frozen=True)
class Place:
    """The parameters of a mechanism besides its strength.

    Attributes:
        step_us: What a step takes without any cause, in µs.
        tag: Part of the keys of what it puts in, so that two never share one.
        null: To touch the path at no cost meant.
        rng: The same whenever the mechanism is applied again.
        fixed: To write it as its fix does; most are left out instead.
        natural: As in programs without an inserted pattern.
    """

    step_us: float
    tag: str
    null: bool
    rng: random.Random
    fixed: bool = False
    natural: bool = False


Kind = Literal[
    "op",  # An operator: host time, launches, perhaps a copy.
    "wait",  # A call that waits for the device.
    "pause",  # The host does something else; `rows` say what it shows of it.
    "call",  # Calls into the runtime that launch nothing.
    "join",  # Waits for what a thread beside prepares, `us` after the last join.
    "reduce",  # A collective over all ranks.
    "reduced",  # The device's own stream waits for the collectives.
]


@dataclass(frozen=True, slots=True)
class RuntimeCall:
    """A call that launches nothing; ``drains`` the device first, as cudaFree does."""

    name: str
    us: float
    drains: bool = False


@dataclass(slots=True)
class Item:
    """One thing that the host does.

    Attributes:
        key: The same in all programs that hold this item.
        name: The operator, annotation or call.
        outer: Operators around it, the outermost first.
        args: Shapes and types, as text of JSON members.
        frames: Functions of the user's code around it, the outermost first.
        launches: Kernels, memsets and copies on the device, with their length in µs.
        copy: Between host and device.
        us: The length of a pause or a join.
        host: Share of the usual host time of its class.
        captured: Whether a CUDA graph would hold it.
        rows: Names of the recorded rows of a pause, the outermost first: "@" is an
            annotation, "#" a function of Python, all else an operator.
        nbytes: The size of a collective.
        precise: Its products are in full fp32, whatever else the program does.
        late_us: By how much other ranks come later to a collective than usual.
    """

    key: str
    kind: Kind
    name: str
    phase: str = "forward"
    outer: tuple[str, ...] = ()
    args: str = ""
    frames: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    launches: tuple[tuple[Launch, float], ...] = ()
    copy: Copy | None = None
    us: float = 0.0
    host: float = 1.0
    captured: bool = True
    rows: tuple[str, ...] = ()
    calls: tuple[RuntimeCall, ...] = ()
    nbytes: int = 0
    late_us: float = 0.0
    precise: bool = False
    arrives: str = ""  #: Key of the collective with which the other rank comes to it.
    line: str = ""
    sequence: int = -1  #: Of a forward operator with a gradient, and of that.
    #: More data in the program is more in its kernels, which then take longer and have
    #: more blocks. Not so of what a cause puts in: that is given as it is to be.
    grows: bool = True


Step = list[Item]


@dataclass
class Steps:
    """A program: the same step again and again, unless one is edited."""

    steps: list[Step] = field(default_factory=list)

    def copy(self) -> Steps:
        return Steps([list(step) for step in self.steps])
