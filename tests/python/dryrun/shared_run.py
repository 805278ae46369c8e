# SPDX-License-Identifier: BSD-3-Clause
"""shared_run.py: one dry run for many tests: to enter one takes longer than most."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from torchtraceap_dryrun.record import Dial, Op, Sync

if TYPE_CHECKING:
    from torchtraceap_dryrun.dry_run import DryRun


class Seen:
    """What a dry run has written down since this was made."""

    def __init__(self, run: DryRun) -> None:
        self.run = run
        record = run.record
        self._since = len(record.entries), len(record.syncs), len(record.notes)

    @property
    def entries(self) -> list[Any]:
        return self.run.record.entries[self._since[0] :]

    @property
    def ops(self) -> list[Op]:
        return [entry for entry in self.entries if isinstance(entry, Op)]

    @property
    def names(self) -> list[str]:
        """Of the operators, without aten's."""
        return [op.name.removeprefix("aten::") for op in self.ops]

    @property
    def syncs(self) -> list[Sync]:
        return self.run.record.syncs[self._since[1] :]

    @property
    def notes(self) -> list[str]:
        return self.run.record.notes[self._since[2] :]

    def anew(self) -> Seen:
        """Return what is seen from now on."""
        return Seen(self.run)


class SharedRun:
    """Is entered by the first test that asks for it, and left by the last in a row."""

    def __init__(self, values: Dial) -> None:
        self._values = values
        self._open = ExitStack()
        self._run: DryRun | None = None

    def seen(self) -> Seen:
        from torchtraceap_dryrun.dry_run import dry_run

        if self._run is None:
            run = dry_run(values=self._values, max_ops=1 << 40, max_seconds=1e9)
            self._run = self._open.enter_context(run)
        return Seen(self._run)

    def leave(self) -> None:
        self._run = None
        self._open.close()


#: By the fixture that gives what is seen in them.
SHARED = {"seen": SharedRun("small"), "seen_all": SharedRun("all")}
