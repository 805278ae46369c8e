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
        self._run = under_way()
        self._open = ExitStack()
        self._since = Since()

    def prepare(self) -> None:
        """Begin a dry run, if none is under way."""
        if self._run is None:
            from torchtraceap_dryrun.dry_run import dry_run

            run = dry_run()
            run.begun = "by no_sync_stalls"
            self._run = self._open.enter_context(run)

    def start(self) -> None:
        """Begin to look."""
        assert self._run is not None
        self._since = now(self._run.record)

    def step(self) -> None:
        """End an iteration."""
        assert self._run is not None
        self._run.step()

    def abandon(self) -> None:
        """End the dry run, if it is this one's own."""
        self._open.close()

    def stop(self) -> Observation:
        """Tell what was written down since `start`."""
        self.abandon()
        assert self._run is not None
        return observe(self._run.record, self._run.gpu, self._since)

    def failed(self, error: BaseException) -> Observation | None:
        """Tell that code cannot be run dry, if it is that."""
        if isinstance(error, DryRunError) and not isinstance(error, DryRunUnderWay):
            return cannot_be_run(error)
        return None
