# SPDX-License-Identifier: BSD-3-Clause
"""sync_block.py: SyncCheck as the fixture and marker `no_sync_stalls` offer it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from torchtraceap.base.arguments import instead_of
from torchtraceap.base.errors import DryRunError
from torchtraceap.checking.device import NAME
from torchtraceap.checking.outcome import (
    CheckLog,
    Outcome,
    Unknown,
    checked_unknown,
    of_launches,
    of_verdict,
)
from torchtraceap.checking.sync_check import SyncCheck
from torchtraceap.waits.verdict import LaunchVerdict, Verdict

_OPTIONS = (*inspect.signature(SyncCheck).parameters, "unknown")
_NO_WITH = (
    "no_sync_stalls() was called, but watches nothing: write `with no_sync_stalls():`"
)
_UNUSED = (
    "the test asks for no_sync_stalls, but watches nothing with it: write "
    "`with no_sync_stalls():` around the code, or mark the whole test with "
    "@pytest.mark.no_sync_stalls"
)


class SyncBlock(SyncCheck):
    """Watches a block of code. Failures are noted, not raised: the test fails with all
    failures of its checks once its body is over."""

    def __init__(
        self, log: CheckLog, *, unknown: Unknown | None = None, **options: Any
    ) -> None:
        self._log = log
        self._unknown = checked_unknown(unknown) or log.unknown or "fail"
        for name in options.keys() - set(_OPTIONS):
            raise TypeError(f"no option {name!r}; {instead_of(name, _OPTIONS)}")
        if options.get("device") is None:
            options["device"] = log.device
        super().__init__(**options)

    def __enter__(self) -> SyncBlock:
        __tracebackhide__ = True
        self._log.begun(self)
        self._log.watch(NAME, self)
        try:
            super().__enter__()
        except BaseException as error:
            self._log.unwatch()
            if isinstance(error, DryRunError):
                headline = f"a dry run cannot begin: {error}"
                self._log.outcomes.append(
                    Outcome(NAME, "", "unknown", headline, unknown=self._unknown)
                )
                self._log.explained.append(error)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        __tracebackhide__ = True
        self._log.unwatch()
        try:
            super().__exit__(kind, error, trace)
        except ValueError as wrong:
            self._log.outcomes.append(Outcome(NAME, "", "failed", str(wrong)))

    def _settle(self, verdict: Verdict, error: BaseException | None) -> None:
        self.verdict = verdict
        self._log.outcomes.append(of_verdict(verdict, self._unknown))
        for limit in self._launch_limits:
            self._judge_launches(verdict, limit)
        if error is not None:
            self._log.explained.append(error)

    def _judge_launches(self, verdict: Verdict, limit: int) -> None:
        seen = verdict.observation
        found = LaunchVerdict(seen.launches, limit)
        self._log.outcomes.append(of_launches(found, seen.mode, self._unknown))


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
        """Fail the test if a step launches more kernels than ``max_per_step``, as
        `SyncCheck.assert_launches` does: for tests that are watched as a whole."""
        __tracebackhide__ = True
        watched = self._log.watched("assert_launches() counts the kernels")
        if not isinstance(watched, SyncBlock):
            raise RuntimeError(
                "assert_launches() is of no_sync_stalls; of a recording, after its "
                f"block: check.max_kernels_per_step({max_per_step})"
            )
        watched.assert_launches(max_per_step=max_per_step)


def watch_method(item: Any, block: SyncBlock) -> None:
    """Put ``block`` around the method that the item of a TestCase runs: unittest calls
    setUp and tearDown as well, which are not the test's body."""
    method = item.obj
    if inspect.iscoroutinefunction(method):

        @functools.wraps(method)
        async def watched_later(*args: Any, **kwargs: Any) -> Any:
            with _explained(block), block:
                return await method(*args, **kwargs)

        # unittest looks such a method up by itself.
        setattr(item.instance, item.instance._testMethodName, watched_later)
        return

    @functools.wraps(method)
    def watched(*args: Any, **kwargs: Any) -> Any:
        with _explained(block), block:
            return method(*args, **kwargs)

    item.obj = watched


@contextmanager
def _explained(block: SyncBlock) -> Iterator[None]:
    """Keep an error from unittest that the block's outcome is about."""
    try:
        yield
    except DryRunError as error:
        if error not in block._log.explained:
            raise
