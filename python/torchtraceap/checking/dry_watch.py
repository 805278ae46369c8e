# SPDX-License-Identifier: BSD-3-Clause
"""dry_watch.py: without a GPU, runs code as if on one and notes what would wait."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from torchtraceap.base.errors import DryRunError, DryRunUnderWay
from torchtraceap.checking.sync_recorder import Recorder, under_way
from torchtraceap.waits.verdict import Observation
from torchtraceap_dryrun.judged import Since, cannot_be_run, now, observe
from torchtraceap_dryrun.record import Record

_ALL_ON_CPU = (
    "The code put nothing on a GPU, though a dry run offered one; so all tensors are "
    "taken to be on it.\n"
)
_NO_DRY_RUN = "No dry run could be made, so all tensors are taken to be on a GPU: "


class DryWatch(Recorder):
    """Reads the record of the dry run that is under way, else of one of its own."""

    def __init__(self) -> None:
        self._run = under_way()
        self._open = ExitStack()
        self._since = Since()

    @property
    def record(self) -> Record:
        """The whole record, also of what was before `start`."""
        assert self._run is not None
        return self._run.record

    def prepare(self) -> None:
        """Begin a dry run, if none is under way; DryRunError if that cannot be."""
        if self._run is None:
            from torchtraceap_dryrun.dry_run import dry_run

            run = dry_run()
            run.begun = "by no_sync_stalls"
            self._run = self._open.enter_context(run)

    def start(self) -> None:
        """Begin to look."""
        self._since = now(self.record)

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


class DryOrCpuWatch(Recorder):
    """Runs code as if on a GPU; where it puts nothing on that, what its operators on
    the CPU would wait for counts."""

    def __init__(self) -> None:
        from torchtraceap.checking.sync_watch import HostCalls, SyncWatch

        self._dry = DryWatch()
        self._cpu = SyncWatch()
        self._calls = HostCalls()
        self._open = ExitStack()
        self._no_dry_run = ""

    def prepare(self) -> None:
        """Begin a dry run where one can be made."""
        try:
            self._dry.prepare()
        except DryRunError as error:
            self._no_dry_run = str(error)

    def start(self) -> None:
        """Begin to look."""
        if not self._no_dry_run:
            self._dry.start()
        self._cpu.start()
        self._open.enter_context(self._calls)

    def step(self) -> None:
        """End an iteration."""
        self._calls.steps += 1
        if not self._no_dry_run:
            self._dry.step()
        self._cpu.step()

    def abandon(self) -> None:
        """End both."""
        self._open.close()
        self._cpu.abandon()
        self._dry.abandon()

    def stop(self) -> Observation:
        """Tell what was seen by the one that counts."""
        self._open.close()
        seen = replace(self._cpu.stop(), untold=self._calls.found)
        if self._no_dry_run:
            why = f"{_NO_DRY_RUN}{self._no_dry_run}\n"
            return replace(seen, scope=why + seen.scope)
        found = self._dry.stop()
        if self._dry.record.entries:
            return found
        return replace(seen, scope=_ALL_ON_CPU + seen.scope)

    def failed(self, error: BaseException) -> Observation | None:
        """Tell that code cannot be run dry, if it is that."""
        return None if self._no_dry_run else self._dry.failed(error)
