# SPDX-License-Identifier: BSD-3-Clause
"""dry_watch.py: without a GPU, runs code as if on one and notes what would wait."""

from __future__ import annotations

from contextlib import ExitStack

from torchtraceap.base.errors import DryRunError, DryRunUnderWay
from torchtraceap.checking.device import Watch, under_way
from torchtraceap.waits.verdict import Observation
from torchtraceap_dryrun.observation import Since, cannot_be_run, now, observe


class DryWatch(Watch):
    """Reads the record of the dry run that is under way, else of one of its own."""

    def __init__(self) -> None:
        from torchtraceap_dryrun.dry_run import dry_run

        self._own = under_way() is None
        self._run = under_way() or dry_run()
        self._open = ExitStack()
        self._since = Since()

    def prepare(self) -> None:
        if self._own:
            self._run.begun = "by no_sync_stalls"
            self._open.enter_context(self._run)

    def start(self) -> None:
        self._since = now(self._run.record)

    def step(self) -> None:
        self._run.step()

    def abandon(self) -> None:
        self._open.close()

    def stop(self) -> Observation:
        self.abandon()
        return observe(self._run.record, self._run.gpu, self._since)

    def failed(self, error: BaseException) -> Observation | None:
        if isinstance(error, DryRunError) and not isinstance(error, DryRunUnderWay):
            return cannot_be_run(error)
        return None
