# SPDX-License-Identifier: BSD-3-Clause
"""report_data.py: what an analysis says, as data.

Times are microseconds on the trace's own clock (``start_us``, ``end_us``) or lengths
of time; spans are half-open.
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from torchtraceap import _core
from torchtraceap.data.events import Unexplained, Window, read_unexplained, read_windows
from torchtraceap.data.facts import (
    Balance,
    RuleOutcome,
    Stage,
    Step,
    process,
    read_balance,
    read_facts,
    read_outcome,
    read_quality,
    read_step,
    read_story,
)
from torchtraceap.data.findings import Finding, read_findings
from torchtraceap.data.work import (
    Copy,
    Kernel,
    KernelCounts,
    Operator,
    Overlap,
    Thread,
    read_copies,
    read_kernel_counts,
    read_kernels,
    read_operators,
    read_overlap,
    read_threads,
)

if TYPE_CHECKING:
    from torchtraceap.data.config import Changes
    from torchtraceap.data.features import Features
    from torchtraceap.data.listed_waits import Recorded
    from torchtraceap.data.replay import CriticalPath, Recovery
    from torchtraceap.detection.detection import Detection


class ReportData:
    """What the analysis of one trace says; ``Report`` adds the forms to have it in.

    Attributes:
        trace: Path, number of events, analysed time, devices, rank; what it assumes if
            it is ``simulated``.
        quality: How far the trace can be trusted, and why.
        settings: The thresholds that were not the defaults, by pattern, with
            ``enabled`` for rules that were off.

    The rest is made or converted on first use: what ran (``kernels``, ``copies``,
    ``operators``, ``threads``, ``kernel_counts``, ``overlap``) and the ``story`` cost
    nothing until they are asked for. A report keeps its trace in memory.
    """

    def __init__(
        self,
        core: _core.Report,
        trace: _core.Trace,
        settings: Changes | None = None,
        asked_steps: tuple[int, int] | None = None,
        detector: str = "off",
    ) -> None:
        self._core = core
        self._trace = trace
        self.trace = read_facts(core.trace)
        self.quality = read_quality(core.quality)
        self.settings: Changes = settings or {}
        self._asked_steps = asked_steps
        self._detector = detector

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Anti-patterns at places of the user's code: the largest gain first, then,
        where none is known, the most wasted time. Of a dry run's trace also the waits
        that cost no time in it. Last, with the origin "model", what the learned
        detector flags and no rule explains."""
        from torchtraceap.detection.said import model_findings

        taken = {finding.id for finding in self.rule_findings}
        return self.rule_findings + model_findings(
            self._core, self._trace, self.rule_windows, self.detection, taken
        )

    @cached_property
    def rule_findings(self) -> tuple[Finding, ...]:
        """The findings that are exact, without the learned detector's, which is not
        run for them: budgets, checks and comparisons hold a trace against these."""
        return self._of_rules + self._recorded.findings

    @cached_property
    def _of_rules(self) -> tuple[Finding, ...]:
        return read_findings(self._core, self._trace, self.recovery, self.trace.span_us)

    @cached_property
    def _recorded(self) -> Recorded:
        from torchtraceap.data.listed_waits import Recorded, recorded_findings

        if self.trace.simulated is None:
            return Recorded()
        # The last one's device work reaches into the next, which then is there too.
        first, last = self._asked_steps or (0, 2**63)
        numbers = [step.number for step in self.steps if first <= step.number <= last]
        return recorded_findings(
            self._trace, self.trace, self._of_rules, numbers, self.is_part
        )

    @property
    def _wait_counts(self) -> dict[str, int] | None:
        """How often the host waits at each finding of ``sync_stall``, by its id, as a
        dry run's trace lists it, whatever the waits cost; None: it has no such list."""
        return self._recorded.counts

    @cached_property
    def core_replay(self) -> tuple[_core.Replay, _core.Report]:
        return self._core.replay(), self._core

    @cached_property
    def recovery(self) -> Recovery:
        """What fixing the findings would gain, by replaying the trace without them."""
        from torchtraceap.data.replay import read_recovery

        return read_recovery(self.core_replay[0])

    @cached_property
    def critical_paths(self) -> tuple[CriticalPath, ...]:
        """What bounds the trace, then each step: chained work, by category and line.
        Empty if no schedule can be made of the trace."""
        return self.first_critical_paths(None)

    def first_critical_paths(self, steps: int | None) -> tuple[CriticalPath, ...]:
        """Return the trace's critical path and those of so many steps, None: of all."""
        from torchtraceap.data.replay import read_path

        replay = self.core_replay[0]
        paths = replay.critical_paths(steps) if replay.fidelity else []
        return tuple(read_path(path) for path in paths)

    @property
    def is_part(self) -> bool:
        """Whether less than the whole trace was loaded."""
        return any(note.kind == "filtered" for note in self.quality.warnings)

    @property
    def event_names(self) -> list[str]:
        """The distinct names of all events."""
        return self._trace.strings

    @property
    def loaded(self) -> _core.Trace:
        """The trace's events, as ``load`` returns them."""
        return self._trace

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """Tiles of the analysed time with their labels, by device, then time: those of
        rules, and after them those of the learned detector, where it is run."""
        from torchtraceap.detection.said import with_model

        return with_model(self.rule_windows, self.detection)

    @cached_property
    def rule_windows(self) -> tuple[Window, ...]:
        """The windows with the labels of rules alone; no detector is run for them."""
        return read_windows(self._core, self._trace)

    @cached_property
    def detection(self) -> Detection:
        """What the learned detector says of each window, as arrays, or why it was not
        run. The first use in a process loads torch and the weights, about a second.

        Raises ValueError if weights that were named cannot be used."""
        from torchtraceap.detection.detecting import detect

        return detect(
            self._detector, self.quality.verdict, self.rule_windows, self.features
        )

    @cached_property
    def balance(self) -> tuple[Balance, ...]:
        """Where each device's time went; without device work, each process's time.

        Empty for an unusable trace.
        """
        names = self._core.pattern_names
        return tuple(
            read_balance(row, process(self._trace, row.pid), names)
            for row in self._core.balance
        )

    @cached_property
    def numbers_alike(self) -> frozenset[int]:
        """Device numbers that several devices have, each of a process of its own, as in
        a file merged from several ranks."""
        counts = Counter(row.device for row in self.balance if row.device is not None)
        return frozenset(number for number, count in counts.items() if count > 1)

    @cached_property
    def unexplained(self) -> tuple[Unexplained, ...]:
        """The longest idle stretches without a pattern, by device, longest first."""
        core = self._core.unexplained
        return tuple(read_unexplained(stretch, self._trace) for stretch in core)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The profiler's steps with a balance each; often there are none."""
        return tuple(read_step(row, self._trace) for row in self._step_rows)

    @cached_property
    def _step_rows(self) -> list[_core.StepRow]:
        return self._core.steps

    @property
    def step_count(self) -> int:
        """How many steps there are; at no cost, unlike ``len(report.steps)``."""
        return len(self._step_rows)

    def first_steps(self, most: int) -> tuple[Step, ...]:
        """Return so many steps; to convert thousands takes seconds."""
        if self.step_count <= most:
            return self.steps
        return tuple(read_step(row, self._trace) for row in self._step_rows[:most])

    @cached_property
    def rules(self) -> tuple[RuleOutcome, ...]:
        """What became of the claims of the user's own rules, where any ran."""
        return tuple(read_outcome(outcome) for outcome in self._core.own_rules)

    @cached_property
    def story(self) -> tuple[Stage, ...]:
        """A guided look: is the device busy, if not why, which side is the limit, what
        fills the busy time, and what would matter most."""
        return read_story(self._core.story())

    @cached_property
    def _work(self) -> _core.WorkTables:
        return self._core.work_tables()

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """Device work by kernel, the one that keeps the devices busy longest first."""
        busy_ns = sum(row.busy_ns for row in self._core.balance)
        return read_kernels(self._work.kernels, busy_ns)

    @cached_property
    def copies(self) -> tuple[Copy, ...]:
        """Copies by direction and kind of host memory, and memsets, longest first."""
        return read_copies(self._work.copies)

    @cached_property
    def operators(self) -> tuple[Operator, ...]:
        """Operators by name, most host time of their own first."""
        return read_operators(self._core.operators())

    @cached_property
    def threads(self) -> tuple[Thread, ...]:
        """What each thread of the host did with the time, the busiest first."""
        return read_threads(self._core.threads(), self._trace, self.trace.span_us)

    @cached_property
    def kernel_counts(self) -> KernelCounts:
        """How many kernels each step launches and each window runs."""
        return read_kernel_counts(self._core.kernel_counts())

    @cached_property
    def overlap(self) -> tuple[Overlap, ...]:
        """Each device's computation, communication and copies, and what is hidden."""
        return read_overlap(self._core.overlap(), self._trace)

    def features(self, merge: int = 1) -> Features:
        """Return the windows and their events as arrays that models read: statistics,
        shares by cause, tokens. Computed anew at each call.

        `merge`, at least 1: up to so many neighboring windows of a step are taken as
        one. ValueError if it is less, TypeError if it is no int."""
        from torchtraceap.base.arguments import checked_int
        from torchtraceap.data.features import read_features

        merge = checked_int("merge", merge, 1, sys.maxsize)
        return read_features(self._core, self._trace, merge)
