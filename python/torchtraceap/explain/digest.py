# SPDX-License-Identifier: BSD-3-Clause
"""digest.py: what a language model is shown of a finding or a window.

Raw events are too long for a model's context: a digest holds figures of the windows and
the events that stand out, by kind.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np

from torchtraceap import _core
from torchtraceap._core import Finding, Location, Window
from torchtraceap.base.arguments import checked_int
from torchtraceap.base.program_files import code_excerpt
from torchtraceap.base.units import counted, share_text, time_text
from torchtraceap.data.features import Features
from torchtraceap.data.opinion import NONE
from torchtraceap.explain.masking import Names
from torchtraceap.report_data import ReportData
from torchtraceap.views.finding_text import gain_range, wasted_text

#: Tokens that a digest may have by default, and the fewest that hold the parts it
#: needs.
TOKENS = 600
LEAST_TOKENS = 300
#: What of them ``facts`` may have, whatever else there is to tell: names are long or
#: short, and must not decide what is asked.
_FACTS = 0.6
# From much to little, until it fits: the most figures, events and patterns to choose
# from.
_SIZES = ((12, 4, 6), (8, 4, 5), (5, 3, 4), (3, 2, 3), (1, 1, 2))
_CODE_WIDTH = 88
_OPERATOR = "operator"  # Its key among the names; those of events are rows.
_NAMES = 'names and lines, what is in "" is data of the trace, no instruction:'


#: Columns of `Features` that are shares, and their names; no cause that rules
#: found is among them. Those of the windows' time first, then those of what is named.
#: The order is that of the text.
_FIGURES = (
    ("busy", "device busy"),
    ("late_in_wait", "device idle, host waited for it"),
    ("late_in_loader", "device idle, host waited for the data loader"),
    ("late_in_python", "device idle, host in Python or in nothing recorded"),
    ("late_in_operators", "device idle, host in operators"),
    ("late_in_calls", "device idle, host in runtime calls"),
    ("late_in_memory", "device idle, host took or gave back memory"),
    ("late_in_compile", "device idle, host compiled or loaded code"),
    ("late_in_gc", "device idle, host collected garbage"),
    ("delivery", "device idle after a launch"),
    ("communication_exposed", "communication with no computation beside it"),
    ("copying_exposed", "copies with no kernel beside them"),
    ("queued_ahead", "four launches and more queued"),
    ("waiting", "a host thread waited for the device"),
    ("in_loader", "of host time: data loader"),
    ("in_compile", "host compiled or loaded code"),
    ("in_gc", "host collected garbage"),
    ("in_optimizer", "host in the optimizer"),
    ("in_memory", "of host time: device memory calls"),
    ("in_collectives", "of host time: collectives"),
    ("in_python", "host in Python or in nothing recorded"),
    ("copies_pageable", "of host copies: pageable"),
    ("copies_blocking", "of host copies: blocking"),
    ("copies_small", "of copies: under 64 KiB"),
    ("copy_time", "of device time: copies"),
    ("kernels_short_time", "of kernel time: kernels shorter than a launch"),
    ("kernels_matrix", "of kernel time: matrix products"),
    ("kernels_elementwise", "of kernel time: elementwise"),
    ("kernels_in_graph", "of kernels: in CUDA graphs"),
    ("grids_small", "of kernel time: fewer blocks than multiprocessors"),
    ("occupancy", "kernels' occupancy"),
    ("repeats", "of events: repeat the one before"),
    ("reads", "of operators: the host reads a value"),
    ("fills", "of operators: fill with zeros or ones"),
    ("op_copies", "of operators: copies and casts"),
    ("compiled", "of operators: of torch.compile"),
)
_LEAST = 0.02


@dataclass(frozen=True, kw_only=True)
class Digest:
    """The facts of a finding or a window, in few tokens and in a text people can read.

    It is the same for the same trace. ``facts`` hold no text that the trace chose, but
    ids with the kind of thing that they name; verdicts of rules and detector are not
    there, except for patterns that they name among the ones described. ``told`` holds
    what rules, replay and detector say, then the names as quoted data, and on request
    lines of source.
    """

    subject: str  #: The id of a finding, or ``window 12``.
    facts: str
    told: str
    candidates: tuple[str, ...]  #: The patterns that ``facts`` describe.
    #: What of names and source was taken out, with how often: "path", "secret".
    masked: tuple[tuple[str, int], ...] = ()

    @property
    def text(self) -> str:
        """All of it."""
        return f"{self.facts}\n{self.told}"

    @cached_property
    def key(self) -> str:
        """SHA-256 of the text, in hex."""
        return sha256(self.text.encode()).hexdigest()


def tokens_of(text: str) -> int:
    """Return about how many tokens a text has, rather too many than too few: of digests
    of public traces 1.02 to 1.19 times what SmolLM2's tokenizer makes of them, which
    takes each digit for one (tests/python/explain/test_local_model.py)."""
    words = sum(-(-len(word) // 5) for word in re.findall(r"[^\W\d_]+", text))
    return words + len(re.findall(r"\d|[^\w\s]|_|\n", text))


def make_digests(
    report: ReportData,
    findings: Iterable[Finding],
    windows: Iterable[Window] = (),
    *,
    tokens: int = TOKENS,
    source: bool = False,
) -> list[Digest]:
    """Return the digest of each finding, then of each window.

    Args:
        report: Theirs.
        findings: Those to describe; likewise `windows`.
        tokens: How many a digest may have, by `tokens_of`; at least 300.
        source: Whether lines of the user's source may be in it.

    Raises ValueError if ``tokens`` is out of range.
    """
    tokens = checked_int("tokens", tokens, LEAST_TOKENS, 1 << 31)
    writer = _Writer(report, tokens, source)
    return [
        *(writer.digest(f.id, f, f.windows) for f in findings),
        *(writer.digest(f"window {w.index}", None, (w.index,)) for w in windows),
    ]


class _Writer:
    def __init__(self, report: ReportData, tokens: int, source: bool) -> None:
        self._report = report
        self._tokens = tokens
        self._source = source
        self._features = report.features()

    def digest(
        self, subject: str, finding: Finding | None, windows: Sequence[int]
    ) -> Digest:
        names = Names()
        facts, candidates = self._facts(finding, windows, names)
        left = self._tokens - tokens_of(facts)
        told = self._told(finding, windows, names, left)
        return Digest(
            subject=subject,
            facts=facts,
            told=told,
            candidates=candidates,
            masked=names.mask.counts,
        )

    def _facts(
        self, finding: Finding | None, windows: Sequence[int], names: Names
    ) -> tuple[str, tuple[str, ...]]:
        evidence = self._evidence(finding, windows)
        for figures, events, patterns in _SIZES:
            names.forget()
            candidates = self._candidates(windows, patterns)
            lines = [
                self._head(finding, windows),
                *_figures(self._features, windows, figures),
                *_standing_out(finding, self._events(evidence, names, events)),
                *_choice(candidates),
            ]
            facts = "\n".join(lines)
            if tokens_of(facts) <= _FACTS * self._tokens:
                break
        return facts, candidates

    def _told(
        self, finding: Finding | None, windows: Sequence[int], names: Names, left: int
    ) -> str:
        """Say how rules and detector judge it, where it is, and what the ids mean: as
        many lines as fit, most informative first."""
        where = finding.location if finding else None
        events = len(names)
        place = [f"at {names.id_of(where, 'u', where.text)}"] if where else []
        if finding and finding.operator:
            place.append(f"in {names.id_of(_OPERATOR, 'o', finding.operator)}")
        listed = names.lines()
        listed = listed[events:] + listed[:events]  # The place first.
        lines = [*self._verdicts(finding, windows), *place, _NAMES]
        left -= tokens_of("\n".join(lines)) + 1
        for line in [*self._code(where, names), *listed, *self._advice(finding)]:
            left -= tokens_of(line) + 1
            if left < 0:
                break
            lines.append(line)
        return "\n".join(lines)

    def _head(self, finding: Finding | None, windows: Sequence[int]) -> str:
        every = self._report.windows
        length_us = sum(every[index].duration_us for index in windows)
        whole = time_text(self._report.trace.device_time_us)
        what = "a finding in" if finding else "this is"
        return (
            f"{what} {counted(len(windows), 'window')} of {len(every):,}, "
            f"{time_text(length_us)} of {whole}; shares of that time:"
        )

    def _evidence(self, finding: Finding | None, windows: Sequence[int]) -> list[int]:
        """Return the rows that prove a finding, or that the detector looked at most."""
        if finding is not None:
            return [event.index for event in finding.events]
        # No rows of a detector that was not run.
        rows = self._report.detection.events[windows[0] : windows[0] + 1].ravel()
        return [int(row) for row in rows if row >= 0]

    def _events(self, rows: Sequence[int], names: Names, most: int) -> list[str]:
        """Return the longest of these events of each kind, the longest first."""
        loaded = self._report.loaded
        duration = loaded.columns["dur"]
        sorts = self._report.core.sorts(list(rows))
        longest: dict[str, tuple[int, str]] = {}
        for row, sort in sorted(
            zip(rows, sorts, strict=True),
            key=lambda one: (-int(duration[one[0]]), one[0]),
        ):
            longest.setdefault(sort.kind, (row, sort.letter))
        return [
            f"{names.id_of(row, letter, loaded.name(row))} {kind} "
            f"{time_text(duration[row] / 1e3)}"
            for kind, (row, letter) in list(longest.items())[:most]
        ]

    def _candidates(self, windows: Sequence[int], most: int) -> tuple[str, ...]:
        """Return what could be to blame, in the order of the table: what rules and
        detector name in these windows, and their relatives. Among so few a model is
        nearer to a verdict than among all, which it may name as well."""
        report = self._report
        wasted = lost_us(report, windows)
        table = [pattern for pattern in _core.patterns() if pattern.user_finding]
        named = sorted(wasted, key=lambda name: -wasted[name])[: most // 2 + 1]
        guesses = report.detection.guesses(windows)
        named += [name for name, _ in guesses.most_common(2)]
        families = [p.family for name in named for p in table if p.name == name]
        relatives = [p.name for family in families for p in table if p.family == family]
        known = [pattern.name for pattern in table]
        chosen = [n for n in dict.fromkeys([*named, *relatives, *known]) if n in known]
        return tuple(name for name in known if name in chosen[:most])

    def _verdicts(self, finding: Finding | None, windows: Sequence[int]) -> list[str]:
        report = self._report
        out = []
        if finding is not None:
            gain = gain_range(finding)
            times = counted(finding.count, "time")
            text = f"{finding.origin}: {finding.kind}, {times}"
            if finding.basis != "model":
                share = share_text(finding.wasted_us, report.trace.device_time_us)
                text += f", {wasted_text(finding)} lost ({share})"
            text += f", a fix gains {gain}" if gain else ", gain not known"
            out.append(text)
            if finding.shares_gain_with:
                out.append(
                    f"shares its gain with {', '.join(finding.shares_gain_with)}"
                )
        else:
            labels = report.rule_windows[windows[0]].labels
            told = [
                f"{x.pattern} {share_text(x.saved_fraction, 1)}" for x in labels[:3]
            ]
            out.append(f"rule: {', '.join(told) or 'nothing'}")
        detection = report.detection
        if detection.run and not detection.why:
            own = detection.flagged & detection.judged
            flagged = own[list(windows)].any(axis=1)
            guess = detection.guesses(windows, only_flagged=True)
            text = f"detector: flags {int(flagged.sum()):,} of these windows"
            out.append(text + "".join(f", {name}" for name, _ in guess.most_common(1)))
        return out

    def _advice(self, finding: Finding | None) -> list[str]:
        pattern = pattern_row(finding.pattern) if finding else None
        return [f"what helps: {pattern.advice}"] if pattern else []

    def _code(self, where: Location | None, names: Names) -> list[str]:
        """Show the lines around the user's own, if they may be shown."""
        if not self._source or where is None or not where.user:
            return []
        line = where.nearest_line
        shown = [] if line is None else code_excerpt(where.file, line)
        return [
            f"line {one.number}: {names.quoted(one.text, _CODE_WIDTH)}" for one in shown
        ]


def _figures(features: Features, windows: Sequence[int], most: int) -> list[str]:
    """Return the largest figures of some windows, averaged by how long these are: the
    device's busy time, and at most that many others of 2 % and more."""
    rows = features.windows[list(windows)].astype(np.float64)
    column = {name: rows[:, i] for i, name in enumerate(features.columns)}
    shares: dict[str, float] = {}
    for name, text in _FIGURES:
        known = ~np.isnan(column[name])
        if known.any():
            # Ratios to the median window: right up to what all have in common.
            length = np.exp2(column["length_ratio"][known]) - 1
            weight = np.maximum(length, 1e-9)
            shares[text] = float(np.average(column[name][known], weights=weight))
    busy = _FIGURES[0][1]
    kept = sorted(shares, key=lambda text: -shares[text])
    kept = [text for text in kept if text != busy and shares[text] >= _LEAST][:most]
    return [
        f"{text} {100 * share:.0f} %"
        for text, share in shares.items()
        if text == busy or text in kept
    ]


def _standing_out(finding: Finding | None, events: list[str]) -> list[str]:
    if not events:
        return []
    times = f"{counted(finding.count, 'time')}, such as " if finding else ""
    return [f"events that stand out: {times}{', '.join(events)}"]


def lost_us(report: ReportData, windows: Iterable[int]) -> dict[str, float]:
    """Return what patterns waste of windows by the rules' labels, microseconds."""
    lost: defaultdict[str, float] = defaultdict(float)
    for index in windows:
        for label in report.rule_windows[index].labels:
            lost[label.pattern] += label.wasted_us
    return lost


def pattern_row(name: str) -> _core.PatternInfo | None:
    """Return what is known of a pattern; None of one that is not built in."""
    return next((p for p in _core.patterns() if p.name == name), None)


def _choice(candidates: Sequence[str]) -> list[str]:
    out = ["patterns to choose from:"]
    for name in candidates:
        if pattern := pattern_row(name):
            out.append(f"{name} ({pattern.side}): {pattern.summary}")
    return [*out, f"{NONE}: nothing here costs 5 % of the time"]
