# SPDX-License-Identifier: BSD-3-Clause
"""tools.py: what an agent may ask, and the reports that are kept to answer it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torchtraceap import _core
from torchtraceap.analysis import analyze
from torchtraceap.analysis_plan import of_torch
from torchtraceap.base.arguments import instead_of
from torchtraceap.base.program_files import read_below
from torchtraceap.base.roots import FoundFile, Roots
from torchtraceap.base.safe_text import printable
from torchtraceap.comparison import compare_sides
from torchtraceap.data.what_if import Edit
from torchtraceap.data.wish import AUTO, OFF
from torchtraceap.gate.side import Side, read_form, side_of
from torchtraceap.mcp_server.answers import (
    MOST_ROWS,
    ROWS,
    bounded,
    page,
    row,
    shown,
    summary,
    told,
)
from torchtraceap.replaying import what_if
from torchtraceap.report import Report
from torchtraceap.views.json_form import report_form

_KEPT = 4  # Reports, each with its trace in memory.
_MOST_REPORT = 256_000_000  # Bytes of a report's JSON, to compare.
_MESSAGE_WIDTH = 1900


@dataclass(frozen=True)
class Limits:
    """What a server takes and gives at most."""

    text_bytes: int = 4_000_000_000  #: Of a trace, uncompressed; of all that are kept.
    answer_bytes: int = 100_000


class Abandoned(Exception):
    """Nobody waits for the answer any more."""


class _Analysis:
    """A report, and its JSON form once it is asked for."""

    def __init__(self, report: Report, detector: bool = False) -> None:
        self.report = report
        self._detector = detector

    @cached_property
    def form(self) -> dict[str, Any]:
        return report_form(self.report, with_detector=self._detector)

    @cached_property
    def detected(self) -> _Analysis:
        """The same with what the learned detector says."""
        of = self.report
        return _Analysis(Report(of.core, of.loaded, of.settings, AUTO), True)


class TraceTools:
    """The tools, over files below the roots. Nothing is written, nothing else read.

    One answer is made at a time; a few reports are kept for the next ones.
    """

    def __init__(self, roots: Iterable[str], limits: Limits | None = None) -> None:
        """Raises RootsError for what is no folder."""
        self._roots = Roots(roots)
        self._limits = limits or Limits()
        self._lock = threading.Lock()
        self._kept: OrderedDict[object, _Analysis] = OrderedDict()
        self._found: list[FoundFile] = []  # For the answer that is being made.
        self._abandoned: Callable[[], bool] = lambda: False
        read_below(self._roots)

    def answer(
        self, ask: Callable[[TraceTools], str], abandoned: Callable[[], bool]
    ) -> tuple[str, bool]:
        """Return what one of the tools below answers, or what is wrong, and whether
        that is so. Once ``abandoned`` is true, a trace is read no further for it."""
        with self._lock:
            self._found, self._abandoned = [], abandoned
            try:
                self._progress()
                return ask(self), False
            except Exception as error:  # No traceback is to reach the agent.
                return self._message(error), True

    def _message(self, error: Exception) -> str:
        first = self._found[0].given if self._found else "the trace"
        if isinstance(error, MemoryError):
            text = f"{first}: does not fit into memory. Ask for one step of it."
        elif isinstance(error, ValueError | OSError):
            text = str(error)
        else:
            text = (
                f"{first}: the analysis failed, not by a fault of the trace: "
                f"{type(error).__name__}: {error}. Please report it."
            )
        for file in self._found:  # Where it lies is no business of the agent.
            for path in (printable(file.path), file.path):
                text = text.replace(path, file.given)
        return printable(text, _MESSAGE_WIDTH)

    def _find(self, name: str) -> FoundFile:
        file = self._roots.find(name)
        self._found.append(file)
        if file.size > self._limits.text_bytes:
            raise ValueError(
                f"{file.given}: has {file.size} bytes, and this server takes "
                f"{self._limits.text_bytes}. Start it with --max-text-bytes."
            )
        return file

    def _analysis(self, asked: Mapping[str, Any], name: str = "trace") -> _Analysis:
        file = self._find(asked[name])
        step, recover = asked.get("step"), asked.get("recover", False)
        steps = None if step is None else (step, asked.get("last_step", step))
        key = (file.path, file.state, steps, recover)
        made = self._kept.pop(key, None)
        if made is None:
            report = analyze(
                file.path,
                detector=OFF,
                quiet=True,
                steps=steps,
                recover=recover,
                max_text_bytes=self._limits.text_bytes,
                progress=self._progress,
            )
            self._roots.refuse_changed(file)
            made = _Analysis(of_torch(report))
        self._kept[key] = made  # The last one that was used, now.
        while len(self._kept) > _KEPT or (len(self._kept) > 1 and self._kept_bytes()):
            self._kept.popitem(last=False)
        made = made.detected if asked.get("detector") else made
        made.report.name_trace(file.given)
        return made

    def _kept_bytes(self) -> bool:
        """Tell whether what is kept is of more text than one trace may have."""
        kept = sum(one.report.loaded.text_bytes for one in self._kept.values())
        return kept > self._limits.text_bytes

    def _progress(self, *_: float) -> None:
        if self._abandoned():
            raise Abandoned

    # --- The tools: each takes arguments that its schema allows, and gives JSON -------

    def analyze(self, asked: Mapping[str, Any]) -> str:
        """The most telling part of a report."""
        form = shown(summary(self._analysis(asked).form, asked["findings"]))
        hint = "the tool findings lists all"
        return bounded(form, self._limits.answer_bytes, "findings", hint=hint)

    def findings(self, asked: Mapping[str, Any]) -> str:
        """Findings in the order of the report, a page of them."""
        pattern = asked.get("pattern")
        patterns = [one.name for one in _core.patterns()]
        if pattern is not None and pattern not in patterns:
            hint = instead_of(pattern, patterns)
            raise ValueError(f"no pattern is {printable(pattern, 80)!r}; {hint}")
        form = self._analysis(asked).form
        rows = [row for row in form["findings"] if pattern in (None, row["pattern"])]
        return self._page({}, list(map(row, rows)), asked)

    def explain(self, asked: Mapping[str, Any]) -> str:
        """What a finding or a window is, why it costs, what helps; by no model."""
        finding, window = asked.get("finding"), asked.get("window")
        if (finding is None) == (window is None):
            raise ValueError("give the id of a finding or the number of a window")
        report = self._analysis(asked).report
        if window is None:
            ids = [one.id for one in report.findings]
            if finding not in ids:
                hint = instead_of(str(finding), ids[:ROWS])
                raise ValueError(
                    f"no finding is {printable(str(finding), 80)!r}; {hint}"
                )
            (explanation,) = report.explain([str(finding)])
        else:
            if window >= (count := len(report.windows)):
                raise ValueError(
                    f"no window is {window}; the trace has {count}, from 0 on"
                )
            (explanation,) = report.explain(0, windows=[window])
        return bounded(told(explanation, asked["digest"]), self._limits.answer_bytes)

    def compare(self, asked: Mapping[str, Any]) -> str:
        """What changed between two traces, or reports that were written of them."""
        before, after = (self._side(asked, name) for name in ("before", "after"))
        comparison = compare_sides(before, after, self._roots.folders)
        form = comparison.to_dict()
        form["causes"] = {
            name: cause
            for name, cause in form["causes"].items()
            if cause["before"] or cause["after"]
        }
        form["worse"] = [one.message for one in comparison.worse()][:ROWS]
        return self._page(form, form["findings"], asked)

    def what_if(self, asked: Mapping[str, Any]) -> str:
        """What changes would gain, by a replay of the trace with them."""
        changes = [
            Edit(one["kind"], one["name"], float(one.get("factor", 1.0)))
            for one in asked["changes"]
        ]
        form = shown(what_if(self._analysis(asked).report, *changes).to_dict())
        form["step_count"] = len(form["steps"])
        form["steps"] = form["steps"][:MOST_ROWS]
        hint = "ask for the others with step and last_step"
        return bounded(form, self._limits.answer_bytes, "steps", hint=hint)

    def _side(self, asked: Mapping[str, Any], name: str) -> Side:
        file = self._find(asked[name])
        form = read_form(file.path) if file.size <= _MOST_REPORT else None
        if form is None:
            return side_of(self._analysis(asked, name).report)
        self._roots.refuse_changed(file)
        return side_of(form, file.given)

    def _page(
        self, form: dict[str, Any], rows: list[Any], asked: Mapping[str, Any]
    ) -> str:
        answer, offset = shown(form | page(rows, asked)), asked["offset"]
        return bounded(answer, self._limits.answer_bytes, "findings", offset)
