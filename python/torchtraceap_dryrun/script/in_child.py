# SPDX-License-Identifier: BSD-3-Clause
"""in_child.py: the process in which a program is run dry. It is the program's alone, so
nothing in it is put back."""

from __future__ import annotations

import _thread
import atexit
import ctypes
import faulthandler
import gc
import io
import math
import os
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from types import ModuleType
from typing import IO, TYPE_CHECKING, NoReturn

from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.record import Record
from torchtraceap_dryrun.script.ended import Ended, Program
from torchtraceap_dryrun.script.journal import Journal
from torchtraceap_dryrun.script.own_file import OwnFile, Slip

if TYPE_CHECKING:
    from torchtraceap_dryrun.dry_run import DryRun
    from torchtraceap_dryrun.limits import Limits

#: What is written down may be lost for so long, if the process is killed.
_EVERY_S = 0.25
#: By so much operators, which let the program do its `finally`, see first that the time
#: is over.
_LATE_S = 0.5
#: By so much a thread of Python, which writes what there is, sees it before a timer in
#: C, which ends a program that never lets another thread run.
_STUCK_S = 0.5
_FOREVER_S = 1000.0

_exit_now = os._exit


class Ending:
    """Writes down what a run finds, and how its program ended.

    Args:
        parent: The process that waits for this one.
        journal: Where to.
        last_words: Where a timer writes what was running, as it ends the process.
        broke: Is told why not all could be written down.
        grace_s: How long a program may go on that is told to end.
    """

    def __init__(
        self,
        parent: int,
        journal: IO[bytes],
        last_words: IO[bytes],
        broke: Slip,
        grace_s: float,
    ) -> None:
        self._parent, self._grace_s = parent, grace_s
        self.journal = Journal(OwnFile(journal), broke.write)
        self._last_words = OwnFile(last_words)
        self._record = Record()
        self._limits: Limits | None = None
        self._process = os.getpid()  # Not what that forks.
        self._told = False
        self._until = math.inf

    def begin(self, run: DryRun) -> None:
        """Write down what a run finds, from now on, also while its program does
        something else; and end the process soon after its time is over."""
        self._record, self._limits = run.record, run.limits
        self._end_in(run.limits.seconds_left + _LATE_S)
        # None of threading's, which the program sees.
        _thread.start_new_thread(self._write_often, ())

    def write(self, ended: Ended | None = None) -> None:
        """Write down what there is."""
        ops = self._limits.ops if self._limits else 0
        self.journal.write(self._record, ops, ended)

    def tell(self, ended: Ended, *, soon: bool = False) -> None:
        """Say how the program ended, or that it is told to end: nothing counts that it
        does from now on, and it has to do that soon. What was said first holds."""
        if self._told or os.getpid() != self._process:
            return
        self.write(replace(ended, told_to_end=soon))
        self._told = True
        if soon:
            self._end_in(self._grace_s)

    def _write_often(self) -> None:
        # Without the parent nobody would end it any more.
        while (
            os.getppid() == self._parent
            and (left := self._until - time.monotonic()) > 0
        ):
            self.write()
            if self._last_words.descriptor is None:  # The timer would not see that.
                faulthandler.cancel_dump_traceback_later()
            time.sleep(min(left, _EVERY_S))
        self.write()
        if (file := self._last_words.descriptor) is not None:
            faulthandler.dump_traceback(file)
        _exit_now(1)

    def _end_in(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        if (file := self._last_words.descriptor) is not None:
            seconds += _STUCK_S
            faulthandler.dump_traceback_later(seconds, exit=True, file=file)


def be_child(
    program: Program, max_seconds: float, ending: Ending, to_stderr: bool
) -> NoReturn:
    """Be the process of a program from its beginning to its end."""
    main, code = sys.modules["__main__"], 1
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        # What is there is the parent's: it is not asked to end, nor copied to be looked
        # at as garbage.
        atexit._clear()
        gc.freeze()
        if to_stderr:
            os.dup2(2, 1)
            sys.stdout = sys.stderr
        code = _run(program, max_seconds, ending)
    except KeyboardInterrupt:
        ending.tell(Ended(interrupted=True), soon=True)
    except BaseException:
        traceback.print_exc()
    finally:
        _leave(code, main)


def _run(program: Program, max_seconds: float, ending: Ending) -> int:
    loaded = "torch" in sys.modules
    try:
        import torch

        from torchtraceap_dryrun.dry_run import dry_run
        from torchtraceap_dryrun.script.script import run_program
    except ImportError as error:
        why = f"a dry run needs torch, which cannot be imported: {error}"
        ending.tell(Ended(message=why))
        return 1
    if loaded:  # The other threads that it had for this are the parent's.
        torch.set_num_threads(1)
    try:
        with dry_run(max_seconds=max_seconds, **program.options) as run:
            ending.begin(run)
            return run_program(run, program, ending)
    except (DryRunError, ValueError) as error:  # It cannot begin.
        ending.tell(Ended(message=str(error)))
        return 1


def _leave(code: int, main: ModuleType) -> NoReturn:
    """End this process as Python does, which is not left to it: the stack below is that
    of the parent.

    Args:
        code: The exit code.
        main: The parent's __main__.
    """
    try:
        with suppress(BaseException):
            threading._shutdown()  # type: ignore[attr-defined]
        with suppress(BaseException):
            atexit._run_exitfuncs()
        _flush()  # A file in a cycle would lose what is in its buffer.
        with suppress(BaseException):
            _clear(main)
        _flush()
        with suppress(Exception):
            ctypes.CDLL(None).fflush(None)
    finally:
        _exit_now(code)


def _flush() -> None:
    """Write what is in the buffers of files that nobody closed."""
    # No list of both: it would be found, and so hold itself, and all that is in it.
    for one in chain((sys.stdout, sys.stderr), gc.get_objects()):
        if issubclass(type(one), io.IOBase):
            with suppress(Exception):
                one.flush()


def _clear(main: ModuleType) -> None:
    """Let go of what the program has in its globals, which closes and removes files."""
    module = sys.modules.get("__main__")
    if module is None or module is main:  # runpy has let go of it.
        gc.collect()
        return
    # Python stops the other threads before: they would find their names gone.
    threading.excepthook = lambda _: None
    sys.setswitchinterval(_FOREVER_S)
    names = vars(module)
    hidden = [name for name in names if name[0] == "_" and name[1:2] != "_"]
    for name in [*hidden, *names]:
        if name != "__builtins__":
            names[name] = None
    gc.collect()
