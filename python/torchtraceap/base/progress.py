# SPDX-License-Identifier: BSD-3-Clause
"""progress.py: a bar for loads that take long, where somebody is watching."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torchtraceap.base.safe_text import printable

if TYPE_CHECKING:
    from rich.progress import Progress as Drawn

#: What a load tells of itself: the fraction done, bytes of text, events.
Progress = Callable[[float, int, int], object]

# A bar that nobody asked for must not flicker; after this, people begin to wonder.
PATIENCE_S = 1.0
_TITLE_WIDTH = 40


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
    bar = Bar(title, stays=progress is True)
    shown = progress is True

    def show(fraction: float, text_bytes: int, events: int) -> None:
        nonlocal shown
        if not shown and bar.seconds >= PATIENCE_S and fraction < 1:
            shown = somebody_watches()
        if shown:
            bar.show(fraction, f"{events:,} events")

    with bar:
        yield show


class Bar:
    """A bar on standard error, from the first `show` on; with it, its ``with``.

    No thread draws it: it changes when it is told to.
    """

    def __init__(self, title: str, *, stays: bool = False) -> None:
        """``stays``: it is still there when it is over."""
        self._title = printable(title, _TITLE_WIDTH)
        self._stays = stays
        self._begin = time.monotonic()
        self._drawn: Drawn | None = None

    @property
    def seconds(self) -> float:
        """How long it has been since it was made."""
        return time.monotonic() - self._begin

    def show(self, fraction: float, note: str) -> None:
        """Draw what is done, with a note beside it."""
        if self._drawn is None:
            self._drawn = _open(self._stays)
            self._drawn.add_task(self._title, start=False, total=1.0, note=note)
            self._drawn.tasks[0].start_time = self._begin
        self._drawn.update(
            self._drawn.task_ids[0], completed=fraction, note=note, refresh=True
        )

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn is not None:
            self._drawn.stop()


def _open(stays: bool) -> Drawn:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    # Notebooks take what terminals do; else rich would need widgets there.
    console = Console(
        stderr=True, force_jupyter=False, force_terminal=_in_notebook() or None
    )
    drawn = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        console=console,
        auto_refresh=False,
        transient=not stays,
        redirect_stdout=False,
        redirect_stderr=False,
        get_time=time.monotonic,
    )
    drawn.start()
    return drawn


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
