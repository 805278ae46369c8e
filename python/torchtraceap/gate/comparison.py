# SPDX-License-Identifier: BSD-3-Clause
"""comparison.py: what changed between two sides, as text, Markdown and JSON, and what
got worse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from torchtraceap import _core
from torchtraceap._core import Alignment, Finding
from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import align, wrapped
from torchtraceap.base.units import counted, share_text, time_text
from torchtraceap.gate.budget_data import INCOMPLETE, place_of
from torchtraceap.gate.operators import (
    no_operators,
    operator_lines,
    operator_rows,
    operator_title,
)
from torchtraceap.gate.side import Change, FindingChange, Side
from torchtraceap.views.markdown import code, plain, table

#: What of a finding counts as changed: at least this share of the larger figure,
RELATIVE = 0.10
#: and this share of the time; and more than the spread between steps explains.
LEAST_SHARE = 0.005
#: The same of the median step.
STEP_RELATIVE = 0.05


#: What may get worse, in the order of the report.
WORSE = ("slower", "new", "grown")
_STATUSES = ("gone", "new", "grown", "shrunk")  # In the order of the report.
_CAUSES, _FINDINGS, _ROWS = 8, 20, 30  # Shown, the last in Markdown.


@dataclass(frozen=True)
class Worse:
    """Something that got worse, or of which that is undetermined."""

    kind: str  # One of WORSE.
    message: str  # One line, safe to print.
    known: bool = True
    finding: FindingChange | None = None
    found: float | None = None  # The figure after the change.


@dataclass(frozen=True)
class Prediction:
    """What the earlier report said that a fix saves, and what it did: shares of a step.

    It rests on `Finding.recoverable_us`, so the shares are of the earlier span.
    """

    finding: Finding  #: The only one that is gone.
    low: float
    middle: float
    high: float
    achieved: float  #: Of the median step; negative if it takes longer.

    @property
    def holds(self) -> bool:
        """Whether what was achieved lies in the range."""
        return self.low <= self.achieved <= self.high


@dataclass(frozen=True)
class Comparison:
    """What changed between two traces. Made by ``torchtraceap.compare``."""

    before: Side
    after: Side
    #: Of `causes` and `findings`: "us_per_step" (and device), where both sides have
    #: steps, else "share" of the time.
    unit: str
    notes: tuple[str, ...]  #: What makes the two unequal.
    comparable: bool  #: False: one is unusable, and no change is listed.
    step_us: Change | None  #: The median step; None: one side has no steps.
    busy: Change | None  #: Share of the devices' time.
    causes: dict[str, Change]  #: Time by pattern, most change first.
    findings: tuple[FindingChange, ...]  #: Most change first.
    #: Device time by operator; None: the two are not comparable, or one is a report in
    #: its JSON form, which has no operators.
    operators: Alignment | None = None
    #: "before" and "after", where that is a report in its JSON form.
    reports: tuple[str, ...] = ()

    def of(self, status: str) -> tuple[FindingChange, ...]:
        """Return the findings of one status whose change counts."""
        return tuple(f for f in self.findings if f.status == status and f.cost.counts)

    @property
    def prediction(self) -> Prediction | None:
        """Whether a gain came true; None unless one finding is gone, whose gain the
        earlier report gives, both sides have steps, and their devices are the same."""
        if sorted(self.before.devices) != sorted(self.after.devices):
            return None
        gone, step = self.of("gone"), self.step_us
        span_us = self.before.trace.span_us
        if len(gone) != 1 or step is None or not step.before or not span_us:
            return None
        found = gone[0].before
        if found is None or found.recoverable_us is None:
            return None
        low, middle, high = (
            (us or 0.0) / span_us
            for us in (
                found.recoverable_low_us,
                found.recoverable_us,
                found.recoverable_high_us,
            )
        )
        return Prediction(found, low, middle, high, -(step.relative or 0.0))

    def worse(self, kinds: Iterable[str] = ("new", "grown", "slower")) -> list[Worse]:
        """Return what got worse, of these kinds or of one.

        What is undetermined is not ``known``. Raises ValueError of another kind.
        """
        wanted = {kinds} if isinstance(kinds, str) else set(kinds)
        if unknown := wanted - set(WORSE):
            raise ValueError(
                f"{min(map(repr, unknown))} is not one of {', '.join(WORSE)}"
            )
        found: list[Worse] = []
        for kind in (kind for kind in WORSE if kind in wanted):
            if why := _why_undetermined(self, kind):
                found.append(Worse(kind, f"{kind}: undetermined, {why}", known=False))
            found += _slower(self.step_us) if kind == "slower" else _grown(self, kind)
        return found

    def summary(self, operators: bool = False) -> str:
        """Return the comparison as plain text for people.

        ``operators``: with those whose device time differs most, also if the kernels
        have their names in common.
        """
        blocks = [list(_heading(self))]
        if self.comparable:
            blocks += [
                list(_cause_lines(self)),
                list(_operator_lines(self, operators)),
                list(_finding_lines(self)),
                list(wrapped(_rule(self), "  ")),
            ]
        elif operators:
            blocks.append(list(_operator_lines(self, operators)))
        return "\n\n".join("\n".join(block) for block in blocks if block)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        """Return the form in a notebook."""
        from torchtraceap.views.html.document import notebook

        verdict = "What changed"
        if not self.comparable:
            verdict = "The traces cannot be compared"
        elif self.step_us is not None:
            verdict = f"Median step: {_step(self.step_us)}"
        values = {
            "verdict": verdict,
            "sides": {"Before": _side(self.before), "After": _side(self.after)},
            "notes": self.notes,
            "facts": list(_outcome(self)),
            "comparable": self.comparable,
            "unit": _unit(self),
            "causes": _cause_rows(self),
            "findings": _finding_rows(self)[:_FINDINGS],
            "more": len(_changed(self)) - _FINDINGS,
            "counts": _counts(self),
            "operators": _shown_operators(self),
            "operators_title": self.operators and operator_title(self.operators),
            "rule": _rule(self),
        }
        return notebook("notebook_comparison.html", values)

    def to_markdown(self) -> str:
        """Return it as Markdown, under 64 KiB, with all names made harmless."""
        return "\n\n".join(_markdown(self))

    def to_dict(self) -> dict[str, Any]:
        """Return it in its JSON form, as docs/ci.md describes it."""
        return {
            "schema_version": 1,
            "tool": {"name": "torchtraceap", "version": _core.__version__},
            "comparable": self.comparable,
            "unit": self.unit,
            "notes": list(self.notes),
            "before": _side_form(self.before),
            "after": _side_form(self.after),
            "step_us": self.step_us and asdict(self.step_us),
            "busy": self.busy and asdict(self.busy),
            "prediction": _prediction_form(self.prediction),
            "causes": {name: asdict(change) for name, change in self.causes.items()},
            "operators": self.operators and self.operators.to_dict(),
            "findings": [
                {
                    "status": change.status,
                    "before": change.before and _finding_form(change.before),
                    "after": change.after and _finding_form(change.after),
                    "cost": asdict(change.cost),
                    "often": change.often and asdict(change.often),
                }
                for change in self.findings
            ],
        }


def _why_undetermined(comparison: Comparison, kind: str) -> str:
    before, after = comparison.before, comparison.after
    if "unusable" in (before.quality.verdict, after.quality.verdict):
        return "one of the traces is unusable"
    if not comparison.comparable:
        return "one of the traces is simulated, the other recorded"
    if kind == "slower":
        return "" if comparison.step_us else "for not both traces have steps"
    return INCOMPLETE if after.quality.incomplete else ""


def _slower(step: Change | None) -> Iterator[Worse]:
    if step is not None and step.counts and step.after > step.before:
        text = (
            f"the median step takes {time_text(step.before)} -> "
            f"{time_text(step.after)} ({step.relative:+.1%})"
        )
        yield Worse("slower", text, found=step.after)


def _grown(comparison: Comparison, kind: str) -> Iterator[Worse]:
    for finding in comparison.of(kind):
        what = f"{kind} {printable(finding.seen.kind)}"
        text = f"{place_of(finding.seen)}: {what}, {_costs(finding, comparison.unit)}"
        yield Worse(kind, text, finding=finding, found=finding.cost.after)


def _costs(finding: FindingChange, unit: str) -> str:
    """Return what a finding costs on the sides that have it; of a wait that costs no
    time, how often the host waits."""
    each = " a step" if unit == "us_per_step" else ""
    texts = [text for text in _figures(finding, unit) if text != "-"]
    if finding.often is None:
        return " -> ".join(texts) + each
    was = f", was {texts[0]}" if len(texts) > 1 else ""
    return f"{texts[-1]}{each or ' in all'}{was}"


def _figures(finding: FindingChange, unit: str) -> tuple[str, str]:
    """Return the figures of a finding before and after, "-" where it is not."""
    cost, often = finding.cost, finding.often
    if often is not None:
        before, after = f"×{often.before:.3g}", f"×{often.after:.3g}"
    else:
        before, after = _figure(cost.before, unit), _figure(cost.after, unit)
    return before if finding.before else "-", after if finding.after else "-"


def _figure(value: float, unit: str) -> str:
    return time_text(value) if unit == "us_per_step" else share_text(value, 1.0)


def _step(step: Change) -> str:
    """Return the median step before and after, and what that means."""
    word = "no change"
    if step.counts:
        word = "slower" if step.after > step.before else "faster"
    # Of simulations it is 0.
    noise = f"; ±{time_text(step.noise)} is noise" if step.noise else ""
    change = "" if step.relative is None else f" ({step.relative:+.1%})"
    return f"{time_text(step.before)} -> {time_text(step.after)}{change}: {word}{noise}"


def _busy(busy: Change) -> str:
    return f"{share_text(busy.before, 1.0)} -> {share_text(busy.after, 1.0)}"


def _counts(comparison: Comparison) -> str:
    """Return how many findings went, came, grew, shrank."""
    counts = {status: len(comparison.of(status)) for status in _STATUSES}
    rest = len(comparison.findings) - sum(counts.values())
    texts = [f"{count} {status}" for status, count in counts.items()]
    return ", ".join([*texts, f"{rest} unchanged or too small to count"])


def _unit(comparison: Comparison) -> str:
    """Return what the figures are."""
    if comparison.unit == "share":
        return "shares of the time"
    several = comparison.before.units > 1 or comparison.after.units > 1
    return "time per step and device" if several else "time per step"


def _heading(comparison: Comparison) -> Iterator[str]:
    for name, side in (("Before:", comparison.before), ("After: ", comparison.after)):
        yield f"{name} {_side(side)}"
    for note in comparison.notes:
        yield from wrapped(f"Note: {printable(note)}.", "  ")
    if comparison.step_us is not None:
        yield f"Median step: {_step(comparison.step_us)}"
    yield from _outcome(comparison)


def _outcome(comparison: Comparison) -> Iterator[str]:
    """Write how busy the devices were, and whether a prediction came true."""
    if comparison.busy is not None:
        yield f"Busy: {_busy(comparison.busy)}"
    if (said := comparison.prediction) is not None:
        yield (
            f"Predicted of {said.finding.kind}: {share_text(said.middle, 1)} "
            f"({share_text(said.low, 1)} to {share_text(said.high, 1)}) of a step; "
            f"achieved: {100 * said.achieved:.1f} %"
        )


def _side(side: Side) -> str:
    steps = f", {counted(side.steps, 'step')}" if side.steps else ""
    quality = (
        "" if side.quality.verdict == "ok" else f", quality {side.quality.verdict}"
    )
    devices = ", ".join(dict.fromkeys(printable(n) or "no name" for n in side.devices))
    return (
        f"{printable(side.trace.path)}: {time_text(side.trace.span_us)}{steps}, "
        f"{devices or 'no device work'}{quality}"
    )


def _cause_rows(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return the causes whose change counts, with their time before and after."""
    changed = [(name, c) for name, c in comparison.causes.items() if c.counts]
    unit = comparison.unit
    return [
        (printable(name), _figure(c.before, unit), _figure(c.after, unit))
        for name, c in changed[:_CAUSES]
    ]


def _cause_lines(comparison: Comparison) -> Iterator[str]:
    if rows := _cause_rows(comparison):
        yield f"Time by cause, {_unit(comparison)}:"
        yield from _aligned(rows)


def _operator_lines(comparison: Comparison, wanted: bool) -> Iterator[str]:
    if comparison.operators is None:
        if wanted:
            yield from wrapped(no_operators(comparison.reports), "  ")
    elif wanted or comparison.operators.kernels_differ:
        yield from operator_lines(comparison.operators)


def _shown_operators(comparison: Comparison) -> list[tuple[str, str, str, str]]:
    """Return the rows of the operators, if the kernels differ."""
    operators = comparison.operators
    if operators is None or not operators.kernels_differ:
        return []
    return list(operator_rows(operators))


def _finding_rows(comparison: Comparison) -> list[tuple[str, str, str, str, str]]:
    """Return what happened to a finding, its place, its kind, its figures."""
    rows = []
    for finding in _changed(comparison):
        place, kind = place_of(finding.seen), printable(finding.seen.kind)
        rows.append((finding.status, place, kind, *_figures(finding, comparison.unit)))
    return rows


def _finding_lines(comparison: Comparison) -> Iterator[str]:
    yield f"Findings, {_unit(comparison)}: {_counts(comparison)}"
    rows = _finding_rows(comparison)
    yield from _aligned(rows[:_FINDINGS])
    if len(rows) > _FINDINGS:
        yield f"  and {len(rows) - _FINDINGS} more"


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Write rows that end in a figure before and one after."""
    last = len(rows[0]) if rows else 0
    arrows = [(*row[:-1], "->", row[-1]) for row in rows]
    for line in align(arrows, right=(last - 2, last)):
        yield f"  {line.rstrip()}"


def _changed(comparison: Comparison) -> list[FindingChange]:
    return [found for status in _STATUSES for found in comparison.of(status)]


def _rule(comparison: Comparison) -> str:
    if comparison.before.trace.simulated is not None:
        least = "any difference"
        if comparison.before.steps != comparison.after.steps:
            least = "what differs by over one step's share (their numbers differ)"
        return (
            f"What counts: {least}, for simulations have no noise, and of waits that "
            "cost no time how often they come. The first step, which setting up is "
            "part of, is not in the median."
        )
    noise = ""
    if comparison.step_us is not None and comparison.step_us.noise is not None:
        noise = ", and by more than the spread between steps explains"
    return (
        f"What counts: a finding's cost that differs by over {RELATIVE:.0%} and by "
        f"over {LEAST_SHARE:.1%} of the time; a median step, by over "
        f"{STEP_RELATIVE:.0%}{noise}."
    )


def _markdown(comparison: Comparison) -> Iterator[str]:
    before, after = (
        code(comparison.before.trace.path),
        code(comparison.after.trace.path),
    )
    yield f"### Compared with {before}: {after}"
    facts = [f"- Note: {code(note, 400)}" for note in comparison.notes]
    if comparison.step_us is not None:
        facts.append(f"- Median step: **{plain(_step(comparison.step_us))}**")
    if comparison.busy is not None:
        facts.append(f"- Busy: {plain(_busy(comparison.busy))}")
    if comparison.comparable:
        facts.append(f"- Findings: {_counts(comparison)}")
    yield "\n".join(facts)
    if operators := _shown_operators(comparison):
        assert comparison.operators is not None
        yield plain(operator_title(comparison.operators))
        cells = [
            (code(name, 200), code(why, 200), *times) for name, why, *times in operators
        ]
        yield table(("operator", "because", "before", "after"), cells, 2)
    rows = []
    for finding in _changed(comparison):
        seen = finding.seen
        where = code(str(seen.location or seen.operator)) or "(no source line)"
        figures = _figures(finding, comparison.unit)
        rows.append((where, code(seen.kind), finding.status, *figures))
    if rows:
        yield table(("where", "what", "", "before", "after"), rows[:_ROWS], 3)
        if len(rows) > _ROWS:
            yield f"and {len(rows) - _ROWS} more"
        yield f"Figures are {_unit(comparison)}."


def _prediction_form(said: Prediction | None) -> dict[str, Any] | None:
    if said is None:
        return None
    figures = {name: getattr(said, name) for name in ("low", "middle", "high")}
    return {
        "finding": said.finding.id,
        "pattern": said.finding.pattern,
        **figures,
        "achieved": said.achieved,
        "holds": said.holds,
    }


def _side_form(side: Side) -> dict[str, Any]:
    return {
        "path": side.trace.path,
        "quality": side.quality.verdict,
        "span_us": side.trace.span_us,
        "devices": list(side.devices),
        "steps": side.steps,
    }


def _finding_form(finding: Finding) -> dict[str, Any]:
    where = finding.location
    return {
        "id": finding.id,
        "pattern": finding.pattern,
        "subtype": finding.subtype or "",
        "file": where.file if where else "",  # "" with line 0: there is no place.
        "line": where.recorded_line if where else 0,
        "function": where.function if where else "",
        "operator": finding.operator,
        "count": finding.count,
        "wasted_us": finding.wasted_us,
        "shown": where.line if where else None,  # Of the call, if it is known.
    }
