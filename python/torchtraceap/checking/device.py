# SPDX-License-Identifier: BSD-3-Clause
"""device.py: what code is checked on: a GPU, the dry run that a test is in, or the CPU.

Asked at the start of every pytest, so it imports next to nothing.
"""

from __future__ import annotations

import importlib.util
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Literal

from torchtraceap.base.errors import DryRunError

if TYPE_CHECKING:
    from torchtraceap.waits.verdict import Observation
    from torchtraceap_dryrun.dry_run import DryRun

#: The fixture, and the marker of the same name.
NAME = "no_sync_stalls"

#: What code is checked on. auto: cuda where there is a GPU, else dry.
Device = Literal["auto", "cuda", "dry", "cpu"]
DEVICES: tuple[Device, ...] = ("auto", "cuda", "dry", "cpu")


def checked_device(value: str | None) -> Device | None:
    """Return the value of an option ``device``; ValueError if it is invalid."""
    if value is not None and value not in DEVICES:
        raise ValueError(f"device must be one of {DEVICES}, but is {value!r}")
    return value


def under_way() -> DryRun | None:
    """Return the dry run that this process is in, without loading torch."""
    module = sys.modules.get("torchtraceap_dryrun.dry_run")
    found: DryRun | None = module.under_way() if module else None
    return found


def resolved(device: Device) -> Device:
    """Return the device that "auto" means here. Loads torch to look for a GPU."""
    if device != "auto":
        return device
    return "cuda" if has_gpu() else "dry"


def has_torch() -> bool:
    """Tell whether torch is installed, without loading it."""
    return importlib.util.find_spec("torch") is not None


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

# The dry run of the test that runs.
_stage: DryRun | None = None


def begin_stage() -> DryRun | None:
    """Begin the dry run that a test is in, from before its fixtures to after them; None
    where that cannot be, which its checks find out, and say.

    A fixture that asks whether there is a GPU, and builds a model on it, does so before
    the check begins; so the dry run is there already. What outlives the test, such as a
    fixture of a wider scope, is made and ended without it.
    """
    global _stage
    from torchtraceap_dryrun.dry_run import dry_run

    try:
        run = dry_run()
        run.begun = _BEGUN
        _stage = run.__enter__()
    except DryRunError:
        return None
    return _stage


def end_stage() -> None:
    """End it, if it began; doing so twice does no harm."""
    global _stage
    run, _stage = _stage, None
    if run is not None:
        run.__exit__(None, None, None)


def stage() -> DryRun | None:
    """Return that of the test that runs, if it has one."""
    return _stage


def suspended() -> AbstractContextManager[None]:
    """Be, for a block, as without the dry run of the test, if it has one."""
    return nullcontext() if _stage is None else _stage.suspended()
