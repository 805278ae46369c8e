# SPDX-License-Identifier: BSD-3-Clause
"""sync_check.py: does a piece of code make the CPU wait for the GPU, and where?

What happens is recorded by sync_watch.py (no GPU: operators that would wait) or
sync_run.py (GPU: calls that blocked the CPU), and judged by sync_verdict.py. The
pytest plugin shows the outcome.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Protocol

from torchtraceap.sync_verdict import OVER_US, Observation, Verdict, decide


class SyncStalls(AssertionError):
    """The code waits for the GPU, or it could not be told; the text says where."""


class Recorder(Protocol):
    def start(self) -> None: ...
    def stop(self) -> Observation: ...
    def abandon(self) -> None: ...


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
        if isinstance(allow, str):
            raise ValueError(f"allow must be a list of names, but is {allow!r}")
        for name, value in (
            ("over_us", over_us),
            ("max_count", max_count),
            ("warmup", warmup),
        ):
            if value < 0:
                raise ValueError(f"{name} must not be negative, but is {value}")
        self._over_us = over_us
        self._max_count = max_count
        self._allow = tuple(allow)
        self._to_skip = warmup
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


def _new_recorder() -> Recorder:
    import torch

    # Both need torch, which nobody should load who only asks for a fixture's name.
    if torch.cuda.is_available():
        from torchtraceap.sync_run import SyncRun

        return SyncRun()
    from torchtraceap.sync_watch import SyncWatch

    return SyncWatch()
