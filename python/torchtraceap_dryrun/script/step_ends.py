# SPDX-License-Identifier: BSD-3-Clause
"""step_ends.py: tells a dry run when a step of a program ends that does not say so.

A step ends with `step()` of a torch.profiler if the program calls one, else with
`step()` of an optimizer: of the first one to step, if there are several. The rest of
the loop's body then counts for the next step. If only one step is made it would count
for none, so the program continues until the next step begins, and the rest counts for
the one made.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from torchtraceap_dryrun.dry_run import DryRun
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.record import Call, Op
from torchtraceap_dryrun.script.ended import Ended
from torchtraceap_dryrun.script.ending import Ending
from torchtraceap_dryrun.script.stopped import stopped_at


class End(BaseException):
    """Ends a program.

    No Exception, as SystemExit is none: programs catch those and go on.
    """


class Enough(End):
    """Ends a program that has made as many steps as were asked for."""


class StepEnds:
    """Ends the steps of a run, those that its own thread makes; raises `Enough` after
    ``most`` of them (0: never), and tells ``ending`` what was found so far."""

    def __init__(self, run: DryRun, most: int, ending: Ending) -> None:
        self._run, self._most, self._ending = run, most, ending
        self._optimizer: weakref.ref[Any] | None = None
        self._by_profiler = False
        self._made = False  # All requested steps are made: the program has to end.
        self._finishing = False  # One step was made; the rest counts for it.
        self._tail = 0, 0  # entries and waits when it was
        self._ran: weakref.WeakSet[Any] = weakref.WeakSet()  # modules of that step
        #: What ended them; "": nothing did.
        self.by = ""
        self._thread = threading.get_ident()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Follow all optimizers and profilers while the block lasts."""
        of_torch = torch.profiler.profile.step

        def step(profiler: Any) -> None:
            of_torch(profiler)
            if self._is_own():
                self._after_profiler()

        hooks = [
            register_optimizer_step_post_hook(self._after_optimizer),
            register_optimizer_step_pre_hook(self._before_optimizer),
        ]
        try:
            if self._most == 1:  # It costs a little for each module.
                hooks.append(register_module_forward_pre_hook(self._before_module))
            with Replacements() as replaced:
                replaced.set(torch.profiler.profile, "step", step)
                yield
        finally:
            for hook in hooks:
                hook.remove()
            self._join_tail()

    def _is_own(self) -> bool:
        return threading.get_ident() == self._thread

    def _after_optimizer(self, optimizer: Any, *_: object) -> None:
        if self._by_profiler or not self._is_own():
            return
        if self._optimizer is None or self._optimizer() is None:
            self._optimizer = weakref.ref(optimizer)
            self.by = f"{type(optimizer).__name__}.step()"
        if self._optimizer() is optimizer:
            self._end()

    def _before_optimizer(self, *_: object) -> None:
        if self._finishing and self._is_own():
            self._raise_enough()

    def _before_module(self, module: Any, _: object) -> None:
        if not self._is_own():
            return
        if not self._finishing:
            self._ran.add(module)
        elif module in self._ran:  # Others, such as metrics, may be of this step still.
            self._raise_enough()

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
        self._ending.journal.again()

    def _end(self) -> None:
        if self._made:  # What is raised was caught.
            raise Enough
        self._run.step()
        self._ending.write()
        self._finishing = False
        steps = self._run.record.steps
        if self._most == steps == 1 and not self._by_profiler:
            self._finishing = True
            self._tail = len(self._run.record.entries), len(self._run.record.syncs)
        elif self._most and steps >= self._most:
            self._raise_enough()

    def _raise_enough(self) -> None:
        if not self._made:
            self._made = True
            self._join_tail()
            where = stopped_at(sys._getframe())
            self._ending.tell(Ended(self.by, stopped=where), soon=True)
        raise Enough

    def _join_tail(self) -> None:
        """Count what followed the optimizer for the one step that was made, up to where
        lines come that ran before: there the next one begins."""
        if not self._finishing:
            return
        self._finishing = False
        record = self._run.record
        entries, syncs = self._tail
        seen = {_place(entry) for entry in record.entries[:entries]}
        tail = record.entries[entries:]
        begun = (at for at, entry in enumerate(tail) if _place(entry) in seen)
        end = entries + next(begun, len(tail))
        for entry in record.entries[entries:end]:
            entry.step = 0
        for sync in record.syncs[syncs:]:
            if sync.entry < end:
                sync.step = 0
        self._ending.journal.again(entries, syncs)


def _place(entry: Op | Call) -> object:
    """Return where in the program an entry comes from."""
    return entry.stack if isinstance(entry, Op) else entry.line
