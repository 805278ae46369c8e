# SPDX-License-Identifier: BSD-3-Clause
"""report_forms.py: the forms that a report can be had in: text, files, tables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from torchtraceap.target_file import write_text
from torchtraceap.units import time_text

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from torchtraceap.report import Report
    from torchtraceap.tables import Tables


class ReportForms:
    """What every ``Report`` can be turned into. Each form has a module of its own,
    imported when it is asked for."""

    @property
    def _report(self) -> Report:
        return cast("Report", self)

    def summary(self, *, windows: bool | int = False, findings: int = 10) -> str:
        """Return the report as plain text for people.

        Args:
            windows: How many labeled windows to list, the most wasteful first.
                True lists ten.
            findings: How many findings to list. The rest are counted.

        Raises:
            ValueError: One of the numbers is negative.
        """
        from torchtraceap.summary import write_summary

        for name, value in (("windows", windows), ("findings", findings)):
            if value < 0:
                raise ValueError(f"{name} must not be negative, but is {value}")
        return write_summary(
            self._report, 10 if windows is True else int(windows), findings
        )

    def tables(self) -> str:
        """Return kernels, copies, operators, threads, counts, overlap as plain text."""
        from torchtraceap.work_tables import write_tables

        return write_tables(self._report)

    def to_dict(self) -> dict[str, object]:
        """Return the report in its JSON form, as docs/formats.md describes it."""
        from torchtraceap.json_form import report_form

        return report_form(self._report)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the report as JSON text; write it to ``path`` too if that is given.

        The text is plain ASCII. Its form has a version and a schema, which the
        package carries as ``report.schema.json``.

        Raises:
            OSError: ``path`` cannot be written.
        """
        from torchtraceap.json_form import json_text

        text = json_text(self.to_dict())
        if path is not None:
            write_text(path, text)
        return text

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the report as an HTML page; write it to ``path`` too if that is given.

        It needs nothing else: no network, no other file and, but for the timeline, no
        script. It holds lines of code around the findings if their files are at hand.

        Raises:
            OSError: ``path`` cannot be written.
        """
        from torchtraceap.html.page import page_html

        text = page_html(self._report)
        if path is not None:
            write_text(path, text)
        return text

    def to_perfetto(self, path: str | os.PathLike[str]) -> None:
        """Write a copy of the trace with the report's windows and findings as tracks
        of their own, for ui.perfetto.dev and chrome://tracing.

        Every event of the trace is in it, and the trace is read again for that. A
        ``path`` that ends in ``.gz`` is compressed. See docs/outputs.md.

        Raises:
            ValueError: ``path`` is the trace itself or cannot be written.
            TraceError: The trace's file is no longer what was analyzed.
            FileNotFoundError: It is gone.
        """
        from torchtraceap.perfetto import write_perfetto

        write_perfetto(self._report, path)

    def perfetto_page(
        self,
        path: str | os.PathLike[str],
        *,
        origin: str = "https://ui.perfetto.dev",
    ) -> None:
        """Write a page that opens the trace with its tracks in Perfetto at a click.

        The page holds the trace, compressed, and hands it to the tab it opens; nothing
        is sent to a server. See docs/outputs.md.

        Args:
            path: The HTML file to write.
            origin: Where Perfetto's user interface is served from.

        Raises:
            ValueError: ``origin`` is none, or what ``to_perfetto`` raises.
            OSError: ``path`` cannot be written.
        """
        from torchtraceap.perfetto_page import write_page

        write_page(self._report, path, origin)

    def to_sarif(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        root: str | os.PathLike[str] | None = None,
    ) -> str:
        """Return the findings as SARIF 2.1.0, which code review shows on their lines;
        write it to ``path`` too if that is given. Plain ASCII.

        Args:
            path: The file to write.
            root: The folder of the checkout, which files are named relative to; None:
                the working folder.

        Raises:
            OSError: ``path`` cannot be written.
        """
        from torchtraceap.gate.sarif import sarif_text

        text = sarif_text([self._report], None if root is None else os.fspath(root))
        if path is not None:
            write_text(path, text)
        return text

    def to_markdown(self) -> str:
        """Return a summary in Markdown, under 64 KiB, with all names made harmless."""
        from torchtraceap.gate.report_markdown import reports_markdown

        return reports_markdown([self._report])

    def review_queue(self, most: int = 50) -> list[dict[str, Any]]:
        """Return windows that a person had best look at, the most useful first: where
        rules and the learned detector differ, then where that is unsure.

        Each is a dict as docs/formats.md describes it, with ``cpu``, ``gpu`` and
        ``pattern`` for the person to fill in.

        Args:
            most: Windows, at most.

        Raises:
            ValueError: No detector was run: the message says why. Or ``most`` is
                negative.
        """
        from torchtraceap.detection.review_queue import review_queue

        if most < 0:
            raise ValueError(f"most must not be negative, but is {most}")
        return review_queue(self._report, most)

    def to_pandas(self) -> Tables[pd.DataFrame]:
        """Return the report, what ran and all events as pandas DataFrames.

        ``report.to_pandas().windows``, and so on; docs/outputs.md lists them. Each
        is made when it is first asked for.

        Raises:
            ImportError: pandas is not installed; the message names the extra.
        """
        from torchtraceap.pandas_tables import pandas_tables

        return pandas_tables(self._report)

    def to_arrow(self) -> Tables[pa.Table]:
        """Return the same as Arrow tables: ``report.to_arrow().events``.

        Names and categories of events are dictionaries, and whole numbers are the
        trace's own memory, which the table keeps alive.

        Raises:
            ImportError: pyarrow is not installed; the message names the extra.
        """
        from torchtraceap.arrow_tables import arrow_tables

        return arrow_tables(self._report)

    def to_parquet(self, folder: str | os.PathLike[str]) -> None:
        """Write the same as Parquet files, ``<table>.parquet``, into a folder.

        The folder is made if it is not there. Tables in it are replaced.

        Raises:
            ImportError: pyarrow is not installed; the message names the extra.
            OSError: The folder or a file cannot be written.
            ValueError: The folder holds something else than such tables.
        """
        from torchtraceap.arrow_tables import write_parquet

        write_parquet(self._report, folder)

    def __repr__(self) -> str:
        from torchtraceap.safe_text import printable

        report = self._report
        return (
            f"<torchtraceap.Report of {printable(report.trace.path)}: "
            f"{report.trace.events} events, {time_text(report.trace.span_us)}, "
            f"{report.quality.verdict}, {len(report.rule_findings)} findings>"
        )

    def _repr_html_(self) -> str:
        from torchtraceap.html.notebook import notebook_html

        return notebook_html(self._report)
