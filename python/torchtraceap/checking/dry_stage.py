# SPDX-License-Identifier: BSD-3-Clause
"""dry_stage.py: the dry run of one test, from before its fixtures to after them.

A fixture that asks whether there is a GPU, and builds a model on it, is asked before
the check begins; so the dry run is there already. What outlives the test, such as a
fixture of a wider scope, is made and ended without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torchtraceap.base.errors import DryRunError
from torchtraceap.checking.sync_recorder import Device, has_gpu

if TYPE_CHECKING:
    from torchtraceap_dryrun.dry_run import DryRun

_BEGUN = (
    "by no_sync_stalls, for the whole of this test (its check counts launches too: "
    'check.assert_launches(...); with device="cpu" it needs no dry run)'
)

_current: DryStage | None = None


class DryStage:
    """A dry run that lasts as long as a test does."""

    def __init__(self) -> None:
        self._run: DryRun | None = None

    @property
    def used(self) -> bool:
        """Whether anything was put on its GPU."""
        return self._run is not None and bool(self._run.record.entries)

    def begin(self) -> None:
        """Begin it. Where that cannot be, the checks find out, and say so."""
        global _current
        from torchtraceap_dryrun.dry_run import dry_run

        try:
            run = dry_run()
            run.begun = _BEGUN
            self._run = run.__enter__()
        except DryRunError:
            return
        _current = self

    def end(self) -> None:
        """End it, if it began; doing so twice does no harm."""
        global _current
        run, self._run = self._run, None
        if run is not None:
            _current = None
            run.__exit__(None, None, None)

    def suspend(self) -> None:
        """Be as without it, until `resume`."""
        if self._run is not None:
            self._run.suspend()

    def resume(self) -> None:
        """Go on."""
        if self._run is not None:
            self._run.resume()


def current() -> DryStage | None:
    """Return that of the test that runs, if it has one."""
    return _current


@contextmanager
def suspended() -> Iterator[None]:
    """Be, for a block, as without the dry run of the test, if it has one."""
    stage = _current
    if stage is None:
        yield
        return
    stage.suspend()
    try:
        yield
    finally:
        stage.resume()


def wants_stage(device: Device) -> bool:
    """Tell whether a test that is checked on a device is run dry. Loads torch, if it
    hangs on whether there is a GPU."""
    return device == "dry" or (device == "auto" and not has_gpu())
