# SPDX-License-Identifier: BSD-3-Clause
"""outputs.py: the output forms of reports: one table.

The program has an option for each row, an ``Analyzer`` takes their names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torchtraceap.base.files import write_text
from torchtraceap.report_data import ReportData
from torchtraceap.views.html.page import page_html
from torchtraceap.views.json_form import json_text, report_form
from torchtraceap.views.markdown import reports_markdown
from torchtraceap.views.perfetto import write_perfetto
from torchtraceap.views.review_queue import review_queue
from torchtraceap.views.sarif import sarif_text
from torchtraceap.views.tables import check_folder, write_parquet


@dataclass(frozen=True)
class Output:
    """A form of a report, or of several together."""

    name: str  # Of the option, ``--name``.
    suffix: str  # Of a file of this form; "" for a folder.
    help: str
    # The whole file, for the reports; the bool is True if several were requested, of
    # which some may have failed. None: the form is not text, and `save` writes it.
    text: Callable[[Sequence[ReportData], bool], str] | None = None
    # Writes the form to a path; raises OSError. None: `text` does.
    save: Callable[[Sequence[ReportData], str], None] | None = None
    takes_several: bool = False  # Several reports may go into one file.
    asks_detector: bool = False  # The learned detector has a say in it.
    # Raises ValueError for a path that the form does not write to, before any work.
    check: Callable[[str], None] | None = None

    @property
    def metavar(self) -> str:
        """What the help calls its target."""
        return "F" if self.suffix else "DIR"


def _json(reports: Sequence[ReportData], several: bool) -> str:
    forms = [report_form(report) for report in reports]
    return json_text(forms if several else forms[0])


def _review(reports: Sequence[ReportData], several: bool) -> str:
    lines = [line for report in reports for line in review_queue(report)]
    return "\n".join(json_text(line, indent=None) for line in lines)


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
        "write the report as one HTML page",
        text=lambda reports, several: page_html(reports[0]),
        asks_detector=True,
    ),
    Output(
        "perfetto",
        ".perfetto.json",
        "write the trace with findings as tracks, for ui.perfetto.dev",
        save=lambda reports, path: write_perfetto(reports[0], path),
    ),
    Output(
        "sarif",
        ".sarif",
        "write the findings as SARIF 2.1.0, for code review; a run per trace",
        text=lambda reports, several: sarif_text(reports),
        takes_several=True,
    ),
    Output(
        "markdown",
        ".md",
        "write a summary in Markdown, for a pull request or job summary",
        text=lambda reports, several: reports_markdown(reports),
        takes_several=True,
        asks_detector=True,
    ),
    Output(
        "parquet",
        "",
        "write the tables and all events as Parquet files (needs pyarrow)",
        save=lambda reports, folder: write_parquet(reports[0], folder),
        check=check_folder,
        asks_detector=True,
    ),
    Output(
        "review",
        ".review.jsonl",
        "write the windows worth reviewing, one a line: rules and detector differ, or "
        "the detector is unsure",
        text=_review,
        takes_several=True,
        asks_detector=True,
    ),
)


def write_output(
    output: Output, reports: Sequence[ReportData], path: str, several: bool = False
) -> None:
    """Write reports to a file (or folder) in one form.

    Raises OSError if that cannot be written, ImportError if a package that the form
    needs is not installed, ValueError for a report that the form cannot hold.
    """
    if output.text is not None:
        write_text(path, output.text(reports, several))
    elif output.save is not None:
        output.save(reports, path)
