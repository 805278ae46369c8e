# SPDX-License-Identifier: BSD-3-Clause
"""probe.py: one line of PyTorch, and whether CUDA makes the host wait at it.

Needs no torch before `names` is called, so that the table can be printed anywhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: What is waited for: one value, a size that only the device knows, a copy to the host,
#: a copy from it, something inside a CUDA kernel or operator, or what was asked for.
KINDS = ("scalar", "shape", "d2h", "h2d", "hidden", "explicit")

#: By what a dry run knows of each kind.
HOW = {kind: "seen" for kind in KINDS} | {"hidden": "table", "explicit": "facade"}

_WAIT = re.compile(r"(?:(\d+) )?(\w+)(\+?)")


@dataclass(frozen=True)
class Probe:
    """A row of the table."""

    name: str
    code: str  #: One line, over the names that `names` gives.
    waits: str  #: "" or a list such as "2 scalar, h2d+"; + is "at least".
    source: str  #: Of `probe_sources.SOURCES`: who says so.
    setup: str = ""  #: Lines before it, whose waits do not count.
    raises: str = ""  #: The name of the error that CUDA gives.
    refused: bool = False  #: A dry run says that it cannot do this.

    def expected(self) -> list[tuple[str, int, bool]]:
        """Return (kind, how many, whether more will do) for each kind of wait."""
        found = []
        for part in filter(None, self.waits.split(", ")):
            match = _WAIT.fullmatch(part)
            assert match is not None and match[2] in KINDS, (self.name, part)
            found.append((match[2], int(match[1] or 1), bool(match[3])))
        return found

    def agrees(self, waits: Counter[str]) -> bool:
        """Tell whether these counts of waits by kind are the expected ones."""
        expected = self.expected()
        return set(waits) == {kind for kind, _, _ in expected} and all(
            waits[kind] == count or (more and waits[kind] > count)
            for kind, count, more in expected
        )


def names(probe: Probe, device: str = "cuda") -> dict[str, Any]:
    """Return what a probe speaks of, made on ``device``; no tensor else, as to make all
    takes longer than most probes. Loads torch."""
    import copy
    import io
    import logging
    import math
    import pickle

    import numpy as np
    import torch
    import torch.nn.functional as functional
    from torch import nn, optim
    from torch.nn.utils import rnn
    from torch.utils import checkpoint

    torch.manual_seed(0)
    # The default, which torch.compile switches off for the whole process.
    torch.distributions.Distribution.set_default_validate_args(True)
    h = torch.linspace(0.1, 3.2, 32).view(4, 8)
    make: dict[str, Callable[[], Any]] = {
        # On the device: (4, 8), (8,), 0-dim, whole numbers, masks.
        "x": lambda: h.to(device),
        "y": lambda: (h + 1).to(device),
        "v": lambda: torch.linspace(1, 8, 8).to(device),
        "t": lambda: torch.tensor(2.0).to(device),
        "u": lambda: torch.tensor(3.0).to(device),
        "k": lambda: torch.tensor(2).to(device),
        "i": lambda: torch.tensor([0, 2, 1, 3]).to(device),
        "m": lambda: (h > 1.5).to(device),
        "r": lambda: torch.tensor([True, False, True, False]).to(device),
        "sq": lambda: (torch.eye(4) * 2 + 0.1).to(device),
        "x3": lambda: torch.linspace(0, 1, 48).view(4, 2, 6).to(device),
        # Of the host; hp is pinned.
        "h": lambda: h,
        "hi": lambda: torch.tensor([0, 2]),
        "hm": lambda: h > 1.5,
        "ht": lambda: torch.tensor(2.0),
        "hp": lambda: h.clone().pin_memory(),
        "ids": lambda: [[1, 2, 3], [4, 5, 6]],
        "net": lambda: nn.Linear(8, 8).to(device),
    }
    words = set(re.findall(r"\w+", f"{probe.setup} {probe.code}"))
    if "opt" in words:
        words.add("net")
    found = {name: made() for name, made in make.items() if name in words}
    if "opt" in words:
        found["opt"] = optim.SGD(found["net"].parameters(), lr=0.1)
    return found | {
        "torch": torch,
        "nn": nn,
        "F": functional,
        "optim": optim,
        "dist": torch.distributions,
        "rnn": rnn,
        "checkpoint": checkpoint.checkpoint,
        "np": np,
        "copy": copy,
        "io": io,
        "logging": logging,
        "math": math,
        "pickle": pickle,
    }
