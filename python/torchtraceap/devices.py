# SPDX-License-Identifier: BSD-3-Clause
"""devices.py: what a device is called where its number does not tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from torchtraceap.places import NAME_WIDTH
from torchtraceap.safe_text import printable

if TYPE_CHECKING:
    from torchtraceap.report import Report


class OfDevice(Protocol):
    """A row of a report that is of one device."""

    @property
    def device(self) -> int | None: ...
    @property
    def pid(self) -> int | str | None: ...


def device_text(row: OfDevice, report: Report) -> str:
    """Write a device's number, in a file of several ranks with its process: ``0``,
    ``0 of process 4242``.
    """
    if row.device not in report.numbers_alike:
        return str(row.device)
    whose = "an unknown process" if row.pid is None else f"process {row.pid}"
    return f"{row.device} of {printable(whose, NAME_WIDTH)}"
