# SPDX-License-Identifier: BSD-3-Clause
"""replacing.py: sets attributes for a while, and puts back exactly what was there."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from torchtraceap_dryrun.private_names import missing

_ABSENT: Any = object()


class Replacements:
    """Attributes that stand in for others until `undo`; as a block, until its end.

    Each is written down before it is set, so that what interrupts a line between, such
    as Ctrl-C, leaves nothing behind that `undo` does not know.
    """

    def __init__(self) -> None:
        self._former: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Replacements:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    def set(self, owner: Any, name: str, value: object, *, new: bool = False) -> None:
        """Set an attribute of a module or class; if ``new``, there may be none so
        called.

        Raises:
            DryRunError: There is none. What stands in for nothing is never called, so
                the run would be wrong and not say so.
        """
        if not new and not hasattr(owner, name):
            raise missing(f"{getattr(owner, '__name__', owner)}.{name} to replace")
        # What a class says itself, as it says it: a staticmethod, not what it wraps.
        self._former.append((owner, name, vars(owner).get(name, _ABSENT)))
        setattr(owner, name, value)

    def set_wherever(self, replaced: Iterable[tuple[object, object]]) -> None:
        """Set every name of a loaded module that is one of some objects, if not torch's
        own.

        This is for classes in C, which cannot be changed: `from torch import Stream` of
        an earlier moment holds one. References elsewhere, as in a default argument,
        stay. It looks at each name of all modules, so replace all at once.
        """
        # By id: what modules hold may be neither hashed nor compared.
        values = {id(former): value for former, value in replaced}
        for name, module in list(sys.modules.items()):
            if not isinstance(module, ModuleType) or _is_torchs(name):
                continue
            if values.keys().isdisjoint(map(id, vars(module).values())):
                continue  # Nearly all; a loop of Python's takes five times as long.
            for held, former in list(vars(module).items()):
                if id(former) in values:
                    self.set(module, held, values[id(former)])

    def undo(self) -> None:
        """Put everything back, last first. Doing so twice does no harm."""
        while self._former:
            owner, name, former = self._former[-1]
            if former is _ABSENT:
                if name in vars(owner):
                    delattr(owner, name)
            else:
                setattr(owner, name, former)
            self._former.pop()


def _is_torchs(module: str) -> bool:
    return module.split(".")[0] in ("torch", "torchtraceap")
