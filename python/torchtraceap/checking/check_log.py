# SPDX-License-Identifier: BSD-3-Clause
"""check_log.py: the checks of one test, of which at most one watches code at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torchtraceap.checking.outcome import Outcome, Unknown
from torchtraceap.checking.sync_recorder import Device


class Watching(Protocol):
    """A check, while it watches code."""

    def step(self) -> None:
        """End an iteration."""


class CheckLog:
    """What the checks of one test came to, in their order.

    They do not raise, so that all of a test are reported; the plugin takes what is new
    at the end of each phase of the test and fails it.
    """

    def __init__(self, unknown: Unknown | None, device: Device = "auto") -> None:
        #: What becomes of checks that cannot be made; None: the check's own default.
        self.unknown = unknown
        #: What checks are made on that do not say so themselves.
        self.device = device
        #: The errors of which an outcome says already what they mean.
        self.explained: list[BaseException] = []
        self.outcomes: list[Outcome] = []
        self._taken = 0
        self._watching = ""
        self._watched: Watching | None = None
        self._waiting: dict[int, tuple[object, Outcome]] = {}

    def add(self, outcome: Outcome) -> None:
        """Note what one check came to."""
        self.outcomes.append(outcome)

    @property
    def new(self) -> Sequence[Outcome]:
        """What was added since the last `take`."""
        return self.outcomes[self._taken :]

    def take(self) -> Sequence[Outcome]:
        """Return what is new, which it is no longer."""
        new = self.new
        self._taken = len(self.outcomes)
        return new

    def announce(self, check: object, otherwise: Outcome) -> None:
        """Note a check that came to ``otherwise`` unless `begun` is told of it."""
        self._waiting[id(check)] = (check, otherwise)  # held: no id comes twice

    def begun(self, check: object) -> None:
        """Note that a check that was announced is being made."""
        self._waiting.pop(id(check), None)

    def give_up_waiting(self) -> None:
        """Add what the checks come to that were announced and never begun."""
        for _, otherwise in self._waiting.values():
            self.add(otherwise)
        self._waiting.clear()

    def watch(self, check: str, watched: Watching) -> None:
        """Note that a check watches code now.

        Raises RuntimeError if another one does already.
        """
        __tracebackhide__ = True
        if self._watching:
            raise RuntimeError(
                f"{check} inside {self._watching}: code can be watched by one check at "
                "a time (a GPU has one profiler). Put one after the other, or take one "
                "of the two out."
            )
        self._watching, self._watched = check, watched

    def unwatch(self) -> None:
        """Note that the check is over."""
        self._watching, self._watched = "", None

    def watched(self, asked: str) -> Watching:
        """Return the check that watches code now; RuntimeError if none does, where
        ``asked`` is what was asked of it."""
        __tracebackhide__ = True
        if self._watched is None:
            raise RuntimeError(f"{asked} of code that is being watched, and none is")
        return self._watched
