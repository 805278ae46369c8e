# SPDX-License-Identifier: BSD-3-Clause
"""step_ends.py: tells a dry run when a step of a program ends that does not say so.

A step ends with `step()` of a torch.profiler if the program calls one, else with
`step()` of an optimizer: of the first one to step, where there are several.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from torchtraceap.dryrun.facade.replacing import Replacements

if TYPE_CHECKING:
    from torchtraceap.dryrun.dry_run import DryRun


class Enough(BaseException):
    """Ends a program that has made as many steps as were asked for.

    No Exception, as SystemExit is none: programs catch those and go on.
    """


class StepEnds:
    """Ends the steps of a run.

    Args:
        run: The dry run.
        most: After so many steps `Enough` is raised; 0: never.
    """

    def __init__(self, run: DryRun, most: int) -> None:
        self._run = run
        self._most = most
        self._optimizer: weakref.ref[Any] | None = None
        self._by_profiler = False
        self._ended_at: tuple[int, int] | None = None
        #: What ended them; "": nothing did.
        self.by = ""

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Follow all optimizers and profilers while the block lasts."""
        import torch
        from torch.optim.optimizer import register_optimizer_step_post_hook

        of_torch = torch.profiler.profile.step

        def step(profiler: Any) -> None:
            of_torch(profiler)
            self._after_profiler()

        replaced = Replacements()
        hook = register_optimizer_step_post_hook(self._after_optimizer)
        try:
            replaced.set(torch.profiler.profile, "step", step)
            yield
        finally:
            replaced.undo()
            hook.remove()

    def _after_optimizer(self, optimizer: Any, *_: object) -> None:
        if self._by_profiler:
            return
        if self._optimizer is None or self._optimizer() is None:
            self._optimizer = weakref.ref(optimizer)
            self.by = f"{type(optimizer).__name__}.step()"
        if self._optimizer() is optimizer:
            self._end()

    def _after_profiler(self) -> None:
        if not self._by_profiler:
            self._by_profiler = True
            self.by = "step() of the profiler"
            self._join_steps()
        self._end()

    def _join_steps(self) -> None:
        """Undo what optimizers ended: until now it was one step, the profiler says."""
        record = self._run.record
        for entry in [*record.entries, *record.syncs]:
            entry.step = 0
        record.steps = 0

    def _end(self) -> None:
        self._run.step()
        record = self._run.record
        if self._most and record.steps >= self._most:
            self._ended_at = self._ended_at or (len(record.entries), len(record.syncs))
            raise Enough

    def forget_end(self) -> None:
        """Forget what a program did when it was ended, in its `finally` and the like:
        it would have gone on."""
        if self._ended_at is not None:
            entries, syncs = self._ended_at
            del self._run.record.entries[entries:]
            del self._run.record.syncs[syncs:]
