# SPDX-License-Identifier: BSD-3-Clause
"""device.py: what code is checked on: a GPU, the dry run that a test is in, or the CPU.

Asked at the start of every pytest, so it imports next to nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from torchtraceap.base.errors import DryRunError

if TYPE_CHECKING:
    from torchtraceap.waits.verdict import Observation
    from torchtraceap_dryrun.dry_run import DryRun

#: What code is checked on. auto: cuda where there is a GPU, else dry.
Device = Literal["auto", "cuda", "dry", "cpu"]
DEVICES: tuple[Device, ...] = ("auto", "cuda", "dry", "cpu")


def checked_device(value: object) -> Device | None:
    """Return the value of an option ``device``; ValueError if it makes no sense."""
    if value is None:
        return None
    for known in DEVICES:
        if value == known:
            return known
    raise ValueError(f"device must be one of {DEVICES}, but is {value!r}")


def under_way() -> DryRun | None:
    """Return the dry run that this process is in, without loading torch."""
    module = sys.modules.get("torchtraceap_dryrun.dry_run")
    found: DryRun | None = module.under_way() if module else None
    return found


def resolved(device: Device) -> Device:
    """Return what stands for "auto" here. Loads torch to look for a GPU."""
    if device != "auto":
        return device
    return "cuda" if has_gpu() else "dry"


def has_gpu() -> bool:
    """Tell whether a real GPU is here. Loads torch."""
    if under_way() is not None:
        return False
    import torch

    return bool(torch.cuda.is_available())


class Watch:
    """A way to find out what waits while code runs. This one cannot: there is no GPU,
    and nothing else was asked for."""

    def prepare(self) -> None:
        """Begin what the code needs to run, before the warm-up.

        Raises DryRunError if a dry run cannot begin.
        """

    def start(self) -> None:
        """Begin to look; raises RuntimeError if that cannot be now."""

    def step(self) -> None:
        """End an iteration of what is looked at."""

    def stop(self) -> Observation:
        """End, and tell what was seen since `start`."""
        from torchtraceap.waits.verdict import Observation

        problem = (
            'Nothing was checked: there is no GPU here. With device="dry" (or '
            "--traceap-device=dry) it is checked without one."
        )
        return Observation((), "", problem, "no GPU")

    def abandon(self) -> None:
        """End after an error of the code under test, or before `start`."""

    def failed(self, error: BaseException) -> Observation | None:
        """Tell what an error of the code means, after `abandon`, if it is not the
        code's own."""
        return None


_BEGUN = (
    "by no_sync_stalls, for the whole of this test (its check counts launches too: "
    'check.assert_launches(...); with device="cpu" it needs no dry run)'
)

_current: DryStage | None = None


class DryStage:
    """The dry run of one test, from before its fixtures to after them.

    A fixture that asks whether there is a GPU, and builds a model on it, does so before
    the check begins; so the dry run is there already. What outlives the test, such as a
    fixture of a wider scope, is made and ended without it.
    """

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
