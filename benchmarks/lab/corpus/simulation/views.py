# SPDX-License-Identifier: BSD-3-Clause
"""views.py: as what a program is written, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from torchtraceap import _core


@dataclass(frozen=True)
class View:
    """How a program is written: as it is, or as if something cost nothing."""

    captured: bool = False  #: A CUDA graph holds all it can hold.
    no_waits: bool = False  #: The host never waits for the device.
    hidden: bool = False  #: Nothing waits for collectives.
    tensor_cores: bool = False  #: What computes in fp32 could use them.
    aligned: bool = False  #: No product has odd sizes.
    filled: bool = False  #: Kernels of few blocks have as many as the device takes.
    copied: bool = False  #: Copies between host and device are beside the work.


PLAIN = View()


@dataclass
class Lowered:
    """A program, and which item each of its work belongs to."""

    program: _core.Program
    keys: dict[int, str] = field(default_factory=dict)  #: By place of the work.
    reductions: list[int] = field(default_factory=list)  #: Work of rank 0.
