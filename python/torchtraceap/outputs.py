# SPDX-License-Identifier: BSD-3-Clause
"""outputs.py: the forms in which reports are written to files: one table.

The program has an option for each row, an ``Analyzer`` takes their names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchtraceap.target_file import write_text

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
    asks_detector: bool = False  # The learned detector has a say in it.
    # Raises ValueError for a path that the form does not write to, before any work.
    check: Callable[[str], None] | None = None

    @property
    def metavar(self) -> str:
        """What the help calls its target."""
        return "F" if self.suffix else "DIR"


def _json(reports: Sequence[Report], several: bool) -> str:
    from torchtraceap.json_form import json_text

    forms = [report.to_dict() for report in reports]
    return json_text(forms if several else forms[0])


def _html(reports: Sequence[Report], several: bool) -> str:
    return reports[0].to_html()


def _sarif(reports: Sequence[Report], several: bool) -> str:
    from torchtraceap.gate.sarif import sarif_text

    return sarif_text(reports)


def _markdown(reports: Sequence[Report], several: bool) -> str:
    from torchtraceap.gate.report_markdown import reports_markdown

    return reports_markdown(reports)


def _review(reports: Sequence[Report], several: bool) -> str:
    from torchtraceap.json_form import json_text

    lines = [line for report in reports for line in report.review_queue()]
    return "\n".join(json_text(line, indent=None) for line in lines)


def _parquet(reports: Sequence[Report], folder: str) -> None:
    reports[0].to_parquet(folder)


def _check_folder(folder: str) -> None:
    from torchtraceap.table_folder import check_folder

    check_folder(folder)


def _perfetto(reports: Sequence[Report], path: str) -> None:
    reports[0].to_perfetto(path)


OUTPUTS: tuple[Output, ...] = (
    Output(
        "json",
        ".json",
        "write the report; an array of reports for several traces",
        text=_json,
        takes_several=True,
        asks_detector=True,
    ),
    Output(
        "html",
        ".html",
        "write the report as one page for a browser",
        text=_html,
        asks_detector=True,
    ),
    Output(
        "perfetto",
        ".perfetto.json",
        "write a copy of the trace with the findings as tracks, for ui.perfetto.dev",
        save=_perfetto,
    ),
    Output(
        "sarif",
        ".sarif",
        "write the findings as SARIF 2.1.0, for code review; a run a trace",
        text=_sarif,
        takes_several=True,
    ),
    Output(
        "markdown",
        ".md",
        "write a summary in Markdown, for a pull request or a job's summary",
        text=_markdown,
        takes_several=True,
        asks_detector=True,
    ),
    Output(
        "parquet",
        "",
        "write the tables and all events as Parquet files (needs pyarrow)",
        save=_parquet,
        check=_check_folder,
        asks_detector=True,
    ),
    Output(
        "review",
        ".review.jsonl",
        "write the windows that a person had best look at, one a line, where rules and "
        "the learned detector differ or that is unsure",
        text=_review,
        takes_several=True,
        asks_detector=True,
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
        write_text(path, output.text(reports, several))
    elif output.save is not None:
        output.save(reports, path)
