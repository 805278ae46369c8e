# SPDX-License-Identifier: BSD-3-Clause
"""replaying.py: a trace replayed with changes, and what that comes to."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from torchtraceap import _core
from torchtraceap.analysis import analyze
from torchtraceap.base.files import refuse_trace
from torchtraceap.base.text_table import wrapped
from torchtraceap.base.units import share_text, time_text, us_from_ns
from torchtraceap.data.facts import Simulated
from torchtraceap.data.findings import Finding
from torchtraceap.data.from_core import from_core
from torchtraceap.data.load import Source
from torchtraceap.data.replay import Fidelity, Gain, read_fidelity
from torchtraceap.edits import Edit, as_edit, core_edits
from torchtraceap.report import Report
from torchtraceap.views.finding_text import range_text
from torchtraceap.views.heading import kinds_text, simulated_text
from torchtraceap.views.json_form import members

# Of a step: with less time left it is no program any more that the edits stand for.
_LEAST_LEFT = 0.01
_MOST_STEPS = 20
_INDENT = " " * 11
# What the lengths on a path rest on, in words; docs/replay.md has the core's.
_LENGTHS = {
    "copied": "as recorded",
    "recomputed": "worked out by rules",
    "anchored": "held at recorded times",
}


@dataclass(frozen=True)
class StepTimes:
    """One step's length."""

    number: int
    span_us: float  #: As recorded.
    replayed_span_us: float  #: Replayed without a change.
    changed_span_us: float | None  #: With the edits; None: not to be believed.


@dataclass(frozen=True)
class WhatIf:
    """A replay with edits made. ``gain`` is None where it is not to be believed."""

    path: str
    edits: tuple[Edit, ...]
    fidelity: Fidelity
    span_us: float  #: As recorded.
    replayed_span_us: float
    changed_span_us: float | None  #: None: not to be believed, `refusals` says why.
    steps: tuple[StepTimes, ...]
    gain: Gain | None
    refusals: tuple[str, ...]  #: Why no gain may be believed; or empty.
    #: Microseconds by category, with the edits made; empty if scheduled by events.
    critical_path: dict[str, float]
    #: "graph", or "events" where an edit lets work overlap: docs/replay.md.
    engine: str
    #: What the trace rests on if a dry run simulated it: then so are all times here.
    simulated: Simulated | None
    _write: Callable[[str], None] = field(repr=False, compare=False)

    @property
    def leaves_nothing(self) -> bool:
        """Whether the edits take all time of a step, or of the trace: no fix would."""
        parts = [(self.replayed_span_us, self.changed_span_us)]
        parts += [(step.replayed_span_us, step.changed_span_us) for step in self.steps]
        return any(
            after is not None and after <= _LEAST_LEFT * before
            for before, after in parts
            if before > 0
        )

    def to_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the timeline with the edits made as a trace that Perfetto opens and
        ``analyze`` reads: every event of the recording, moved. It is marked as a
        what-if in its metadata.

        Raises:
            ValueError: There are edits and the replay is refused, or ``path`` cannot be
                written, ends in ``.gz`` or is the trace.
            TraceError: The trace's file is no longer what was analysed.
        """
        where = os.fspath(path)
        if self.edits and self.refusals:
            raise ValueError(
                f"{where} is not written, for the replay is not to be believed: "
                + "; ".join(self.refusals)
            )
        refuse_trace(where, self.path)
        self._write(where)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as what ``json.dumps`` takes."""
        return {
            "schema_version": 1,
            "tool": {"name": "torchtraceap", "version": _core.__version__},
            "trace": {
                "path": self.path,
                "simulated": self.simulated and asdict(self.simulated),
            },
            "edits": [asdict(edit) for edit in self.edits],
            **members(self, "span_us", "replayed_span_us", "changed_span_us"),
            "steps": [asdict(step) for step in self.steps],
            "gain": self.gain and asdict(self.gain),
            "refusals": list(self.refusals),
            **members(self, "critical_path", "engine"),
            "fidelity": asdict(self.fidelity),
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
        TypeError: What is given is no edit.
    """
    report = trace if isinstance(trace, Report) else analyze(trace)
    if not isinstance(report, Report):
        raise TypeError("what_if takes one trace, not a list")
    core = report.core_replay
    made = tuple(map(as_edit, edits))
    if core.fidelity is None:
        raise ValueError(f"{report.trace.path} cannot be replayed: {core.refusal}")
    outcome = core.what_if(report.core, core_edits(report, made))
    fidelity = read_fidelity(core.fidelity)
    refusals = fidelity.refusals + ((outcome.doubt,) if outcome.doubt else ())
    note = ", ".join(f"{edit.kind} {edit.name}" for edit in made)
    untold: dict[str, Any] = {"changed_span_us": None} if refusals else {}
    result = from_core(
        WhatIf,
        outcome,
        path=report.trace.path,
        edits=made,
        fidelity=fidelity,
        steps=tuple(from_core(StepTimes, step, **untold) for step in outcome.steps),
        gain=from_core(Gain, outcome.gain) if made and not refusals else None,
        refusals=refusals,
        critical_path={name: us_from_ns(ns) for name, ns in outcome.path.items()},
        engine="events" if outcome.by_events else "graph",
        simulated=report.trace.simulated,
        _write=partial(core.write, outcome, note or "unchanged"),
        **untold,
    )
    if result.gain and result.leaves_nothing:
        return replace(result, gain=replace(result.gain, low_us=0.0))
    return result


def what_if_text(result: WhatIf) -> str:
    """Return the text: spans, the gain and what bounds it, then the steps."""
    fidelity = result.fidelity
    source = "Simulated" if result.simulated else "Recorded"
    lines = [
        *wrapped(simulated_text(result.simulated), ""),
        f"{source:<10} {time_text(result.span_us)}",
        f"Replayed   {time_text(result.replayed_span_us)} "
        f"({_error(result.replayed_span_us, result.span_us)}; if nothing ever waited, "
        f"{_error(fidelity.null_span_us, result.span_us)})",
    ]
    if result.edits and result.changed_span_us is not None:
        lines.append(f"Changed    {time_text(result.changed_span_us)}")
    if result.refusals:
        refused = f"No gain is given: {'; '.join(result.refusals)}."
        lines += wrapped(refused, _INDENT)
    elif result.gain:
        high = time_text(result.gain.high_us)
        share = share_text(result.gain.high_us, result.span_us)
        if result.leaves_nothing:
            lines.append(f"Gain       less than these {high} ({share}), for the edits")
            lines.append("           leave a step, or the whole trace, without time")
        else:
            gain = range_text(result.gain.low_us, result.gain.high_us)
            lines.append(f"Gain       {gain} (as replayed: {share})")
        if result.gain.recomputed_share is not None:
            lines.append(
                f"{_INDENT}{result.gain.recomputed_share:.0%} of it waits made "
                f"shorter, {result.gain.inferred_share:.0%} of the path guessed"
            )
        lines += wrapped(fidelity.caveat, _INDENT, first=_INDENT)
    if not result.edits:
        shares = ", ".join(
            f"{v:.0%} {_LENGTHS.get(k, k)}" for k, v in fidelity.shares.items() if v
        )
        lines += wrapped(f"Path       {shares}; see docs/replay.md", _INDENT)
    if (kinds := kinds_text(result.critical_path)) and not result.refusals:
        lines.append(f"Bound by   {kinds}")
    if result.engine == "events":
        lines.append("           scheduled by events, for work may overlap")
    for step in result.steps[:_MOST_STEPS]:
        after = step.changed_span_us if result.edits else None
        changed = "" if after is None else f" -> {time_text(after)}"
        lines.append(
            f"  step {step.number}: {time_text(step.span_us)} {source.lower()}, "
            f"{time_text(step.replayed_span_us)} replayed{changed}"
        )
    if (rest := len(result.steps) - _MOST_STEPS) > 0:
        lines.append(f"  and {rest} more steps")
    return "\n".join(lines)


def _error(replayed: float, recorded: float) -> str:
    return f"{100 * (replayed / recorded - 1):+.2f} %" if recorded else "-"
