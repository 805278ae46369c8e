# SPDX-License-Identifier: BSD-3-Clause
"""in_child.py: the process in which a program is run dry. It is the program's alone, so
nothing in it is put back."""

from __future__ import annotations

import atexit
import ctypes
import gc
import io
import os
import signal
import sys
import threading
import traceback
from contextlib import suppress
from itertools import chain
from types import ModuleType
from typing import NoReturn

from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.script.ended import Ended, Program
from torchtraceap_dryrun.script.ending import Ending, exit_now

_FOREVER_S = 1000.0


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
    of the parent."""
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
        exit_now(code)


def _flush() -> None:
    """Write the buffers of files that were never closed."""
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
