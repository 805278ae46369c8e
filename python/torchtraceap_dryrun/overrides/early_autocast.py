# SPDX-License-Identifier: BSD-3-Clause
"""early_autocast.py: says which `torch.autocast("cuda")` is off as it came too early.

Without a GPU torch switches it off as it is made, as by `@torch.autocast("cuda")` on a
function of a module that was imported before the run. Afterwards nothing tells that
from `enabled=False`, so it stays off. Loads torch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import torch

from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.lines import user_stack


@contextmanager
def installed(note: Callable[[str], None]) -> Iterator[None]:
    """Let ``note`` be told of each place at which such a block is entered."""
    made, enter = torch.autocast.__init__, torch.autocast.__enter__
    of_this_run: WeakSet[torch.autocast] = WeakSet()

    def __init__(self: torch.autocast, *args: Any, **kwargs: Any) -> None:
        of_this_run.add(self)
        made(self, *args, **kwargs)

    def __enter__(self: torch.autocast) -> Any:
        entered = enter(self)
        is_on = torch.is_autocast_enabled(self.device)
        if self.device == "cuda" and not is_on and self not in of_this_run:
            stack = user_stack(sys._getframe(1))
            note(
                f"{stack[0] if stack else 'a library'}: autocast is off here. It was "
                "made before the dry run, when there was no GPU, and torch switched "
                "it off then, unless it was told enabled=False: import that module, "
                "or decorate that function, within the dry run"
            )
        return entered

    with Replacements() as replaced:
        replaced.set(torch.autocast, "__init__", __init__)
        replaced.set(torch.autocast, "__enter__", __enter__)
        yield
