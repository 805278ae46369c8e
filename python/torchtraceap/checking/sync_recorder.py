# SPDX-License-Identifier: BSD-3-Clause
"""sync_recorder.py: the ways to find out what waits, and which is used where."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from torchtraceap.waits.verdict import Observation
    from torchtraceap_dryrun.dry_run import DryRun

#: What code is checked on. auto: cuda where there is a GPU; else dry, or cpu where the
#: code puts nothing on the dry run's GPU.
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


class Recorder:
    """A way to find out what waits. This one finds nothing."""

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
        raise NotImplementedError

    def abandon(self) -> None:
        """End after an error of the code under test, or before `start`."""

    def failed(self, error: BaseException) -> Observation | None:
        """Tell what an error of the code means, after `abandon`, if it is not the
        code's own."""
        return None


class NoGpu(Recorder):
    """Stands for a run on a GPU where there is none."""

    def stop(self) -> Observation:
        """Tell why nothing was looked at."""
        from torchtraceap.waits.verdict import Observation

        problem = (
            'Nothing was checked: there is no GPU here. With device="dry" (or '
            "--traceap-device=dry) it is checked without one."
        )
        return Observation((), "", problem, "no GPU")


def under_way() -> DryRun | None:
    """Return the dry run that this process is in, without loading torch."""
    module = sys.modules.get("torchtraceap_dryrun.dry_run")
    found: DryRun | None = module.under_way() if module else None
    return found


def has_gpu() -> bool:
    """Tell whether a real GPU is here. Loads torch."""
    if under_way() is not None:
        return False
    import torch

    return bool(torch.cuda.is_available())


def recorder_for(device: Device) -> Recorder:
    """Return the recorder of a device. Loads torch."""
    # Each needs torch, which nobody should load who only asks for a fixture's name.
    if device == "cpu":
        from torchtraceap.checking.sync_watch import SyncWatch

        return SyncWatch()
    if device == "dry":
        from torchtraceap.checking.dry_watch import DryWatch

        return DryWatch()
    if has_gpu():
        from torchtraceap.checking.sync_run import SyncRun

        return SyncRun()
    if device == "cuda":
        return NoGpu()
    from torchtraceap.checking.dry_watch import DryOrCpuWatch

    return DryOrCpuWatch()
