# SPDX-License-Identifier: BSD-3-Clause
"""child.py: runs a program dry in a child process, and tells what came of it.

So the operating system ends what does not end by itself, and nothing that a program
does to its process loses what was found. Loads no torch; the child does.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace

from torchtraceap.base.safe_text import printable
from torchtraceap.base.source_lines import Line
from torchtraceap_dryrun.limits import limit_error
from torchtraceap_dryrun.record import Record
from torchtraceap_dryrun.script.ended import Ended, Program, of_exit, shown
from torchtraceap_dryrun.script.ending import Ending, Shared
from torchtraceap_dryrun.script.in_child import be_child
from torchtraceap_dryrun.script.journal import Written, read_journal

#: A program that was asked to end, or got Ctrl-C, has this long for its `finally`, its
#: threads and its `atexit` functions.
GRACE_S = 10.0
#: So long it may take to load torch, before its own time begins.
BEGIN_S = 60.0
#: So much later than it was to end it is killed: it has written what there is by then.
_STUCK_S = 0.5
_LONGEST_NAP_S = 0.05


def run_dry(
    program: Program, max_seconds: float = 600.0, to_stderr: bool = False
) -> tuple[Record, Ended]:
    """Run a program in a dry run, in a child process; ``to_stderr`` lets what it writes
    to standard output go to standard error."""
    shared, parent = Shared(), os.getpid()
    shared.until = time.monotonic() + max_seconds + BEGIN_S
    with ExitStack() as files:
        _open_standard_descriptors()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()  # Else both would write what is in its buffer.
        try:
            descriptor, path = tempfile.mkstemp(prefix="torchtraceap-")
            journal = files.enter_context(open(descriptor, "rb"))
            files.callback(_remove, path)
            files.enter_context(_children_are_waited_for())
            # Ctrl-C comes when there is somebody to hear it, in both.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            child = os.fork()
        except OSError as error:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            why = f"{error.strerror or error}. It needs a process and a temporary file"
            message = f"{shown(program.name)} cannot be run dry: {why}"
            return Record(), Ended(message=message)
        if child == 0:
            try:
                journal.close()  # The program gets the descriptors that it would have.
                ending = Ending(parent, path, shared, GRACE_S)
                be_child(program, max_seconds, ending, to_stderr)
            finally:  # What is below is the parent's.
                os._exit(1)
        code, interrupted = _wait_for(child, shared)
        written = read_journal(journal)
    ended = _how(written, program.name, max_seconds, code, shared.line, interrupted)
    if why := shared.broke:
        end = f"the record could not be written to its end: {printable(why, 200)}"
        what = f"{end}; results cover the run until then"
        if ended.interrupted:
            ended = replace(ended, remark=what)
        else:
            ended = replace(ended, message=what)
    written.record.interrupted = ended.interrupted
    written.record.stopped = ended.stopped
    return written.record, ended


def _wait_for(child: int, shared: Shared) -> tuple[int | None, bool]:
    """Return the child's exit code, -N if signal N ended it, None if it had to be
    killed; and whether there was Ctrl-C."""
    interrupted, code = False, None
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        code = _code(child, lambda: shared.until + _STUCK_S)
    except KeyboardInterrupt:
        interrupted, end = True, time.monotonic() + GRACE_S
        try:
            # A second one would break the `finally` that the first one began.
            if _at_terminal():
                code = _code(child, lambda: end)
            if code is None:  # `kill -INT` of this process alone, or no terminal.
                os.kill(child, signal.SIGINT)
                end = time.monotonic() + GRACE_S
                code = _code(child, lambda: end)
        except KeyboardInterrupt:  # Who asks twice does not want to wait.
            pass
    if code is None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return code, interrupted


def _remove(path: str) -> None:
    with suppress(OSError):  # The program may have done that.
        os.unlink(path)


def _open_standard_descriptors() -> None:
    """Open those that are closed: a file of ours would get their numbers, and what is
    printed in C."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


@contextmanager
def _children_are_waited_for() -> Iterator[None]:
    """Let the system keep how a child ended, which it does not if SIGCHLD was ignored
    when this process was started."""
    ignored = signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN
    if ignored:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        yield
    finally:
        if ignored:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def _at_terminal() -> bool:
    """Return whether Ctrl-C of a terminal reaches this process, and so the child."""
    try:
        terminal = os.open(os.ctermid(), os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _code(child: int, until: Callable[[], float]) -> int | None:
    nap = 0.001
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until():
            return None
        time.sleep(nap)
        nap = min(2 * nap, _LONGEST_NAP_S)


def _how(
    written: Written,
    name: str,
    max_seconds: float,
    code: int | None,
    line: Line | None,
    interrupted: bool,
) -> Ended:
    ended = written.ended
    if interrupted:
        return replace(ended or Ended(), interrupted=True)
    timed_out = code is None
    if ended is not None and not timed_out:
        return ended
    if ended is not None and ended.told_to_end:
        at = f" at {line}" if line else ""
        remark = f"it did not end in {GRACE_S:g} s, so it was broken off{at}"
        return replace(ended, remark=f"{shown(name)} was asked to end: {remark}")
    if timed_out:
        done = f"{max_seconds:g} s and {written.ops:,} operators"
        error = limit_error(written.record, done, "max_seconds", line)
        if ended is None or ended.well:  # A thread of it may go on.
            return replace(ended or Ended(), message=error.in_options)
        return replace(ended, remark=error.in_options)
    if code:
        return Ended(message=of_exit(name, code))
    # As after os.execv, or _exit of C.
    left = f"{shown(name)} left its process without telling how it ended"
    return Ended(message=f"{left}: the end of what it did may be missing")
