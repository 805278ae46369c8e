# SPDX-License-Identifier: BSD-3-Clause
"""stand_ins.py: what torch is given in place of its own while there seems to be a GPU.

All of it can be taken away for a while. Loads torch.
"""

from __future__ import annotations

from contextlib import ExitStack

import torch

from torchtraceap_dryrun.device import other_threads
from torchtraceap_dryrun.device.function_mode import FunctionMode, kept
from torchtraceap_dryrun.device.functions import pickling
from torchtraceap_dryrun.device.modes import DefaultDevice
from torchtraceap_dryrun.device.saving import Saving
from torchtraceap_dryrun.device.storages import loading
from torchtraceap_dryrun.facade.facade import Facade
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.overrides import (
    attention,
    autocast,
    collectives,
    ddp,
    decompositions,
    rnn,
    tools,
)


class StandIns:
    """Lets torch answer as with a GPU from `begin` to `end`, but where suspended.

    To be made when no other run is under way: torch's own is what is there then.
    """

    def __init__(self, functions: FunctionMode, allow_writes: bool) -> None:
        self._functions = functions
        self._allow_writes = allow_writes
        self._facade = Facade(
            functions.run.recorder, functions.run.values.default_generator
        )
        self._saving = Saving(functions.run.recorder.note)
        self._default_device = DefaultDevice()
        self._there = ExitStack()
        self._suspensions = 0
        self._over = False

    @property
    def suspended(self) -> bool:
        """Whether torch is as it is without a GPU, for a while."""
        return self._suspensions > 0

    def begin(self) -> None:
        """Let torch answer as with a GPU."""
        run = self._functions.run
        recorder = run.recorder
        with ExitStack() as opening:
            enter = opening.enter_context
            enter(self._facade)
            enter(recorder.place.watching())
            casts = enter(autocast.installed())
            enter(autocast.early_noted(recorder.note))
            enter(attention.installed(recorder.gpu.compute_capability))
            enter(rnn.installed(casts))
            enter(decompositions.installed())
            enter(tools.loading_pinned())
            enter(collectives.installed(run))
            enter(ddp.installed(recorder))
            enter(tools.compile_bypassed(recorder.note))
            enter(tools.transformers_in_one_thread())
            enter(tools.profiling_cpu_alone(recorder.note))
            enter(kept(self._functions))
            enter(loading(run))
            enter(recorder.live.watching())
            if not self._allow_writes:
                enter(self._saving.installed())
            enter(other_threads.refused())
            replaced = enter(Replacements())
            pickled = pickling(torch.Tensor.__reduce_ex__, self._saving.seen)
            replaced.set(torch.Tensor, "__reduce_ex__", pickled)
            self._there = opening.pop_all()

    def end(self) -> None:
        """Let it be as it is without one; no `resume` changes that."""
        self._over = True
        try:
            if not self.suspended:  # Else it was left, and what is set is the host's.
                self._default_device.leave()
        finally:
            self._there.close()

    def suspend(self) -> None:
        """Let torch be as it is without a GPU until `resume`; may be nested."""
        self._suspensions += 1
        if self._suspensions == 1:
            self._functions.run.paused = True
            self._default_device.leave()
            self._there.close()

    def resume(self) -> None:
        """Go on after `suspend`, if that did not outlive the run."""
        self._suspensions -= 1
        if not self.suspended and not self._over:
            self.begin()
            self._default_device.come_back()
            self._functions.run.paused = False
