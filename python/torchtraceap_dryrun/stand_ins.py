# SPDX-License-Identifier: BSD-3-Clause
"""stand_ins.py: what torch is given in place of its own while there seems to be a GPU.

All of it can be taken away for a while. Loads torch.
"""

from __future__ import annotations

from contextlib import ExitStack

import torch

from torchtraceap_dryrun.device import callbacks, other_threads
from torchtraceap_dryrun.device.answers import pickling
from torchtraceap_dryrun.device.border import Border
from torchtraceap_dryrun.device.loading import loading
from torchtraceap_dryrun.device.modes import DefaultDevice
from torchtraceap_dryrun.device.saving import Saving
from torchtraceap_dryrun.facade.facade import Facade
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.overrides.overrides import overrides


class StandIns:
    """Lets torch answer as with a GPU from `begin` to `end`, but where suspended.

    To be made when no other run is under way: torch's own is what is there then.

    Args:
        border: The mode that sees functions; who enters it is another matter.
        allow_writes: As of `dry_run`.
    """

    def __init__(self, border: Border, allow_writes: bool) -> None:
        self._border = border
        self._allow_writes = allow_writes
        self._facade = Facade(border.run.recorder, border.run.values.default_generator)
        self._saving = Saving(border.run.recorder.note)
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
        recorder = self._border.run.recorder
        with ExitStack() as opening:
            opening.enter_context(self._facade)
            opening.enter_context(recorder.place.watching())
            opening.enter_context(overrides(self._border.run))
            opening.enter_context(callbacks.kept(self._border))
            opening.enter_context(loading(self._border))
            opening.enter_context(recorder.live.watching())
            if not self._allow_writes:
                opening.enter_context(self._saving.installed())
            opening.enter_context(other_threads.refused())
            replaced = opening.enter_context(Replacements())
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
            self._border.run.paused = True
            self._default_device.leave()
            self._there.close()

    def resume(self) -> None:
        """Go on after `suspend`, if that did not outlive the run."""
        self._suspensions -= 1
        if not self.suspended and not self._over:
            self.begin()
            self._default_device.come_back()
            self._border.run.paused = False
