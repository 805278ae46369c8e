# SPDX-License-Identifier: BSD-3-Clause
"""report.py: what an analysis says, and the forms it can be had in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from torchtraceap.base.files import write_text
from torchtraceap.base.safe_text import printable
from torchtraceap.base.units import time_text
from torchtraceap.report_data import ReportData

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from torchtraceap._core import Finding
    from torchtraceap.explain.explanation import Explanations
    from torchtraceap.views.tables import Tables


_MORE = "report.summary(windows=True), report.to_html(PATH), report.explain()"


class Report(ReportData):
    """The analysis of one trace. Made by ``torchtraceap.analyze``.

    Each form has a module of its own, imported when it is asked for; ``ReportData`` has
    what a report says.

    Attributes:
        trace: Path, number of events, analyzed time, devices, rank; its assumptions
            if it is ``simulated``.
        quality: How far the trace can be trusted, and why.
        settings: The thresholds that were not the defaults, by pattern, with
            ``enabled`` for rules that were off.
        loaded: The trace's events, as ``load`` returns them.

    The rest is made or converted on first use: what ran (``kernels``, ``copies``,
    ``operators``, ``threads``, ``kernel_counts``, ``overlap``) and the ``story`` cost
    nothing until they are asked for. A report keeps its trace in memory.
    """

    def summary(self, *, windows: bool | int = False, findings: int = 10) -> str:
        """Return the whole report as plain text for people. ``print(report)`` prints
        its first screen.

        Args:
            windows: How many labeled windows to list, the largest saving first.
                True lists ten.
            findings: How many findings to list. The rest are counted.

        Raises:
            ValueError: One of the numbers is negative.
        """
        from torchtraceap.views.summary import summary_lines

        for name, value in (("windows", windows), ("findings", findings)):
            if value < 0:
                raise ValueError(f"{name} must not be negative, but is {value}")
        most = 10 if windows is True else int(windows)
        return "\n".join(summary_lines(self, most, findings))

    def explain(
        self,
        what: int | str | Finding | Iterable[str | Finding] = 3,
        *,
        windows: int | Iterable[int] = 0,
        llm: str | None = None,
        model: str | None = None,
        api_key: str | None = None,
        source: bool = False,
        tokens: int = 600,
        parallel: int = 4,
        timeout_s: float = 60.0,
        retries: int = 2,
        progress: Callable[[int, int], object] | None = None,
    ) -> Explanations:
        """Explain findings: what happens, why that costs time, the fix as code, its
        gain, and a test that keeps it fixed::

            print(report.explain())
            report.explain(llm="http://127.0.0.1:8080/v1", model="qwen3")

        Without ``llm`` no model is asked and nothing leaves the machine. With it a
        model's second opinion is part of each explanation (``opinion``) and of
        ``opinions``, and ranks the findings again in ``ranking``: no figure changes,
        nor does the order of ``findings``. Failures are reported there too.
        docs/explain.md lists what is sent.

        Args:
            what: The number of first findings; or findings, or their ids.
            windows: In addition, a number of windows that rules or detector flag, or
                their indices.
            llm: URL of an endpoint that speaks OpenAI's chat completions, with ``/v1``.
            model: The name of the model there.
            api_key: None: OPENAI_API_KEY of the environment for hosts of OpenAI and
                this machine, none for others; "": none.
            source: Show the model up to five lines of the source around a finding too.
            tokens: How many the facts of one finding may have, at least 300.
            parallel: How many findings are asked about at the same time, 1 to 32.
            timeout_s: How long each attempt waits for the server.
            retries: How often a request is repeated after an error that may pass.
            progress: Called with how many findings are done, and of how many.

        Raises:
            ValueError: There is no such finding or window, an option is out of range,
                or the URL is invalid.
            ImportError: A model is to be asked, and the extra ``llm`` is missing.
        """
        from torchtraceap.explain.explaining import endpoint_of, explain

        endpoint = endpoint_of(
            llm,
            model,
            api_key,
            timeout_s=timeout_s,
            retries=retries,
            parallel=parallel,
        )
        return explain(
            self,
            what,
            windows,
            endpoint,
            source=source,
            tokens=tokens,
            progress=progress,
        )

    def tables(self) -> str:
        """Return kernels, copies, operators, threads, counts, overlap as plain text."""
        from torchtraceap.views.work_tables import work_lines

        return "\n".join(work_lines(self))

    def to_dict(self) -> dict[str, object]:
        """Return the report in its JSON form (docs/reference/formats.md)."""
        from torchtraceap.views.json_form import report_form

        return report_form(self)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the report as JSON text; write it to ``path`` too if that is given.

        The text is plain ASCII. Its form has a version and a schema, which the
        package carries as ``report.schema.json``.

        Raises:
            OSError: ``path`` cannot be written.
        """
        from torchtraceap.views.json_form import json_text

        return _kept(json_text(self.to_dict()), path)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the report as an HTML page; write it to ``path`` too if that is given.

        It needs nothing else: no network, no other file and, except for the timeline,
        no script. It holds lines of code around the findings if their files exist.

        Raises:
            OSError: ``path`` cannot be written.
        """
        from torchtraceap.views.html.page import page_html

        return _kept(page_html(self), path)

    def to_perfetto(self, path: str | os.PathLike[str]) -> None:
        """Write a copy of the trace with the report's windows and findings as tracks
        of their own, for ui.perfetto.dev and chrome://tracing.

        Every event of the trace is in it, and the trace is read again for that. A
        ``path`` that ends in ``.gz`` is compressed, one in ``.pftrace`` or
        ``.pftrace.gz`` has Perfetto's packets. See docs/reference/outputs.md.

        Raises:
            ValueError: ``path`` is the trace itself or cannot be written.
            TraceError: The trace's file has changed since the analysis.
            FileNotFoundError: It is gone.
        """
        from torchtraceap.views.perfetto import write_perfetto

        write_perfetto(self, path)

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
        from torchtraceap.views.sarif import sarif_text

        text = sarif_text([self], None if root is None else os.fspath(root))
        return _kept(text, path)

    def to_markdown(self) -> str:
        """Return a summary in Markdown, under 64 KiB, with all names made harmless."""
        from torchtraceap.views.markdown import reports_markdown

        return reports_markdown([self])

    def review_queue(self, most: int = 50) -> list[dict[str, Any]]:
        """Return windows worth reviewing, the most useful first: where rules and the
        learned detector differ, then where the detector is unsure.

        Each is a dict (docs/reference/formats.md) with ``cpu``, ``gpu`` and
        ``pattern`` for the person to fill in.

        Args:
            most: Windows, at most.

        Raises:
            ValueError: No detector was run: the message says why. Or ``most`` is
                negative.
        """
        from torchtraceap.views.review_queue import review_queue

        if most < 0:
            raise ValueError(f"most must not be negative, but is {most}")
        return review_queue(self, most)

    def pseudo_labels(self) -> list[dict[str, Any]]:
        """Return what a language model said of windows (``explain(windows=...)``), as
        answered lines of a review queue: ``torchtraceap train --labels`` reads them.

        They are one model's opinion and no truth: ``by`` names it.
        """
        from torchtraceap.views.review_queue import pseudo_labels

        return pseudo_labels(self)

    def to_pandas(self) -> Tables[pd.DataFrame]:
        """Return the report, what ran and all events as pandas DataFrames.

        ``report.to_pandas().windows``, and so on; docs/reference/outputs.md lists them.
        Each is made when it is first asked for.

        Raises:
            ImportError: pandas is not installed; the message names the extra.
        """
        from torchtraceap.views.tables import pandas_tables

        return pandas_tables(self)

    def to_arrow(self) -> Tables[pa.Table]:
        """Return the same as Arrow tables: ``report.to_arrow().events``.

        Names and categories of events are dictionaries, and whole numbers are the
        trace's own memory, which the table keeps alive.

        Raises:
            ImportError: pyarrow is not installed; the message names the extra.
        """
        from torchtraceap.views.tables import arrow_tables

        return arrow_tables(self)

    def to_parquet(self, folder: str | os.PathLike[str]) -> None:
        """Write the same as Parquet files, ``<table>.parquet``, into a folder.

        The folder is made if it is not there. Tables in it are replaced.

        Raises:
            ImportError: pyarrow is not installed; the message names the extra.
            OSError: The folder or a file cannot be written.
            ValueError: The folder holds something other than such tables.
        """
        from torchtraceap.views.tables import write_parquet

        write_parquet(self, folder)

    def __str__(self) -> str:
        """Return the first screen: what is slow, where, what to do, what it gains."""
        from torchtraceap.views.answer_text import answer_lines, screen_width

        return "\n".join(answer_lines(self, screen_width(), _MORE))

    def __repr__(self) -> str:
        return (
            f"<torchtraceap.Report of {printable(self.trace.path)}: "
            f"{self.trace.events} events, {time_text(self.trace.span_us)}, "
            f"{self.quality.verdict}, {len(self.rule_findings)} findings>"
        )

    def _repr_html_(self) -> str:
        from torchtraceap.views.html.page import notebook_html

        return notebook_html(self)


def _kept(text: str, path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        write_text(path, text)
    return text
