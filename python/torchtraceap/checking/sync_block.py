# SPDX-License-Identifier: BSD-3-Clause
"""sync_block.py: SyncCheck as the fixture `no_sync_stalls` offers it to a test."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from torchtraceap.arguments import instead_of
from torchtraceap.checking.check_log import CheckLog
from torchtraceap.checking.outcome import (
    Outcome,
    Unknown,
    checked_unknown,
    of_verdict,
)
from torchtraceap.checking.sync_check import OPTIONS, SyncCheck, SyncStalls
from torchtraceap.checking.whole_body import NAME


class SyncBlock:
    """Watches a block of code. What comes out is noted, not raised: the test fails
    with all that its checks found once its body is over."""

    def __init__(
        self, log: CheckLog, *, unknown: Unknown | None = None, **options: Any
    ) -> None:
        self._log = log
        self._unknown = checked_unknown(unknown) or log.unknown or "fail"
        for name in options.keys() - set(OPTIONS):
            known = (*OPTIONS, "unknown")
            raise TypeError(f"no option {name!r}; {instead_of(name, known)}")
        self._check = SyncCheck(**options)

    def __enter__(self) -> SyncCheck:
        __tracebackhide__ = True
        self._log.begun(self)
        self._log.watch(NAME, self._check.step)
        try:
            return self._check.__enter__()
        except BaseException:
            self._log.unwatch()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        __tracebackhide__ = True
        self._log.unwatch()
        try:
            self._check.__exit__(kind, error, trace)
        except SyncStalls:
            pass  # the verdict says it
        except ValueError as wrong:
            self._log.add(Outcome(NAME, "", "failed", str(wrong)))
        if self._check.verdict is not None:
            self._log.add(of_verdict(self._check.verdict, self._unknown))
