# SPDX-License-Identifier: BSD-3-Clause
"""report_data.py: what an analysis says, as data.

Times are microseconds on the trace's own clock (``start_us``, ``end_us``) or lengths
of time; spans are half-open.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from functools import cached_property

from torchtraceap import _core
from torchtraceap._core import (
    Answer,
    Balance,
    CollectiveRate,
    Copy,
    CriticalPath,
    EngineKind,
    EngineStep,
    Finding,
    Graph,
    GraphNode,
    Kernel,
    KernelCounts,
    Location,
    Memory,
    Node,
    Operator,
    Overlap,
    Recovery,
    RooflineRow,
    RuleOutcome,
    Stage,
    Step,
    Thread,
    Unexplained,
    Utilization,
    Window,
)
from torchtraceap.base.arguments import checked_int
from torchtraceap.data.config import Changes
from torchtraceap.data.features import Features, read_features
from torchtraceap.data.findings import read_findings
from torchtraceap.data.opinion import Opinion, Ranked, ranked
from torchtraceap.detection.detecting import detect
from torchtraceap.detection.detection import Detection


class ReportData:
    """The result of analyzing one trace; ``Report`` adds the output forms.

    Attributes:
        core: The core's report, with what has no form of its own here: claims, lanes,
            pauses. For the package's own modules: it changes from version to version.
    """

    def __init__(
        self,
        core: _core.Report,
        trace: _core.Trace,
        settings: Changes | None = None,
        detector: str = "off",
    ) -> None:
        self.core = core
        self.loaded = trace
        self.trace = core.trace
        self.quality = core.quality
        if self.trace.simulated and self.trace.path == "<bytes>":
            self.name_trace("<dry run>")
        self.settings: Changes = settings or {}
        self._detector = detector
        #: What a language model said when it was asked (``Report.explain``), of each
        #: finding and window the last.
        self.opinions: tuple[Opinion, ...] = ()

    def frames(self, rows: Iterable[int]) -> list[Location | None]:
        """Return the line of the program behind each event, as findings name it; None
        where the trace tells none. Ask for many at once."""
        return self.core.frames(list(rows))

    def name_trace(self, path: str) -> None:
        """Say where the trace lies now, or what to call one that lies nowhere."""
        self.trace = self.trace.replace(path=path)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Anti-patterns at places of the user's code: what to fix first, by its gain
        (of capturing launches, a part: see docs/replay.md), then, if no gain is known,
        the most wasted time. For a dry run's trace also the waits that cost no time.
        Last, with the origin "model", findings of the learned detector that no rule
        explains."""
        return self.rule_findings + self.detection.findings

    @cached_property
    def rule_findings(self) -> tuple[Finding, ...]:
        """The findings that are exact, without the learned detector's, which is not
        run for them: budgets, checks and comparisons hold a trace against these."""
        return read_findings(self.core)

    @property
    def ranking(self) -> tuple[Ranked, ...]:
        """The findings as the second opinion of a language model ranks them; in their
        own order where none was asked."""
        return ranked(self.findings, self.opinions)

    @property
    def lists_waits(self) -> bool:
        """Whether the trace lists the waits of a dry run: ``Finding.waits``."""
        return self.core.lists_waits

    @cached_property
    def core_replay(self) -> _core.Replay:
        """The core's schedule of the trace, as ``core``."""
        return self.core.replay()

    @cached_property
    def recovery(self) -> Recovery:
        """What fixing the findings would gain, by replaying the trace without them."""
        return self.core.recovery

    @cached_property
    def critical_paths(self) -> tuple[CriticalPath, ...]:
        """What bounds the trace, then each step: chained work, by category and line.
        Empty if no schedule can be made of the trace."""
        return self._read_paths(None)

    def first_critical_paths(self, steps: int) -> tuple[CriticalPath, ...]:
        """Return the trace's critical path and those of that many steps."""
        is_all = self.step_count <= steps
        return self.critical_paths if is_all else self._read_paths(steps)

    def _read_paths(self, steps: int | None) -> tuple[CriticalPath, ...]:
        replay = self.core_replay
        return replay.critical_paths(steps) if replay.fidelity else ()

    def tree(self, window: Window | int) -> list[Node]:
        """Return the device work that starts in a window, under what caused it.

        The roots are the outermost operators and annotations, or the work itself if its
        launch is not in the trace. Launches may lie before the window. Computed
        at each call, at a cost of the window's work times the depth of the tree."""
        index = window if isinstance(window, int) else window.index
        return self.core.window_tree(index)

    @property
    def is_part(self) -> bool:
        """Whether less than the whole trace was loaded."""
        return any(note.kind == "filtered" for note in self.quality.warnings)

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """Tiles of the analyzed time with their labels, by device, then time: those of
        rules, followed by those of the learned detector, if it runs."""
        return self.detection.windows if self.detection.run else self.rule_windows

    @cached_property
    def rule_windows(self) -> tuple[Window, ...]:
        """The windows with the labels of rules alone; no detector is run for them."""
        return self.core.windows

    @cached_property
    def detection(self) -> Detection:
        """The learned detector's verdict on each window, as arrays, or why it did not
        run. The first use in a process loads torch and the weights, about a second.

        Raises ValueError if weights that were named cannot be used."""
        return detect(self._detector, self.core, self.features)

    @cached_property
    def balance(self) -> tuple[Balance, ...]:
        """Where each device's time went; without device work, each process's time.

        Empty for an unusable trace.
        """
        return self.core.balance

    @cached_property
    def numbers_alike(self) -> frozenset[int]:
        """Device numbers that several devices have, each of a process of its own, as in
        a file merged from several ranks."""
        counts = Counter(row.device for row in self.balance if row.device is not None)
        return frozenset(number for number, count in counts.items() if count > 1)

    @cached_property
    def unexplained(self) -> tuple[Unexplained, ...]:
        """The longest idle stretches without a pattern, by device, longest first."""
        return self.core.unexplained

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The profiler's steps with a balance each; often there are none."""
        return self.core.steps()

    @property
    def step_count(self) -> int:
        """How many steps there are; at no cost, unlike ``len(report.steps)``."""
        return self.core.step_count

    def first_steps(self, most: int) -> tuple[Step, ...]:
        """Return the first steps; converting thousands takes seconds."""
        return self.steps if self.step_count <= most else self.core.steps(most)

    @cached_property
    def rules(self) -> tuple[RuleOutcome, ...]:
        """What became of the claims of the user's own rules, where any ran."""
        return self.core.own_rules

    @cached_property
    def story(self) -> tuple[Stage, ...]:
        """A guided look: is the device busy, if not why, which side is the limit, what
        fills the busy time, and what would matter most."""
        return self.core.story()

    @cached_property
    def answer(self) -> Answer:
        """What to do first: the patterns that matter, with cost, gain and place."""
        return self.core.answer()

    @cached_property
    def _work(self) -> _core.WorkTables:
        return self.core.work_tables()

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """Device work by kernel, the one that keeps the devices busy longest first."""
        return self._work.kernels

    @cached_property
    def copies(self) -> tuple[Copy, ...]:
        """Copies by direction and kind of host memory, and memsets, longest first."""
        return self._work.copies

    @cached_property
    def roofline(self) -> tuple[RooflineRow, ...]:
        """Operators with the same inputs, against the peaks of their device: flops,
        bytes, efficiency; most time lost first. Needs record_shapes=True."""
        return self.core.roofline()

    @cached_property
    def collectives(self) -> tuple[CollectiveRate, ...]:
        """Collectives of one size against the link of their devices, most time first.
        Needs their sizes, which torch records since 2.1."""
        return self.core.collectives()

    @cached_property
    def engine_steps(self) -> tuple[EngineStep, ...]:
        """Forward passes of a serving engine (vLLM, SGLang, ATOM) by their
        annotations, in order of time."""
        return self.core.engine_steps()

    @cached_property
    def engine_kinds(self) -> tuple[EngineKind, ...]:
        """The same by kind: medians, and device time by category."""
        return self.core.engine_kinds()

    @cached_property
    def graphs(self) -> tuple[Graph, ...]:
        """CUDA and HIP graphs, by the work of all their launches: where they are
        launched, their nodes by annotation, and the share whose operator the capture
        tells (``analyze(capture=...)``, or a capture in the trace itself)."""
        return self.core.graphs()

    @cached_property
    def graph_nodes(self) -> tuple[GraphNode, ...]:
        """The nodes of each graph in order, with the operator and line that captured
        them, where these are known."""
        return self.core.graph_nodes()

    @cached_property
    def utilization(self) -> tuple[Utilization, ...]:
        """How much of its peaks each device reached: model flops utilization, memory
        bandwidth, tensor cores; of all the time and of each step. Needs
        record_shapes=True."""
        return self.core.utilization()

    @cached_property
    def memory(self) -> tuple[Memory, ...]:
        """The memory of each device and of the host: its peak and what was allocated
        then, its growth, its line over time. Needs profile_memory=True."""
        return self.core.memory()

    @cached_property
    def operators(self) -> tuple[Operator, ...]:
        """Operators by name, most host time of their own first."""
        return self.core.operators()

    @cached_property
    def threads(self) -> tuple[Thread, ...]:
        """What each thread of the host did with the time, the busiest first."""
        return self.core.threads()

    @cached_property
    def kernel_counts(self) -> KernelCounts:
        """How many kernels each step launches and each window runs."""
        return self.core.kernel_counts()

    @cached_property
    def overlap(self) -> tuple[Overlap, ...]:
        """Each device's computation, communication and copies, and what is hidden."""
        return self.core.overlap()

    def features(self, merge: int = 1) -> Features:
        """Return the windows and their events as arrays that models read: statistics,
        shares by cause, tokens. Computed at each call.

        `merge`, at least 1: up to that many neighboring windows of a step are merged.
        ValueError if it is less, TypeError if it is not an int."""
        merge = checked_int("merge", merge, 1, sys.maxsize)
        return read_features(self.core, self.loaded, merge)
