# SPDX-License-Identifier: BSD-3-Clause
"""outcome.py: what a dry run found, as its user holds it. Loads no torch."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchtraceap._core import write_pftrace
from torchtraceap.base.arguments import checked_int, checked_names
from torchtraceap.base.files import new_file, write_whole
from torchtraceap.waits.verdict import (
    LaunchVerdict,
    SyncStalls,
    checked_limit,
    decide,
)
from torchtraceap_dryrun.observation import observe_after
from torchtraceap_dryrun.result import Result
from torchtraceap_dryrun.result_views import result_form, result_text

if TYPE_CHECKING:
    from torchtraceap.report import Report


def write_timeline(path: str | os.PathLike[str], trace: bytes) -> None:
    """Write a trace, given as JSON, in the form that the name of the file wants."""
    if not os.fspath(path).endswith(".pftrace"):
        return write_whole(path, trace)
    with new_file(os.fspath(path)) as new:
        write_pftrace(trace, new)


class Outcome(Result):
    """A result that can be reported, written, and checked by a test."""

    def summary(self) -> str:
        """Return the result as text."""
        return result_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, for JSON."""
        return result_form(self)

    def trace(self, *, host_us: float = 10.0) -> bytes:
        """Return a timeline of the run as a trace, Kineto's JSON, marked as simulated.

        Args:
            host_us: What the host is taken to need for an operator, in µs: a guess that
                the timeline is only as good as.

        Raises:
            ValueError: ``host_us`` is not a valid length.
        """
        from torchtraceap_dryrun.timeline.simulation import simulate

        return simulate(self.record, self.gpu, host_us)

    def to_trace(self, path: str | os.PathLike[str], *, host_us: float = 10.0) -> None:
        """Write that trace, which Perfetto opens and ``analyze`` reads: as JSON, or as
        Perfetto's packets if ``path`` ends in .pftrace.

        Raises:
            ValueError: ``path`` cannot be written, or what `trace` raises.
        """
        write_timeline(path, self.trace(host_us=host_us))

    def report(self, *, host_us: float = 10.0, **options: Any) -> Report:
        """Return the report of the simulated timeline: its findings have the origin
        "dry-run", and none of its times was measured.

        Args:
            host_us: As of `trace`.
            **options: Of ``torchtraceap.analyze``.
        """
        from torchtraceap.analysis import analyze

        return analyze(self.trace(host_us=host_us), **options)

    def assert_no_sync(
        self,
        *,
        after_step: int = 0,
        allow: Iterable[str] = (),
        max_count: int | None = None,
        max_per_step: int | None = None,
    ) -> None:
        """Raise SyncStalls, an AssertionError, if the program waits for the GPU.

        Args:
            after_step: Only entries after this many calls of `step()` count.
            allow: As of `SyncCheck`, and so are the other two.

        Raises:
            ValueError: Nothing follows that step.
        """
        __tracebackhide__ = True
        verdict = decide(
            observe_after(self.record, self.gpu, after_step),
            max_count=checked_limit("max_count", max_count),
            max_per_step=checked_limit("max_per_step", max_per_step),
            allow=checked_names("allow", allow),
        )
        if not verdict.ok:
            raise SyncStalls(verdict.message)

    def assert_launches(self, *, max_per_step: int, after_step: int = 0) -> None:
        """Raise AssertionError if a step would launch more kernels than the limit.

        Args:
            max_per_step: Launches of the step with most. The part after the last call
                of `step()` is one too; without a call, the whole run is.
            after_step: Only entries after this many calls of `step()` count.

        Raises:
            ValueError: Nothing follows that step.
        """
        __tracebackhide__ = True
        limit = checked_int("max_per_step", max_per_step, 0, sys.maxsize)
        seen = observe_after(self.record, self.gpu, after_step)
        verdict = LaunchVerdict(seen.launches, limit)
        if not verdict.ok:
            raise AssertionError(verdict.message)
