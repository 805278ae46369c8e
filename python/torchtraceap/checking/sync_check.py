# SPDX-License-Identifier: BSD-3-Clause
"""sync_check.py: does a piece of code make the CPU wait for the GPU, and where?

What happens is recorded by sync_watch.py (no GPU: operators that would wait) or
sync_run.py (GPU: calls that blocked the CPU), and judged by sync_verdict.py. The
pytest plugin shows the outcome.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from types import TracebackType
from typing import Protocol

from torchtraceap.arguments import checked_int, checked_names, wrong_number
from torchtraceap.checking.sync_verdict import OVER_US, Observation, Verdict, decide


class SyncStalls(AssertionError):
    """The code waits for the GPU, or it could not be told; the text says where."""


class Recorder(Protocol):
    """A way to find out what waits. Which one is used, `_new_recorder` decides."""

    def start(self) -> None:
        """Begin; raises RuntimeError if that cannot be now."""

    def stop(self) -> Observation:
        """End, and tell what was seen since `start`."""

    def abandon(self) -> None:
        """End after an error of the code under test, of which nothing is asked."""


class SyncCheck:
    """A context manager that fails if the code in it waits for the GPU::

        with SyncCheck():
            train_step()

    Args:
        over_us: With a GPU, a wait that blocked the CPU for less than this is
            tolerated, each on its own. Without one, times are unknown and it is
            ignored.
        max_count: How many waits are tolerated in all.
        allow: What is tolerated: names of operators ("item", "aten::nonzero"), files
            or lines ("metrics.py", "train.py:88"), each with wildcards ("*/hooks/*").
        warmup: How many calls of `step()` to wait for before checking, for code that
            compiles, tunes or allocates in its first iterations::

                with SyncCheck(warmup=2) as check:
                    for batch in batches:
                        train_step(batch)
                        check.step()

    Raises, on leaving the block, SyncStalls if the check fails; ValueError if
    ``warmup`` ended nothing, because `step()` was called too seldom.
    """

    def __init__(
        self,
        *,
        over_us: float = OVER_US,
        max_count: int = 0,
        allow: Iterable[str] = (),
        warmup: int = 0,
    ) -> None:
        if wrong := wrong_number(over_us):
            raise ValueError(f"over_us {wrong}")
        self._over_us = over_us
        self._max_count = checked_int("max_count", max_count, 0, sys.maxsize)
        self._allow = checked_names("allow", allow)
        self._to_skip = checked_int("warmup", warmup, 0, sys.maxsize)
        self._recorder: Recorder | None = None
        #: What came out, once the block is left.
        self.verdict: Verdict | None = None

    def __enter__(self) -> SyncCheck:
        if self._to_skip == 0:
            self._start()
        return self

    def step(self) -> None:
        """Ends an iteration of the user's loop. Needed for ``warmup`` only."""
        if self._to_skip > 0:
            self._to_skip -= 1
            if self._to_skip == 0:
                self._start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            if self._recorder is not None:
                self._recorder.abandon()
            return
        if self._recorder is None:
            raise ValueError(
                f"nothing was checked: the block ended {self._to_skip} calls of "
                "step() before the end of warmup"
            )
        self.verdict = decide(
            self._recorder.stop(),
            over_us=self._over_us,
            max_count=self._max_count,
            allow=self._allow,
        )
        if not self.verdict.ok:
            raise SyncStalls(self.verdict.message)

    def _start(self) -> None:
        recorder = _new_recorder()
        recorder.start()
        self._recorder = recorder


#: The names of its options.
OPTIONS = tuple(inspect.signature(SyncCheck).parameters)


def _new_recorder() -> Recorder:
    import torch

    # Both need torch, which nobody should load who only asks for a fixture's name.
    if torch.cuda.is_available():
        from torchtraceap.checking.sync_run import SyncRun

        return SyncRun()
    from torchtraceap.checking.sync_watch import SyncWatch

    return SyncWatch()
