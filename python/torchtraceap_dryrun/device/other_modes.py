# SPDX-License-Identifier: BSD-3-Clause
"""other_modes.py: dispatch modes that were entered before the dry run. Loads torch.

A FlopCounterMode around it counts what a program runs: each operator once, and nothing
of what is worked out beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from torchtraceap_dryrun.private_names import private
from torchtraceap_dryrun.without_modes import without_dispatch_modes

_count = private("torch._C._len_torch_dispatch_stack")
_push = private("torch.utils._python_dispatch._push_mode")
_pop = private("torch.utils._python_dispatch._pop_mode")


class OtherModes:
    """Those below the mode of the run, while it handles an operator."""

    def __init__(self) -> None:
        #: Those that are hidden, the outermost last.
        self.there: list[Any] = []

    def hidden(self) -> AbstractContextManager[None]:
        """Return a block of which other modes see nothing."""
        return self._hidden() if _count() else nullcontext()

    def shown(self) -> AbstractContextManager[None]:
        """Return a block, within a hidden one, of which they see everything."""
        return self._shown() if self.there else nullcontext()

    @contextmanager
    def _hidden(self) -> Iterator[None]:
        before = self.there
        with without_dispatch_modes() as modes:
            self.there = modes
            try:
                yield
            finally:
                self.there = before

    @contextmanager
    def _shown(self) -> Iterator[None]:
        modes, self.there = self.there, []
        pushed = 0
        try:
            for mode in reversed(modes):
                _push(mode)
                pushed += 1
            yield
        finally:
            for _ in range(pushed):
                _pop()
            self.there = modes
