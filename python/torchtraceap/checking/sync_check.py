# SPDX-License-Identifier: BSD-3-Clause
"""sync_check.py: does a piece of code make the CPU wait for the GPU, and where?

A `Watch` finds what waits, as what the code is checked on allows; waits/verdict.py
judges it, and the pytest plugin shows the outcome.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from torchtraceap.base.arguments import checked_int, checked_names, wrong_number
from torchtraceap.base.errors import DryRunError, DryRunUnderWay
from torchtraceap.checking.device import (
    Device,
    Watch,
    checked_device,
    has_gpu,
    resolved,
    under_way,
)
from torchtraceap.waits.verdict import (
    OVER_US,
    LaunchVerdict,
    Observation,
    SyncStalls,
    Verdict,
    checked_limit,
    decide,
)
from torchtraceap_dryrun.observation import Since, cannot_be_run, now, observe


class SyncCheck:
    """A context manager that fails if the code in it waits for the GPU::

        with SyncCheck():
            train_step()

    Without a GPU the code is run dry: as if on one, without values but small ones (see
    docs/pytest.md). It must then build its model in the block, or in a
    `torchtraceap.dry_run` around it, with device="cuda" where `torch.cuda` has a GPU.
    Code that puts nothing on that GPU gives no result, unless device is "cpu".

    Args:
        over_us: With a GPU, a wait that blocked the CPU for less than this is
            tolerated, each on its own. Without one, times are unknown and it is
            ignored.
        max_count: How many waits are tolerated in all. None: zero, unless
            ``max_per_step`` is given.
        max_per_step: How many are tolerated in each iteration, which `step()` ends. A
            block in which it is never called is one iteration.
        allow: Waits to tolerate: names of operators ("item", "aten::nonzero"), files
            or lines ("metrics.py", "train.py:88"), also those of a library that
            waits, each with wildcards ("*/hooks/*").
        warmup: How many calls of `step()` to wait for before checking, for code that
            compiles, tunes or allocates in its first iterations::

                with SyncCheck(warmup=2) as check:
                    for batch in batches:
                        train_step(batch)
                        check.step()
        device: What to check on: "cuda" (real waits, in which over_us counts), "dry"
            (a dry run), "cpu" (on the CPU, all tensors are taken to be on a GPU) or
            "auto": cuda where there is a GPU, else dry. None is auto.

    Raises, on leaving the block, SyncStalls if the check fails or has no result;
    ValueError if the warm-up never ended because `step()` was called too seldom. On
    entering it, DryRunError if a dry run cannot begin.
    """

    def __init__(
        self,
        *,
        over_us: float = OVER_US,
        max_count: int | None = None,
        max_per_step: int | None = None,
        allow: Iterable[str] = (),
        warmup: int = 0,
        device: Device | None = None,
    ) -> None:
        if wrong := wrong_number(over_us):
            raise ValueError(f"over_us {wrong}")
        self._limits: dict[str, Any] = {
            "over_us": over_us,
            "max_count": checked_limit("max_count", max_count),
            "max_per_step": checked_limit("max_per_step", max_per_step),
            "allow": checked_names("allow", allow),
        }
        self._to_skip = checked_int("warmup", warmup, 0, sys.maxsize)
        self._device = checked_device(device) or "auto"
        self._watch = Watch()
        self._launch_limits: list[int] = []
        #: What came out, once the block is left.
        self.verdict: Verdict | None = None

    def __enter__(self) -> SyncCheck:
        __tracebackhide__ = True
        self._watch = watch_on(self._device)
        try:
            self._watch.prepare()
            if self._to_skip == 0:
                self._watch.start()
        except BaseException:
            self._watch.abandon()
            raise
        return self

    def step(self) -> None:
        """End an iteration of the user's loop: for ``warmup`` and ``max_per_step``."""
        if self._to_skip == 0:
            self._watch.step()
            return
        self._to_skip -= 1
        if self._to_skip == 0:
            self._watch.start()

    def assert_launches(self, *, max_per_step: int) -> None:
        """Raise AssertionError if a step launches more kernels than ``max_per_step``;
        in the block, on leaving it.

        On a GPU they are counted, in a dry run worked out from the operators.
        SyncStalls is raised where neither was made.
        """
        __tracebackhide__ = True
        limit = checked_int("max_per_step", max_per_step, 0, sys.maxsize)
        if self.verdict is None:
            self._launch_limits.append(limit)
        else:
            self._judge_launches(self.verdict, limit)

    def _judge_launches(self, verdict: Verdict, limit: int) -> None:
        __tracebackhide__ = True
        found = LaunchVerdict(verdict.observation.launches, limit)
        if not found.ok:
            raise (AssertionError if found.told else SyncStalls)(found.message)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        __tracebackhide__ = True
        if error is not None:
            self._watch.abandon()
            if (found := self._watch.failed(error)) is not None:
                self._settle(decide(found, **self._limits), error)
            return
        if self._to_skip > 0:
            self._watch.abandon()
            raise ValueError(
                f"nothing was checked: the block ended {self._to_skip} calls of "
                "step() before the end of warmup"
            )
        self._settle(decide(self._watch.stop(), **self._limits), None)

    def _settle(self, verdict: Verdict, error: BaseException | None) -> None:
        """Keep a verdict, and raise what it means; ``error`` is that of the code."""
        __tracebackhide__ = True
        self.verdict = verdict
        if not verdict.ok:
            raise SyncStalls(verdict.message) from error
        for limit in self._launch_limits:
            self._judge_launches(verdict, limit)


class DryWatch(Watch):
    """Without a GPU, runs code as if on one: reads the record of the dry run that is
    under way, else of one of its own."""

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


def watch_on(device: Device) -> Watch:
    """Return the watch that finds waits on a device. Each one loads torch, which a test
    that only names the fixture should not pay for."""
    device = resolved(device)
    if device == "cpu":
        from torchtraceap.checking.cpu_watch import CpuWatch

        return CpuWatch()
    if device == "dry":
        return DryWatch()
    if not has_gpu():
        return Watch()
    from torchtraceap.checking.gpu_watch import GpuWatch

    return GpuWatch()
