# SPDX-License-Identifier: BSD-3-Clause
"""tools.py: what agents may ask: they read these docstrings and types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from torchtraceap import _core, edits
from torchtraceap.base.arguments import instead_of
from torchtraceap.base.safe_text import printable
from torchtraceap.data.what_if import Edit
from torchtraceap.gate.differences import compare_sides
from torchtraceap.mcp_server import answers
from torchtraceap.mcp_server.answers import MOST_ROWS, ROWS, shown
from torchtraceap.mcp_server.reports import Reports
from torchtraceap.replaying import what_if

_MOST = 2**53  # Of any number; JSON has no greater ones that all read alike.
_WHERE = "absolute or relative to the first root"
_KINDS = (
    *(edits.fix, edits.hide, edits.drop_waits, edits.pin, edits.capture, edits.fuse),
    *(edits.multi_tensor, edits.bucket, edits.scale, edits.drop_work, edits.overlap),
)


def _as_int(value: Any) -> Any:
    """In JSON, 5.0 is an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is(description: str, **bounds: Any) -> Any:
    return Field(description=description, **bounds)


_Text = Annotated[str, Field(min_length=1, max_length=4096)]
_whole = BeforeValidator(_as_int)
_Number = Annotated[int, Field(ge=0, le=_MOST), _whole]
_Trace = Annotated[_Text, _is(f"A trace, .json or .json.gz, {_WHERE}.")]
_Recover = Annotated[bool, _is("Read what is sound of a damaged file.")]
_Step = Annotated[_Number | None, _is("Only the time of this ProfilerStep.")]
_LastStep = Annotated[_Number | None, _is("With step: up to the end of this one.")]
_Detector = Annotated[
    bool,
    _is("Ask the learned detector too, which takes seconds and proves nothing."),
]
_OPERATORS = 5  # Of a comparison.
_Limit = Annotated[int, _is("Rows of this answer.", ge=1, le=MOST_ROWS), _whole]
_Offset = Annotated[_Number, _is("The first one, from 0: next_offset of an answer.")]
_KIND_TEXTS = (f"{x.__name__}: {' '.join((x.__doc__ or '').split())}" for x in _KINDS)
if TYPE_CHECKING:
    _Kind = str
else:
    _Kind = Literal[tuple(make.__name__ for make in _KINDS)]


class Strict(BaseModel):  # type: ignore[misc]
    """Arguments of which none is converted and no other is let pass."""

    model_config = ConfigDict(strict=True, extra="forbid")


class Change(Strict):
    """A change of the program."""

    kind: Annotated[_Kind, _is(" ".join(_KIND_TEXTS))]
    name: Annotated[
        _Text,
        _is(
            "For fix: an id, a pattern, a place such as train.py:88. For others: the "
            "whole name of events; * is any text."
        ),
    ]
    factor: Annotated[float, _is("Of scale: the share of time left.", ge=0, le=1)] = 1.0


class Tools:
    """What an agent may ask. Each tool returns JSON, or raises what the agent is to
    read."""

    def __init__(self, reports: Reports) -> None:
        self._reports = reports

    def traces(
        self,
        folder: Annotated[_Text | None, _is(f"Only below this, {_WHERE}.")] = None,
        limit: _Limit = MOST_ROWS,
        offset: _Offset = 0,
    ) -> str:
        """Lists the traces that may be read, newest first: path, bytes, time of change.
        A row of kind job is a folder of the traces of a job's ranks."""
        rows, whole = self._reports.traces(folder)
        more = "there are more: ask with offset next_offset, or for one folder"
        form = {} if whole and len(rows) <= offset + limit else {"note": more}
        return self._page(form, "trace", rows, limit, offset)

    def job(
        self,
        folder: Annotated[
            _Text,
            _is(
                f"Of traces, a pattern like runs/rank*.json, a merged trace; {_WHERE}."
            ),
        ],
        recover: _Recover = False,
        step: _Step = None,
        last_step: _LastStep = None,
        rows: Annotated[int, _is("Of each list.", ge=1, le=ROWS), _whole] = 10,
    ) -> str:
        """Analyzes the ranks of one job together: what a step would gain if they were
        even, which ranks are late and why, who waited, the collectives. Then call
        analyze with the path of a rank."""
        answer = answers.job_summary(
            self._reports.job(folder, recover, step, last_step), rows
        )
        answer["job"]["source"] = folder
        for note in answer["job"]["notes"]:
            note["detail"] = self._reports.named(note["detail"])
        for rank in answer["ranks"]:
            rank["path"] = self._reports.roots.name(rank["path"])
        return self._bounded(shown(answer), "late", hint="ask for fewer rows")

    def analyze(
        self,
        trace: _Trace,
        recover: _Recover = False,
        step: _Step = None,
        last_step: _LastStep = None,
        findings: Annotated[int, _is("How many to list.", ge=0, le=ROWS), _whole] = 5,
        detector: _Detector = False,
    ) -> str:
        """Sums a trace up: how far it can be trusted, where each device's time went,
        what limits it, the findings that gain most, the windows where a fix saves most.
        Call it first."""
        analysis = self._reports.analysis(trace, recover, step, last_step, detector)
        answer = shown(answers.summary(analysis.form, findings))
        return self._bounded(answer, "findings", hint="the tool findings lists all")

    def findings(
        self,
        trace: _Trace,
        recover: _Recover = False,
        step: _Step = None,
        last_step: _LastStep = None,
        pattern: Annotated[_Text | None, _is("Only of this pattern.")] = None,
        limit: _Limit = ROWS,
        offset: _Offset = 0,
        detector: _Detector = False,
    ) -> str:
        """Lists findings, what to fix first, by pages: id, pattern, place, wasted
        time, what a fix would gain, advice. Ids stay the same between calls."""
        patterns = [one.name for one in _core.patterns()]
        if pattern is not None and pattern not in patterns:
            hint = instead_of(pattern, patterns)
            raise ValueError(f"no pattern is {printable(pattern, 80)!r}; {hint}")
        form = self._reports.analysis(trace, recover, step, last_step, detector).form
        rows = [
            answers.row(f) for f in form["findings"] if pattern in (None, f["pattern"])
        ]
        return self._page({}, "finding", rows, limit, offset)

    def explain(
        self,
        trace: _Trace,
        recover: _Recover = False,
        step: _Step = None,
        last_step: _LastStep = None,
        finding: Annotated[_Text | None, _is("The id of a finding, or:")] = None,
        window: Annotated[_Number | None, _is("the index of a window.")] = None,
        digest: Annotated[
            bool, _is("Also the facts behind it, in a few hundred tokens.")
        ] = False,
        detector: _Detector = False,
    ) -> str:
        """Explains one finding, or one window of the timeline: what happens, why it
        costs time, the fix with code, what it gains, how to keep it fixed. By rules
        and a replay, without a language model."""
        if (finding is None) == (window is None):
            raise ValueError("give the id of a finding or the number of a window")
        analysis = self._reports.analysis(trace, recover, step, last_step, detector)
        report = analysis.report
        if finding is not None:
            ids = [one.id for one in report.findings]
            if finding not in ids:
                hint = instead_of(finding, ids[:ROWS])
                raise ValueError(f"no finding is {printable(finding, 80)!r}; {hint}")
            (explanation,) = report.explain([finding])
        if window is not None:
            if window >= (count := len(report.windows)):
                raise ValueError(
                    f"no window is {window}; the trace has {count}, from 0 on"
                )
            (explanation,) = report.explain(0, windows=[window])
        return self._bounded(answers.told(explanation, digest))

    def compare(
        self,
        before: Annotated[_Text, _is(f"A trace or a report, {_WHERE}.")],
        after: Annotated[_Text, _is(f"The same of the changed program, {_WHERE}.")],
        recover: _Recover = False,
        limit: _Limit = ROWS,
        offset: _Offset = 0,
    ) -> str:
        """Says what changed between two traces, before and after a change: findings
        that went, came or grew beyond noise, step time, idle time; of two traces whose
        kernels differ, the operators that differ most and why. Each is a trace or the
        JSON report of one."""
        was, now = (self._reports.side(name, recover) for name in (before, after))
        self._reports.go_on()
        comparison = compare_sides(was, now, self._reports.roots.folders)
        form = comparison.to_dict()
        form["causes"] = {
            name: cause
            for name, cause in form["causes"].items()
            if cause["before"] or cause["after"]
        }
        operators = comparison.operators
        if operators is None or not operators.kernels_differ:
            del form["operators"]
        else:
            form["operators"]["rows"] = form["operators"]["rows"][:_OPERATORS]
        form["worse"] = [one.message for one in comparison.worse()][:ROWS]
        return self._page(form, "finding", form["findings"], limit, offset)

    def what_if(
        self,
        trace: _Trace,
        changes: Annotated[
            list[Change],
            _is("What to change.", min_length=1, max_length=50),
        ],
        recover: _Recover = False,
        step: _Step = None,
        last_step: _LastStep = None,
    ) -> str:
        """Replays a trace with changes and says what they would gain, as a range, or
        why that is unreliable (refusals). Several changes are made together."""
        made = [Edit(one.kind, one.name, one.factor) for one in changes]
        report = self._reports.analysis(trace, recover, step, last_step).report
        form = shown(what_if(report, *made).to_dict())
        form["step_count"] = len(form["steps"])
        form["steps"] = form["steps"][:MOST_ROWS]
        hint = "ask for the others with step and last_step"
        return self._bounded(form, "steps", hint=hint)

    def _bounded(self, answer: dict[str, Any], rows: str = "", **more: Any) -> str:
        return answers.bounded(answer, self._reports.limits.answer_bytes, rows, **more)

    def _page(
        self, form: dict[str, Any], name: str, rows: list[Any], limit: int, offset: int
    ) -> str:
        answer = shown(form | answers.page(name, rows, limit, offset))
        return self._bounded(answer, f"{name}s", offset=offset)
