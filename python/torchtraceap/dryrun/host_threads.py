# SPDX-License-Identifier: BSD-3-Clause
"""host_threads.py: the threads of the host that a run follows. Loads no torch.

They are told apart, and it is known in part in what order they did what: a thread
begins after what the one that started it did before, and thread_order.py adds what
they hand over to each other.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from types import FrameType
from typing import NamedTuple

from torchtraceap.dryrun.lines import user_stack
from torchtraceap.dryrun.record import DEFAULT_STREAM, Record
from torchtraceap.errors import DryRunError
from torchtraceap.source_lines import Line


class Handed(NamedTuple):
    """Work that one thread hands to another."""

    #: What comes before, by number of a thread: its last entry that does.
    after: Mapping[int, int]
    begun_at: tuple[Line, ...] = ()  #: By which lines, innermost first.


class Made(NamedTuple):
    """What made a tensor: an entry. It is kept with the tensor, which may outlive the
    run, and its numbers mean nothing in another one."""

    run: object  # Only to tell runs apart: a tensor shall not keep a record alive.
    thread: int
    entry: int  # its place in `Record.entries`


def outlived(what: str = "") -> DryRunError:
    """Return what tells a thread that the run which followed it is over.

    Args:
        what: By what it uses the GPU.
    """
    name, by = threading.current_thread().name, f" ({what})" if what else ""
    return DryRunError(
        f"the thread {name!r} uses the GPU{by}, but the dry run that it was started in "
        "has ended. Let it end before: join() it, or shut its pool down, in the block"
    )


class _Mine(threading.local):
    """What each thread has of its own."""

    def __init__(self) -> None:
        self.followed = False
        self.number = -1  # Given with the first entry, so that idle ones have none.
        self.stream = DEFAULT_STREAM
        self.last = -1  # Its last entry.
        self.begun_at: tuple[Line, ...] = ()  # What began its work.
        self.behind: dict[int, int] = {}  # What its next entry comes after.
        # By number of another thread: its last entry that is known to come before.
        self.known: dict[int, int] = {}


class HostThreads:
    """The threads of one run.

    Args:
        record: Where their names are written down, by number.
        note: Called with a sentence for the user if one is refused.
    """

    def __init__(self, record: Record, note: Callable[[str], object]) -> None:
        self._record, self._note = record, note
        self._run = object()
        self._mine = _Mine()
        #: Whether others than the first were ever followed.
        self.several = False
        self._over = False
        # Those of before that threading started. No idents: a later one may get them,
        # and the stand-in that Python made for another thread with it.
        self._older: list[weakref.ref[threading.Thread]] = []

    def enter_first(self) -> None:
        """Follow the thread that asks: the one that enters the run."""
        self._mine.followed = True
        self._give_number()
        me = threading.current_thread()
        older = [thread for thread in threading.enumerate() if thread is not me]
        self._record.older_threads = tuple(thread.name for thread in older)
        stand_in = threading._DummyThread
        self._older = [weakref.ref(t) for t in older if not isinstance(t, stand_in)]

    def enter(self, work: Handed) -> None:
        """Follow the thread that asks from now on."""
        self.several = True
        self._mine.followed = True
        self.take(work)

    def take(self, work: Handed) -> None:
        """Say that what the thread that asks does next was handed over."""
        behind = self._mine.behind
        for thread, entry in work.after.items():
            behind[thread] = max(entry, behind.get(thread, -1))
        self._mine.begun_at = work.begun_at

    def leave(self) -> None:
        """Follow it no longer."""
        self._mine.followed = False

    def end(self) -> None:
        """Let nobody write anything down any more."""
        self._over = True

    @property
    def followed(self) -> bool:
        """Whether the thread that asks is followed."""
        return self._mine.followed

    @property
    def number(self) -> int:
        """The number of the thread that asks.

        Raises:
            DryRunError: It is not followed.
        """
        self._check()
        if self._mine.number < 0:
            self._give_number()
        return self._mine.number

    def _give_number(self) -> None:
        self._mine.number = len(self._record.threads)
        self._record.threads.append(threading.current_thread().name)

    @property
    def stream(self) -> int:
        """The current stream of the thread that asks; DryRunError as of `number`."""
        self._check()
        return self._mine.stream

    @stream.setter
    def stream(self, number: int) -> None:
        self._check()
        self._mine.stream = number

    @property
    def last(self) -> int:
        """The last entry of the thread that asks; -1: it has none."""
        return self._mine.last

    @property
    def begun_at(self) -> tuple[Line, ...]:
        """Where the work of the thread that asks was handed to it, if it was."""
        return self._mine.begun_at

    def hand_over(self, frame: FrameType | None) -> Handed:
        """Return what is to be known of work that the thread that asks hands to another
        one now, while a frame is running."""
        mine = self._mine
        own = {mine.number: mine.last} if mine.last >= 0 else {}
        return Handed({**mine.behind, **own}, user_stack(frame, mine.begun_at))

    def made(self, at: int) -> Made:
        """Return what to keep with what the thread that asks makes by the entry
        ``at``; DryRunError as of `number`."""
        return Made(self._run, self.number, at)

    def thread_of(self, made: Made | None) -> int | None:
        """Return the number of the thread that made something, if in this run."""
        return made.thread if made is not None and made.run is self._run else None

    def entered(self, at: int, uses: Iterable[Made]) -> tuple[int, ...]:
        """Say that the thread that asks writes the entry ``at``; return after which of
        other threads it comes, as far as that is new.

        Args:
            at: The place of the entry.
            uses: What made what it uses, maybe in other runs.
        """
        mine, me = self._mine, self.number
        mine.last = at
        before = [*mine.behind.items()]
        mine.behind = {}
        before += [(one.thread, one.entry) for one in uses if one.run is self._run]
        after: dict[int, int] = {}
        for thread, place in before:
            if thread != me and mine.known.get(thread, -1) < place:
                mine.known[thread] = after[thread] = place
        return tuple(sorted(after.values()))

    def _check(self) -> None:
        if self._over:
            raise outlived()
        if not self._mine.followed:
            me = threading.current_thread()
            name, how = me.name, "not by threading.Thread"
            hint = "start it by threading.Thread, or a pool"
            if any(older() is me for older in self._older):
                how, hint = "before the dry run", "start this one in the block too"
            self._note(
                f"the thread {name!r} was refused the GPU: it was started {how}, so "
                "what it does is missing"
            )
            raise DryRunError(
                f"the thread {name!r} uses the GPU, but it was started {how}. A "
                "dry run follows the thread that entered it and those that threading "
                f"starts in it: {hint}"
            )
