# SPDX-License-Identifier: BSD-3-Clause
"""outputs.py: the forms in which reports are written to files: one table.

The program has an option for each row, an ``Analyzer`` takes their names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchtraceap.report import Report


@dataclass(frozen=True)
class Output:
    """A form of a report, or of several together."""

    name: str  # Of the option, ``--name``.
    suffix: str  # Of a file of this form; "" for a folder.
    help: str
    # The whole file, of one report or, if so many were asked for, several: some may
    # have failed. None: the form is no text, and `save` writes it.
    text: Callable[[Sequence[Report], bool], str] | None = None
    # Writes the form to a path; raises OSError. None: `text` does.
    save: Callable[[Sequence[Report], str], None] | None = None
    takes_several: bool = False  # Several reports may go into one file.

    @property
    def metavar(self) -> str:
        """What the help calls its target."""
        return "F" if self.suffix else "DIR"


def _json(reports: Sequence[Report], several: bool) -> str:
    from torchtraceap.json_form import json_text

    forms = [report.to_dict() for report in reports]
    return json_text(forms if several else forms[0])


def _perfetto(reports: Sequence[Report], path: str) -> None:
    reports[0].to_perfetto(path)


OUTPUTS: tuple[Output, ...] = (
    Output(
        "json",
        ".json",
        "write the report; an array of reports for several traces",
        text=_json,
        takes_several=True,
    ),
    Output(
        "perfetto",
        ".perfetto.json",
        "write a copy of the trace with the findings as tracks, for ui.perfetto.dev",
        save=_perfetto,
    ),
)


def write_output(
    output: Output, reports: Sequence[Report], path: str, several: bool = False
) -> None:
    """Write reports to a file (or folder) in one form.

    Raises OSError if that cannot be written, ImportError if a package that the form
    needs is not installed, ValueError for a report that the form cannot hold.
    """
    if output.text is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(output.text(reports, several) + "\n")
    elif output.save is not None:
        output.save(reports, path)
