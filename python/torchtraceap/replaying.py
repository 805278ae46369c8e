# SPDX-License-Identifier: BSD-3-Clause
"""replaying.py: a trace replayed with changes, and what that comes to."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from torchtraceap import _core
from torchtraceap._core import Finding
from torchtraceap.analysis import analyze_one
from torchtraceap.base.units import us_from_ns
from torchtraceap.data.source import Source
from torchtraceap.data.what_if import Edit, WhatIfData
from torchtraceap.edits import as_edit, core_edits
from torchtraceap.report import Report
from torchtraceap.views.json_form import members
from torchtraceap.views.perfetto import plain_copy
from torchtraceap.views.what_if_text import what_if_text


@dataclass(frozen=True)
class WhatIf(WhatIfData):
    """What a replay with edits made comes to, and the forms to have it in."""

    _write: Callable[[str], None] = field(repr=False, compare=False)

    def to_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the timeline with the edits made as a trace that Perfetto opens and
        ``analyze`` reads: every event of the recording, moved. It is marked as a
        what-if in its metadata, and packed if ``path`` ends in ``.gz``.

        Raises:
            ValueError: There are edits and the replay is refused, or ``path`` cannot be
                written or is the trace.
            TraceError: The trace's file has changed since the analysis.
        """
        where = os.fspath(path)
        if self.edits and self.refusals:
            raise ValueError(
                f"{where} is not written, because the replay is unreliable: "
                + "; ".join(self.refusals)
            )
        with plain_copy(where, [self.path]) as plain:
            self._write(plain)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as what ``json.dumps`` takes."""
        return {
            "schema_version": 1,
            "tool": {"name": "torchtraceap", "version": _core.__version__},
            "trace": {
                "path": self.path,
                "simulated": self.simulated and self.simulated.to_dict(),
            },
            "edits": [asdict(edit) for edit in self.edits],
            **members(self, "span_us", "replayed_span_us", "changed_span_us"),
            "steps": [step.to_dict() for step in self.steps],
            "gain": self.gain and self.gain.to_dict(),
            "refusals": list(self.refusals),
            **members(self, "critical_path", "engine"),
            "fidelity": self.fidelity.to_dict(),
        }

    def summary(self) -> str:
        """Return the result as plain text for people."""
        return what_if_text(self)


def what_if(trace: Source | Report, *edits: Edit | Finding | str) -> WhatIf:
    """Replay a trace with changes made to it::

        result = torchtraceap.what_if("trace.json.gz", "sync_stall")
        print(result.summary())

        from torchtraceap import edits
        torchtraceap.what_if(report, edits.scale("*gemm*", 0.5), edits.hide("gc*"))

    Args:
        trace: A report, or what ``analyze`` takes.
        edits: What ``torchtraceap.edits`` makes; a text fixes the findings it names, by
            pattern, place or id, and a finding is fixed itself. None: the trace is
            replayed as it is.

    Raises:
        ValueError: An edit names nothing in the trace, or no schedule can be made of
            it; the message says why. And what ``analyze`` raises.
        TypeError: An argument is not an edit.
    """
    report = trace if isinstance(trace, Report) else analyze_one(trace, "what_if")
    if not isinstance(report, Report):
        raise TypeError("what_if takes one trace, not a list")
    core = report.core_replay
    made = tuple(map(as_edit, edits))
    if core.fidelity is None:
        raise ValueError(f"{report.trace.path} cannot be replayed: {core.refusal}")
    outcome = core.what_if(report.core, core_edits(report, made))
    fidelity = core.fidelity
    refusals = fidelity.refusals + ((outcome.doubt,) if outcome.doubt else ())
    note = ", ".join(f"{edit.kind} {edit.name}" for edit in made)
    steps = outcome.steps
    if refusals:
        steps = [step.replace(changed_span_us=None) for step in steps]
    result = WhatIf(
        path=report.trace.path,
        edits=made,
        fidelity=fidelity,
        span_us=us_from_ns(outcome.span_ns),
        replayed_span_us=us_from_ns(outcome.replayed_span_ns),
        changed_span_us=None if refusals else us_from_ns(outcome.changed_span_ns),
        steps=tuple(steps),
        gain=outcome.gain if made and not refusals else None,
        refusals=refusals,
        critical_path=outcome.path_us,
        engine="events" if outcome.by_events else "graph",
        simulated=report.trace.simulated,
        _write=partial(core.write, outcome, note or "unchanged"),
    )
    if result.gain and result.leaves_nothing:
        return replace(result, gain=result.gain.replace(low_us=0.0))
    return result
