# SPDX-License-Identifier: BSD-3-Clause
"""progress.py: a bar for loads that take long, where somebody is watching."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torchtraceap.base.safe_text import printable

#: What a load tells of itself: the fraction done, bytes of text, events.
Progress = Callable[[float, int, int], object]

# A bar that nobody asked for must not flicker; after this, people begin to wonder.
PATIENCE_S = 1.0
_TITLE_WIDTH = 40
_FORMAT = "{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"


@contextmanager
def reporting(
    progress: bool | Progress | None, title: str
) -> Iterator[Progress | None]:
    """Yield what to call with the progress of a load, None: nothing.

    True is a bar at once, None one after a second if `somebody_watches`.
    """
    if progress is False or callable(progress):
        yield None if progress is False else progress
        return
    bar = _Bar(title, asked_for=progress is True)
    try:
        yield bar
    finally:
        bar.close()


class _Bar:
    def __init__(self, title: str, asked_for: bool) -> None:
        self._title = title
        self._asked_for = asked_for
        self._begin = time.monotonic()
        self._is_seen: bool | None = asked_for or None  # None: not known yet.
        self._tqdm: Any = None

    def __call__(self, fraction: float, text_bytes: int, events: int) -> None:
        if self._is_seen is None:
            if time.monotonic() - self._begin < PATIENCE_S or fraction >= 1:
                return
            self._is_seen = somebody_watches()
        if not self._is_seen:
            return
        if self._tqdm is None:
            self._tqdm = self._open()
        self._tqdm.set_postfix_str(f"{events:,} events", refresh=False)
        self._tqdm.update(fraction - self._tqdm.n)

    def close(self) -> None:
        if self._tqdm is not None:
            self._tqdm.close()

    def _open(self) -> Any:
        if _in_notebook():
            from tqdm.auto import tqdm
        else:
            from tqdm import tqdm

        class Bar(tqdm):  # type: ignore[misc]
            monitor_interval = 0  # No thread that watches it.

        # tqdm's own lock is shared with other processes; making it can start one.
        Bar.set_lock(threading.RLock())
        bar = Bar(
            total=1.0,
            desc=printable(self._title, _TITLE_WIDTH),
            bar_format=_FORMAT,
            leave=self._asked_for,
            dynamic_ncols=True,
            mininterval=0,  # The core calls no more often than is good to see.
            miniters=0,
            smoothing=0,
        )
        bar.start_t -= time.monotonic() - self._begin
        return bar


def somebody_watches() -> bool:
    """Tell whether progress is seen: on a terminal or in a notebook, but not in a test,
    on a CI machine, nor in the threads and processes of a pool."""
    from multiprocessing import parent_process

    if "CI" in os.environ or "PYTEST_CURRENT_TEST" in os.environ:
        return False
    if threading.current_thread() is not threading.main_thread() or parent_process():
        return False
    stream = sys.stderr
    on_terminal = stream is not None and not stream.closed and stream.isatty()
    return on_terminal or _in_notebook()


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    return hasattr(ipython and ipython.get_ipython(), "kernel")
