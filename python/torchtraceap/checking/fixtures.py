# SPDX-License-Identifier: BSD-3-Clause
"""fixtures.py: what the fixtures are: calls that make the checks of a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torchtraceap.analysis import analyze
from torchtraceap.checking import trace_check
from torchtraceap.checking.outcome import CheckLog, Outcome, Unknown, checked_unknown
from torchtraceap.checking.recording import Recording
from torchtraceap.checking.sync_block import SyncBlock
from torchtraceap.checking.trace_check import TraceCheck
from torchtraceap.checking.whole_body import NAME
from torchtraceap.report import Report

if TYPE_CHECKING:
    from torchtraceap.data.load import Source

_NO_WITH = (
    "no_sync_stalls() was called, but watches nothing: write `with no_sync_stalls():`"
)
_UNUSED = (
    "the test asks for no_sync_stalls, but watches nothing with it: write "
    "`with no_sync_stalls():` around the code, or mark the whole test with "
    "@pytest.mark.no_sync_stalls"
)


class NoSyncStalls:
    """What the fixture is: call it for a block; `step` ends an iteration in it.

    If `must_be_used`, the test fails where it does neither.
    """

    def __init__(self, log: CheckLog, must_be_used: bool = False) -> None:
        self._log = log
        if must_be_used:
            log.announce(self, Outcome(NAME, "", "failed", _UNUSED))

    def __call__(self, **options: Any) -> SyncBlock:
        """Return a block with these options of SyncCheck, and ``unknown``."""
        __tracebackhide__ = True
        self._log.begun(self)
        block = SyncBlock(self._log, **options)
        self._log.announce(block, Outcome(NAME, "", "failed", _NO_WITH))
        return block

    def step(self) -> None:
        """End an iteration of the code being watched, as `SyncCheck.step` does: for
        tests that are watched as a whole, by their marker."""
        __tracebackhide__ = True
        self._log.watched("step() ends an iteration").step()

    def assert_launches(self, *, max_per_step: int) -> None:
        """Fail the test if a step launches more kernels than so many, as
        `SyncCheck.assert_launches` does: for tests that are watched as a whole."""
        __tracebackhide__ = True
        watched = self._log.watched("assert_launches() counts the kernels")
        if not isinstance(watched, SyncBlock):
            raise RuntimeError(
                "assert_launches() is of no_sync_stalls; of a recording, after its "
                f"block: check.max_kernels_per_step({max_per_step})"
            )
        watched.assert_launches(max_per_step=max_per_step)


class TraceChecks:
    """What the fixture is: call it for a trace, or without one for a block of code."""

    def __init__(self, log: CheckLog, need_torch: Callable[[], None]) -> None:
        self._log = log
        self._need_torch = need_torch

    def __call__(
        self,
        source: Source | Report | None = None,
        *,
        unknown: Unknown | None = None,
        warmup: int = 0,
        stacks: bool = True,
        **options: Any,
    ) -> TraceCheck:
        """Return the checks of a trace.

        Args:
            source: A path, bytes, a Trace or a profiler, which is analysed, or a
                Report. None: what runs in the ``with`` block is recorded.
            unknown: What becomes of the test if a check cannot be made: "fail",
                "skip" or "pass". None: it fails; but it is skipped where the reason
                is that code was recorded without a GPU.
            warmup: Of a block: calls of ``step()`` before it is recorded.
            stacks: Of a block: record Python's stacks, which lines come from.
            **options: Of ``torchtraceap.analyze``: ``config``, ``rules``, ``steps``...
        """
        __tracebackhide__ = True
        unknown = checked_unknown(unknown)
        if source is None:
            self._need_torch()
            recording = Recording(warmup=warmup, stacks=stacks)
            check = TraceCheck(self._log, unknown, recording=recording, **options)
        elif warmup or not stacks:
            raise TypeError("warmup and stacks are for a block, not for a stored trace")
        else:
            if not isinstance(source, Report):
                source = analyze(source, **options)
                if isinstance(source, list):
                    raise TypeError("trace_check takes one trace: call it for each")
            elif options:
                raise TypeError(f"{', '.join(options)}: the Report is made already")
            check = TraceCheck(self._log, unknown, report=source)
        self._log.announce(check, Outcome(trace_check.NAME, "", "failed", check.unused))
        return check
