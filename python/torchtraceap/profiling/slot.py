# SPDX-License-Identifier: BSD-3-Clause
"""slot.py: only one profiler can run in a process; whose turn is it?

torch does not guard this: a profiler that starts beside another one, in whatever
thread, ends the other one's recording, and may end the process by a segmentation fault
(seen with torch 2.13) when one of them had been warming up or ran in another thread.

``torch.autograd.profiler._is_profiler_enabled`` is a bool that every profiler of torch
sets as it starts and stops. `mark` makes an int of it, equal but of another type, so
that a bool tells that somebody else was there. Versions of torch without it get less
protection, nothing else.
"""

from __future__ import annotations

import threading
from typing import Any

_FLAG = "_is_profiler_enabled"
_lock = threading.Lock()
_holder: object = None
_holders_thread: threading.Thread | None = None
# Profilers that could not be stopped yet, each with its thread.
_left: list[tuple[int, Any]] = []


class TakenAwayError(RuntimeError):
    """Another profiler took the place of this one, whose recording is lost."""

    def __init__(self) -> None:
        super().__init__(
            "another profiler was started while this one ran, and torch can run only "
            "one at a time; this recording is lost"
        )


def take(taker: object) -> None:
    """Makes it `taker`'s turn.

    Raises RuntimeError if another profiler is running in this process, or another
    taker has not given its turn back.
    """
    import torch

    global _holder, _holders_thread
    stop_what_was_left()
    if _holders_thread is not None and not _holders_thread.is_alive():
        give_up(_holder)
    with _lock:
        running = torch.autograd._profiler_enabled() or bool(_flag())
        if running or _holder not in (None, taker):
            raise RuntimeError(
                "another profiler is running in this process, and torch can run only "
                "one at a time. End that one first, or take one of the two out."
            )
        _holder, _holders_thread = taker, threading.current_thread()


def give_up(taker: object) -> None:
    """Ends `taker`'s turn, if it is that, after the end of its thread, and with it of
    its profiler."""
    if _holder is taker and type(_flag()) is int:
        _set_flag(False)
    give_back(taker)


def give_back(taker: object) -> None:
    """Ends `taker`'s turn, if it is that."""
    global _holder, _holders_thread
    with _lock:
        if _holder is not taker:
            return
        _holder = _holders_thread = None
    if type(_flag()) is int:
        _set_flag(bool(_flag()))


def mark() -> None:
    """Notes that what runs now is the taker's, or that nothing runs."""
    if _flag() is not None:
        _set_flag(int(bool(_flag())))


def is_disturbed() -> bool:
    """Tells whether another profiler started or stopped since `mark`."""
    return isinstance(_flag(), bool)


def is_taken_away() -> bool:
    """Tells whether another profiler that started since `mark` still runs."""
    return _flag() is True


def is_stale() -> bool:
    """Tells whether one of another thread came and went and ended this thread's.

    What torch keeps of the profiler in this thread goes on recording then, and torch
    crashes as it is stopped, since there is no trace to stop.
    """
    import torch

    return is_disturbed() and not is_taken_away() and torch.autograd._profiler_enabled()


def stop(prof: Any) -> None:
    """Stops a stale ``torch.profiler.profile`` of this thread."""
    from torch.profiler import profile

    # Torch needs a trace to stop; one that is only prepared will do.
    profile(activities=prof.activities).prepare_trace()
    prof.__exit__(None, None, None)


def leave(prof: Any) -> None:
    """Leaves it to `stop_what_was_left` to stop a profiler: another one runs now, and
    would lose its recording."""
    _left.append((threading.get_ident(), prof))


def is_anything_left() -> bool:
    """Tells whether `stop_what_was_left` has something to do, perhaps later."""
    return bool(_left)


def stop_what_was_left() -> None:
    """Stops what was left in this thread, if no other profiler runs any more."""
    if not _left:
        return  # asked after each step
    here = threading.get_ident()
    for entry in [entry for entry in _left if entry[0] == here]:
        if not is_taken_away():
            _left.remove(entry)
            if is_stale():
                stop(entry[1])


def _flag() -> Any:
    from torch.autograd import profiler

    return getattr(profiler, _FLAG, None)


def _set_flag(value: object) -> None:
    from torch.autograd import profiler

    setattr(profiler, _FLAG, value)
