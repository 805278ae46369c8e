# SPDX-License-Identifier: BSD-3-Clause
"""dry_judging.py: the assertions of `torchtraceap.dry_run`, without pytest."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchtraceap.arguments import checked_int, checked_names
from torchtraceap.checking.dry_observation import Since, observe
from torchtraceap.checking.launch_verdict import LaunchVerdict
from torchtraceap.checking.sync_check import SyncStalls, checked_limit
from torchtraceap.checking.sync_observation import Observation
from torchtraceap.checking.sync_verdict import decide

if TYPE_CHECKING:
    from torchtraceap.dryrun.result import Result


def assert_no_sync(
    run: Result,
    after_step: int,
    *,
    allow: Iterable[str],
    max_count: int | None,
    max_per_step: int | None,
) -> None:
    """See `DryRun.assert_no_sync`."""
    __tracebackhide__ = True
    verdict = decide(
        _after(run, after_step),
        max_count=checked_limit("max_count", max_count),
        max_per_step=checked_limit("max_per_step", max_per_step),
        allow=checked_names("allow", allow),
    )
    if not verdict.ok:
        raise SyncStalls(verdict.message)


def assert_launches(run: Result, after_step: int, max_per_step: int) -> None:
    """See `DryRun.assert_launches`."""
    __tracebackhide__ = True
    limit = checked_int("max_per_step", max_per_step, 0, sys.maxsize)
    found = LaunchVerdict(_after(run, after_step).launches, limit)
    if not found.ok:
        raise AssertionError(found.message)


def _after(run: Result, step: int) -> Observation:
    """Return what a run shows after some of its steps."""
    __tracebackhide__ = True
    step = checked_int("after_step", step, 0, sys.maxsize)
    record = run.record
    since = Since(
        bisect_left(record.entries, step, key=lambda entry: entry.step),
        bisect_left(record.syncs, step, key=lambda sync: sync.step),
        step,
    )
    if record.steps < step or len(record.entries) == since.entries:
        raise ValueError(
            f"nothing follows step {step} on the GPU: step() was called "
            f"{record.steps} times"
            if step
            else "the dry run put nothing on the GPU"
        )
    return observe(record, run.gpu, since)
