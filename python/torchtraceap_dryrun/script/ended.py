# SPDX-License-Identifier: BSD-3-Clause
"""ended.py: which program is run dry, and how it ended. Loads no torch."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torchtraceap.base.safe_text import printable
from torchtraceap_dryrun.record import Stopped


@dataclass(frozen=True)
class Program:
    """A program of the user."""

    name: str  #: What the user calls it: a path, or the name of a module.
    arguments: Sequence[str] = ()
    is_module: bool = False
    #: A function of the file, each call of which is a step; "": it is run as it is.
    function: str = ""
    steps: int = 0  #: End it after this many; 0: let it run to its end.
    options: Mapping[str, Any] = field(default_factory=dict)  #: Of `dry_run`.


class FunctionError(ValueError):
    """What is to be run is not there, or cannot be; a function, not as a step."""


@dataclass(frozen=True)
class Ended:
    """How a program ended."""

    steps_by: str = ""  #: What ended its steps; "": nothing did.
    #: Why it did not end well, to be shown as it is; "": it did.
    failure: str = ""
    #: The same in a sentence, for failures outside its code.
    message: str = ""
    interrupted: bool = False  #: By Ctrl-C.
    #: Else it ended by itself, except for threads of it that may continue.
    told_to_end: bool = field(default=False, compare=False)
    remark: str = ""  #: An additional remark, whatever the outcome.
    #: Where it had made the requested steps; None: it was not ended for that.
    stopped: Stopped | None = field(default=None, compare=False)

    @property
    def well(self) -> bool:
        """Whether it ran to its end, or made the steps that it was to make."""
        return not (self.failure or self.message or self.interrupted)


def of_exit(name: str, code: object) -> str:
    """Say how a program ended itself, or was ended.

    Args:
        name: The program.
        code: What sys.exit() was given, a number or a text; below 0: a signal.
    """
    if not isinstance(code, int):
        try:
            text = str(code)
        except Exception:
            text = f"a {type(code).__name__}"
        return f"{shown(name)} ended itself: {printable(text, 300)}"
    if code >= 0:
        return f"{shown(name)} ended itself with exit code {code}"
    try:
        by = signal.Signals(-code).name
    except ValueError:  # Those of real time have no names.
        by = f"signal {-code}"
    memory = ", as when memory runs out" if -code == signal.SIGKILL else ""
    return f"{shown(name)} was ended by {by}{memory}"


def shown(name: str) -> str:
    """Return what a program is called in a sentence."""
    return printable(os.path.basename(name), 100)
