# SPDX-License-Identifier: BSD-3-Clause
"""program_end.py: runs a program until it ends, or is ended, and tells how that was."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from torchtraceap.base.errors import DryRunError, DryRunLimit
from torchtraceap.base.source_lines import OWN_FOLDERS, display_path, is_user_file
from torchtraceap_dryrun.script.ended import Ended, FunctionError, of_exit
from torchtraceap_dryrun.script.step_ends import End, StepEnds

if TYPE_CHECKING:
    from torchtraceap_dryrun.dry_run import DryRun
    from torchtraceap_dryrun.script.ending import Ending


_STARTERS = ("<frozen runpy>", "<frozen importlib.", runpy.__file__)


def traceback_text(error: BaseException) -> str:
    """Return the traceback without the lines of this package and of what starts it."""
    shown = traceback.TracebackException.from_exception(error)
    _hide_own(shown, set())
    return "".join(shown.format()).rstrip("\n")


def told(error: DryRunError) -> str:
    """Return the message of a run that cannot go on, with the user's line it is at."""
    if isinstance(error, DryRunLimit):
        return error.in_options
    at = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if is_user_file(frame.filename):
            at = f"{display_path(frame.filename)}:{frame.lineno}: "
    return f"{at}{error}"


def _hide_own(shown: traceback.TracebackException, seen: set[int]) -> None:
    if id(shown) in seen:
        return
    seen.add(id(shown))
    shown.stack[:] = [frame for frame in shown.stack if not _is_own(frame.filename)]
    further = [shown.__cause__, shown.__context__]
    for one in [*further, *(getattr(shown, "exceptions", None) or ())]:
        if one is not None:
            _hide_own(one, seen)


def _is_own(file: str) -> bool:
    return file.startswith(_STARTERS) or os.path.abspath(file).startswith(OWN_FOLDERS)


class TimeUp(End):
    """Ends a program that reached a limit."""


def run_to_end(
    start: Callable[[], object],
    run: DryRun,
    ending: Ending,
    steps: int,
    name: str,
    by: str = "",
) -> int:
    """Run a program in a run that is under way; return the exit code that it has under
    Python.

    Args:
        start: Runs it.
        run: The run.
        ending: Is told how it ended.
        steps: End it after so many steps; 0: let it run to its end.
        name: What the user calls it: a path, or the name of a module.
        by: What ends its steps, where `start` tells the run of them. Then it is a part
            of a program, at whose end nothing is waited for.
    """
    ends = StepEnds(run, steps, ending)

    def time_up(limit: DryRunLimit) -> BaseException:
        ending.tell(Ended(by or ends.by, message=told(limit)), soon=True)
        return TimeUp(str(limit))

    def refusing(error: DryRunError) -> None:
        # The thread may end of it and nothing else; what is found is not all there is.
        ending.tell(Ended(by or ends.by, message=str(error)), soon=True)

    def exit_at_once(status: int) -> NoReturn:
        """Stand in for os._exit."""
        status &= 0xFF  # As the system tells it.
        message = of_exit(name, status) if status else ""
        ending.tell(Ended(by or ends.by, message=message))
        exit_now(status)

    run.limits.raising = time_up
    run.on_refused(refusing)
    exit_now, os._exit = os._exit, exit_at_once
    ended, soon, code, printed = Ended(), bool(by), 0, ""
    process = os.getpid()
    try:
        with nullcontext() if by else ends.watching():
            start()
    except End:
        pass  # It is told.
    except SystemExit as end:
        status = end.code & 0xFF if isinstance(end.code, int) else end.code
        if status not in (None, 0):
            ended = Ended(message=of_exit(name, status))
        if isinstance(status, int):
            code = status
        elif status is not None:
            code = 1
            with suppress(Exception):
                printed = str(status)
    except KeyboardInterrupt:
        ended, soon, code = Ended(interrupted=True), True, 130
    except FunctionError as error:
        ended, code = Ended(message=str(error)), 1
    except DryRunError as error:
        ended, soon, code = Ended(message=told(error)), True, 1
    except BaseException as error:
        ended, code = Ended(failure=traceback_text(error)), 1
    if os.getpid() == process:
        ending.tell(replace(ended, steps_by=by or ends.by), soon=soon)
    elif sys.stderr is not None and (printed := ended.failure or printed):
        print(printed, file=sys.stderr)  # By a child that it forked.
    return code
