# SPDX-License-Identifier: BSD-3-Clause
"""as_program.py: lets this process seem to be that of a program, and tells its end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Ended:
    """How a program ended."""

    steps_by: str = ""  #: What ended its steps; "": nothing did.
    #: Why it did not end well, to be shown as it is; "": it did.
    failure: str = ""
    #: The same in a sentence, for what is no fault of its code.
    message: str = ""
    interrupted: bool = False  #: By Ctrl-C.
    #: By a limit, or by enough steps: not by itself, which would tell its threads.
    cut_short: bool = False

    @property
    def well(self) -> bool:
        """Whether it ran to its end, or made the steps that it was to make."""
        return not (self.failure or self.message or self.interrupted)


#: Tells what was found and ends the process, in the midst of a program whose time is
#: over and that does not end. sys and the working folder are as before the program.
GiveUp = Callable[[Ended], object]


class AsProgram:
    """Lets sys and the working folder be a program's, and as they were afterwards."""

    def __init__(self, name: str, arguments: Sequence[str], folder: str) -> None:
        self._argv, self._folder = [name, *arguments], folder

    def __enter__(self) -> AsProgram:
        self._kept = sys.argv, sys.path[:], sys.stdout, sys.stderr, os.getcwd()
        self._main = sys.modules["__main__"]
        sys.argv = self._argv
        sys.path.insert(0, self._folder)
        return self

    def __exit__(self, *_: object) -> None:
        sys.argv, sys.path[:], sys.stdout, sys.stderr, where = self._kept
        sys.modules["__main__"] = self._main
        os.chdir(where)

    def giving(self, give_up: GiveUp | None) -> GiveUp | None:
        """Return it so that it is called as after the program."""
        if give_up is None:
            return None

        def as_before(ended: Ended) -> None:
            self.__exit__()
            give_up(ended)

        return as_before
