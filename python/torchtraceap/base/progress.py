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

#: The progress of a load: the fraction done, bytes of text, events.
Progress = Callable[[float, int, int], object]

# An unrequested bar must not flicker; after this time users start to wonder.
PATIENCE_S = 1.0
_TITLE_WIDTH = 48


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
    begin, watched = time.monotonic(), progress is True
    with bar(title, stays=watched) as draw:

        def show(fraction: float, text_bytes: int, events: int) -> None:
            nonlocal watched
            if not watched and time.monotonic() - begin >= PATIENCE_S and fraction < 1:
                watched = somebody_watches()
            if watched:
                draw(fraction, f"{events:,} events")

        yield show


@contextmanager
def bar(
    title: str, *, stays: bool = False
) -> Iterator[Callable[[float | None, str], None]]:
    """Yield a function that draws a fraction done (None: unknown) and a note as a bar
    on standard error, without a thread. Unless it ``stays`` it is erased at the end."""
    begin, drawn = time.monotonic(), None

    def draw(fraction: float | None, note: str) -> None:
        nonlocal drawn
        if drawn is None:
            drawn = _open(stays)
            text = printable(title, _TITLE_WIDTH)
            drawn.add_task(text, start=False, total=None, note=note)
            drawn.tasks[0].start_time = begin
        done, total = (0, None) if fraction is None else (fraction, 1)
        first = drawn.task_ids[0]
        drawn.update(first, completed=done, total=total, note=note, refresh=True)

    try:
        yield draw
    finally:
        if drawn is not None:
            drawn.stop()


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
