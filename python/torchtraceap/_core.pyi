"""
The C++ core of torchtraceap. Import torchtraceap instead.
"""

from __future__ import annotations

import collections.abc
import typing

import numpy
import numpy.typing

__all__: list[str] = [
    "Agreement",
    "AlignedOperator",
    "AlignedSide",
    "Alignment",
    "Answer",
    "AnswerRow",
    "Arrival",
    "Balance",
    "BlockingCall",
    "CallTree",
    "Capture",
    "Claim",
    "CollectiveRate",
    "CollectiveRow",
    "CollectiveWait",
    "Copy",
    "Counts",
    "CriticalPath",
    "Culprit",
    "DecodeSkew",
    "Device",
    "DrawnLane",
    "DrawnLanes",
    "Edit",
    "EngineKind",
    "EngineStep",
    "Event",
    "FeatureColumn",
    "Features",
    "Fidelity",
    "Finding",
    "Gain",
    "Gpu",
    "Graph",
    "GraphNode",
    "GraphPart",
    "Job",
    "JobAnswer",
    "JobAnswerRow",
    "JobFacts",
    "JobResult",
    "JoinedCollective",
    "Kernel",
    "KernelCounts",
    "LOSS",
    "Label",
    "Late",
    "LateRank",
    "LoadOptions",
    "Location",
    "Memory",
    "MemoryGrowth",
    "MemoryHolder",
    "MemoryPoint",
    "NO_ID",
    "NO_TIME",
    "Node",
    "Note",
    "Operator",
    "Outcome",
    "Overlap",
    "OwnRule",
    "PathPlace",
    "PatternInfo",
    "Program",
    "Quality",
    "RankCollective",
    "RankFinding",
    "RankRecord",
    "RankRow",
    "RankWork",
    "Reason",
    "Recomputed",
    "RecordingCheck",
    "Recovery",
    "Replay",
    "Report",
    "RooflineRow",
    "RuleContext",
    "RuleOutcome",
    "Settings",
    "SharedFinding",
    "Simulated",
    "SortOfEvent",
    "Stage",
    "Step",
    "StepOfRank",
    "StepTimes",
    "Thread",
    "Threshold",
    "Trace",
    "TraceFacts",
    "Unexplained",
    "Utilization",
    "VerdictCounts",
    "Verdicts",
    "Warning",
    "Window",
    "WorkTables",
    "align",
    "analyze",
    "built_for_torch",
    "category_names",
    "category_number",
    "duration_text",
    "event_kinds",
    "feature_columns",
    "feature_fingerprint",
    "fields",
    "gpus",
    "judge",
    "load_bytes",
    "load_file",
    "pattern_edits",
    "patterns",
    "rank_processes",
    "read_capture",
    "restore_record",
    "step_categories",
    "step_range",
    "thresholds",
    "token_columns",
    "write_pftrace",
]

class Warning:
    """
    An anomaly, counted by kind.
    """
    @property
    def count(self) -> int: ...
    @property
    def detail(self) -> str: ...
    @property
    def kind(self) -> str: ...

class Trace:
    """
    A profiler trace in memory.
    """
    def __len__(self) -> int: ...
    def identity(
        self, pid_or_tid: typing.SupportsInt | typing.SupportsIndex
    ) -> int | str:
        """
        A pid or tid as in the file.
        """
    def name(self, row: typing.SupportsInt | typing.SupportsIndex) -> str: ...
    def of_processes(
        self,
        pids: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
        rank: typing.SupportsInt | typing.SupportsIndex | None = None,
    ) -> Trace:
        """
        The trace of these processes alone, by their values in columns['pid']: rows are renumbered, and its rank is `rank`, or unknown.
        """
    def read_args(
        self, rows: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]
    ) -> list[str]:
        """
        Raw JSON of the args of each row, '' where there are none.
        """
    @property
    def category_names(self) -> list[str]:
        """
        Names of the categories, by the numbers in the category column.
        """
    @property
    def columns(self) -> dict[str, numpy.ndarray]:
        """
        Column name to a read-only NumPy view, one value a row.
        """
    @property
    def left_out(self) -> int:
        """
        Valid events that the loading options left out; they have no rows.
        """
    @property
    def metadata(self) -> dict[str, str]:
        """
        Top-level keys other than traceEvents, with their raw JSON.
        """
    @property
    def path(self) -> str: ...
    @property
    def strings(self) -> list[str]:
        """
        Names by the ids in columns.
        """
    @property
    def text_bytes(self) -> int:
        """
        Length of the uncompressed JSON text.
        """
    @property
    def warnings(self) -> list[Warning]: ...

class LoadOptions:
    """
    trace::LoadOptions; see cpp/trace/trace.h.
    """

    recover: bool
    def __init__(self) -> None: ...
    @property
    def begin_ns(self) -> int: ...
    @begin_ns.setter
    def begin_ns(self, arg1: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def categories(self) -> int: ...
    @categories.setter
    def categories(self, arg1: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def end_ns(self) -> int: ...
    @end_ns.setter
    def end_ns(self, arg1: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def max_ratio(self) -> float: ...
    @max_ratio.setter
    def max_ratio(self, arg1: typing.SupportsFloat | typing.SupportsIndex) -> None: ...
    @property
    def max_text_bytes(self) -> int: ...
    @max_text_bytes.setter
    def max_text_bytes(
        self, arg1: typing.SupportsInt | typing.SupportsIndex
    ) -> None: ...
    @property
    def progress(self) -> typing.Any:
        """
        Called with fraction, text_bytes and events; or None.
        """
    @progress.setter
    def progress(self, arg0: typing.Any) -> None: ...
    @property
    def threads(self) -> int: ...
    @threads.setter
    def threads(self, arg1: typing.SupportsInt | typing.SupportsIndex) -> None: ...

class PatternInfo:
    """
    A row of the table of anti-patterns.
    """
    @property
    def advice(self) -> str: ...
    @property
    def edit(self) -> str: ...
    @property
    def estimate(self) -> bool: ...
    @property
    def family(self) -> str:
        """
        The kind of loss: patterns of one family have one color.
        """
    @property
    def name(self) -> str: ...
    @property
    def on_host(self) -> bool:
        """
        Whether it can also be found in a trace without device work.
        """
    @property
    def side(self) -> str: ...
    @property
    def subtypes(self) -> list[str]: ...
    @property
    def summary(self) -> str: ...
    @property
    def user_finding(self) -> bool: ...

class Location:
    """
    A function of Python code.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Location:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Location:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def begins(self) -> int | None:
        """
        Where the function begins, if known.
        """
    @property
    def file(self) -> str:
        """
        As in the trace, often relative to a folder of sys.path.
        """
    @property
    def function(self) -> str:
        """
        Name of the function.
        """
    @property
    def line(self) -> int | None:
        """
        Line of the call: as in the trace, else as found in the source file; None if neither has it, or if several lines match.
        """
    @property
    def names(self) -> tuple[str, str]:
        """
        The names that select it: also with the line in the trace, so that a name stays valid without the source file.
        """
    @property
    def nearest_line(self) -> int | None:
        """
        The line; if unknown, the first line of the function.
        """
    @property
    def recorded_at(self) -> str:
        """
        Position of the recorded line: "call"; "function", where the function begins; or "start", where it was when recording began, which says nothing about a finding.
        """
    @property
    def recorded_line(self) -> int | None:
        """
        The line in the trace; by default `line`.
        """
    @property
    def text(self) -> str:
        """
        As ``train.py:88 step``; without a line, ``train.py in step()``.
        """
    @property
    def user(self) -> bool:
        """
        False if only library code was there.
        """

class Claim:
    """
    Time taken by one cause, in nanoseconds.
    """
    @property
    def begin(self) -> int: ...
    @property
    def device(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def evidence(self) -> int: ...
    @property
    def idle(self) -> bool: ...

class BlockingCall:
    """
    A call in which the host waited for a device.
    """
    @property
    def begin_ns(self) -> int: ...
    @property
    def end_ns(self) -> int: ...
    @property
    def location(self) -> Location | None: ...
    @property
    def operator_name(self) -> str: ...
    @property
    def row(self) -> int: ...
    @property
    def subtype(self) -> str: ...

class Event:
    """
    An event of the trace that takes time.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Event:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Event:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def duration_ns(self) -> int:
        """
        Length.
        """
    @property
    def duration_us(self) -> float:
        """
        Length.
        """
    @property
    def index(self) -> int:
        """
        Row in `Trace.columns`.
        """
    @property
    def name(self) -> str:
        """
        Name in the trace.
        """
    @property
    def start_ns(self) -> int:
        """
        Start, on the trace's clock.
        """
    @property
    def start_us(self) -> float:
        """
        Start, on the trace's clock.
        """

class Finding:
    """
    One anti-pattern at one place, with its cost.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Finding:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Finding:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def advice(self) -> str:
        """
        How to fix it.
        """
    @property
    def basis(self) -> str:
        """
        "measured"; "simulated" in a simulated trace; "estimate": mostly an upper bound, the saving of faster work; "model": claims no time.
        """
    @property
    def count(self) -> int:
        """
        Occurrences.
        """
    @property
    def deepest(self) -> Location | None:
        """
        Deepest function below `location` with four fifths of the time and more.
        """
    @property
    def docs(self) -> str:
        """
        The page that explains the pattern, in torchtraceap's repository.
        """
    @property
    def edit(self) -> str:
        """
        The edit that models the fix in the replay, see docs/replay.md.
        """
    @property
    def events(self) -> tuple[Event, ...]:
        """
        Costliest first, at most eight.
        """
    @property
    def id(self) -> str:
        """
        Equal for the same pattern at the same place of another trace.
        """
    @property
    def idle_ns(self) -> int:
        """
        The part of `wasted_us` in which the device was idle.
        """
    @property
    def idle_us(self) -> float:
        """
        The part of `wasted_us` in which the device was idle.
        """
    @property
    def kind(self) -> str:
        """
        The pattern, with its sub-type if it has one: `sync_stall (event)`.
        """
    @property
    def location(self) -> Location | None:
        """
        None: no Python frames, or several places.
        """
    @property
    def message(self) -> str:
        """
        One sentence with figures.
        """
    @property
    def operator(self) -> str:
        """
        Deepest operator above the evidence; of a line, the one with over half of the time; or "".
        """
    @property
    def origin(self) -> str:
        """
        "rule": found in a recording; "dry-run": by the same rules in a simulated trace; "model": windows that the learned detector flags and no rule explains. This is not proof; `events` are those it attended to most.
        """
    @property
    def pattern(self) -> str:
        """
        Name of the pattern; "unexplained" for the model's.
        """
    @property
    def processes(self) -> tuple[int | str, ...]:
        """
        The processes whose time it is, or that feed the devices, if known.
        """
    @property
    def recoverable_fraction(self) -> float | None:
        """
        `recoverable_us` as a share of the span.
        """
    @property
    def recoverable_high_ns(self) -> int | None:
        """
        The high end of the range.
        """
    @property
    def recoverable_high_us(self) -> float | None:
        """
        The high end of the range.
        """
    @property
    def recoverable_low_ns(self) -> int | None:
        """
        The low end of the range.
        """
    @property
    def recoverable_low_us(self) -> float | None:
        """
        The low end of the range.
        """
    @property
    def recoverable_ns(self) -> int | None:
        """
        Time that a fix is expected to save: the middle of its range. None if the replay is unreliable; `Report.recovery` says why.
        """
    @property
    def recoverable_us(self) -> float | None:
        """
        Time that a fix is expected to save: the middle of its range. None if the replay is unreliable; `Report.recovery` says why.
        """
    @property
    def severity(self) -> str:
        """
        "low", "medium" (3 % of the span and more), "high" (10 %).
        """
    @property
    def shares_gain_with(self) -> tuple[str, ...]:
        """
        Patterns of other findings whose fixes save a quarter of the same idle time and more, largest first: do not add up gains of findings that share.
        """
    @property
    def side(self) -> str:
        """
        "cpu" or "gpu": whose code has to change.
        """
    @property
    def subtype(self) -> str | None:
        """
        None if the pattern has no sub-types.
        """
    @property
    def waits(self) -> int | None:
        """
        Of `sync_stall`, in a trace that lists the waits of a dry run: how often the host waits here, regardless of the cost.
        """
    @property
    def wasted_ns(self) -> int:
        """
        Idle and excess time; no moment is in two findings.
        """
    @property
    def wasted_us(self) -> float:
        """
        Idle and excess time; no moment is in two findings.
        """
    @property
    def windows(self) -> tuple[int, ...]:
        """
        Indices into `Report.windows`.
        """

class RuleContext:
    """
    A rule's view of the trace; torchtraceap.RuleView wraps it.
    """
    def busy(
        self, device: typing.SupportsInt | typing.SupportsIndex
    ) -> numpy.typing.NDArray[numpy.int64]: ...
    def device_of(self, row: typing.SupportsInt | typing.SupportsIndex) -> int:
        """
        The device of device work, as in `devices`; -1 of others.
        """
    def frames(
        self, rows: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]
    ) -> list[Location | None]: ...
    def idle(
        self,
        device: typing.SupportsInt | typing.SupportsIndex | None,
        pid: typing.SupportsInt | typing.SupportsIndex | None,
    ) -> numpy.typing.NDArray[numpy.int64]: ...
    def lanes(self) -> numpy.typing.NDArray[numpy.int64]: ...
    def launches(self) -> numpy.typing.NDArray[numpy.int64]: ...
    def on_stream(self, row: typing.SupportsInt | typing.SupportsIndex) -> bool:
        """
        Whether the event is device work.
        """
    def parents(self) -> numpy.typing.NDArray[numpy.int64]: ...
    def steps(self) -> numpy.typing.NDArray[numpy.int64]: ...
    @property
    def devices(self) -> list[int]: ...
    @property
    def span(self) -> tuple[int, int]: ...

class Gpu:
    """
    A row of the table of GPUs, see timeline/gpu_table.h.
    """
    @property
    def bandwidth_gb_s(self) -> float: ...
    @property
    def clock_ghz(self) -> float: ...
    @property
    def compute_capability(self) -> tuple[int, int]: ...
    @property
    def driver_name(self) -> str: ...
    @property
    def l2_bytes(self) -> int: ...
    @property
    def memory_bytes(self) -> int: ...
    @property
    def multiprocessors(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def pcie_generation(self) -> int: ...
    @property
    def peak_teraflops(self) -> dict[str, float]:
        """
        By data type as torch names it, and tf32.
        """
    @property
    def threads_per_multiprocessor(self) -> int: ...

class Threshold:
    """
    A threshold of a rule.
    """
    @property
    def default(self) -> float: ...
    @property
    def name(self) -> str: ...
    @property
    def pattern(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def why(self) -> str: ...

class Settings:
    """
    patterns::Settings; see patterns/settings.h.
    """
    def __init__(self) -> None: ...
    def enable(self, pattern: str, on: bool) -> None: ...
    def set(
        self,
        pattern: str,
        threshold: str,
        value: typing.SupportsFloat | typing.SupportsIndex,
    ) -> None: ...

class OwnRule:
    """
    patterns::OwnRule; see patterns/own_rule.h.
    """
    def __init__(
        self,
        *,
        name: str,
        side: str,
        summary: str,
        advice: str,
        min_share: typing.SupportsFloat | typing.SupportsIndex,
        before: str | None,
        propose: typing.Any,
    ) -> None: ...

class RankCollective:
    """
    A collective of one rank.
    """
    def __init__(
        self,
        key: str,
        name: str,
        step: typing.SupportsInt | typing.SupportsIndex,
        begin: typing.SupportsInt | typing.SupportsIndex,
        end: typing.SupportsInt | typing.SupportsIndex,
    ) -> None:
        """
        `key`: equal for all members; begin and end: stops.
        """

class RankWork:
    """
    A rank reduced to its collectives and its work between them.
    """
    def __init__(
        self,
        rank: typing.SupportsInt | typing.SupportsIndex,
        stage: typing.SupportsInt | typing.SupportsIndex,
        recorded: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
        kinds: collections.abc.Sequence[str],
        passages: collections.abc.Sequence[
            tuple[
                typing.SupportsInt | typing.SupportsIndex,
                typing.SupportsInt | typing.SupportsIndex,
                typing.SupportsInt | typing.SupportsIndex,
                collections.abc.Sequence[
                    tuple[
                        typing.SupportsInt | typing.SupportsIndex,
                        typing.SupportsInt | typing.SupportsIndex,
                    ]
                ],
            ]
        ],
        collectives: collections.abc.Sequence[RankCollective],
        steps: collections.abc.Sequence[
            tuple[
                typing.SupportsInt | typing.SupportsIndex,
                typing.SupportsInt | typing.SupportsIndex,
                typing.SupportsInt | typing.SupportsIndex,
            ]
        ],
    ) -> None:
        """
        Made from operations without a trace: `recorded` are nanoseconds of stops, the first one the beginning of the recording; passages (from, to, ns, parts), parts (place in `kinds`, ns); steps (number, begin, end).
        """
    def to_bytes(self) -> bytes: ...
    @property
    def rank(self) -> int: ...
    @property
    def recorded_ns(self) -> list[int]: ...
    @property
    def stage(self) -> int: ...
    @property
    def step_count(self) -> int: ...

class Job:
    """
    The ranks of a job as one schedule. Times in nanoseconds.
    """
    def __init__(
        self, ranks: collections.abc.Sequence[RankWork], *, by_kind: bool = False
    ) -> None: ...
    def gain_ns(self) -> tuple[float, float, float]:
        """
        How much shorter steps are with all work at the others' time: low, mean, high.
        """
    def recorded_step_ns(self) -> float: ...
    def replayed_step_ns(
        self,
        *,
        usual: bool = False,
        rank: typing.SupportsInt | typing.SupportsIndex | None = None,
        stage: typing.SupportsInt | typing.SupportsIndex | None = None,
        kind: str | None = None,
    ) -> float:
        """
        The mean step: unchanged or, with `usual`, with the selected work at the others' time; all work if nothing is selected.
        """
    def slow_work(self) -> tuple[list[int], float, list[int], list[float]]:
        """
        Slow ranks (places in `ranks`) and what a step gains without all of them; slow stages and what it gains without each.
        """
    @property
    def kinds(self) -> set[str]:
        """
        Kinds of work, and names of collectives.
        """
    @property
    def ranks(self) -> list[RankWork]: ...
    @property
    def steps(self) -> dict[int, tuple[int, int]]:
        """
        By number: recorded length, length replayed unchanged.
        """

class RankRow:
    """
    One rank, compared with the others.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> RankRow:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> RankRow:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def begin_ns(self) -> int:
        """
        First moment of its recording.
        """
    @property
    def begin_us(self) -> float:
        """
        First moment of its recording.
        """
    @property
    def busy_ns(self) -> int:
        """
        Busy time of its devices; without a device, of its process in operators.
        """
    @property
    def busy_us(self) -> float:
        """
        Busy time of its devices; without a device, of its process in operators.
        """
    @property
    def caused_ns(self) -> int:
        """
        Waiting of other ranks for this one.
        """
    @property
    def caused_us(self) -> float:
        """
        Waiting of other ranks for this one.
        """
    @property
    def clock_residual_ns(self) -> int:
        """
        Uncertainty of that: median distance of its collectives' ends from those of the others.
        """
    @property
    def clock_residual_us(self) -> float:
        """
        Uncertainty of that: median distance of its collectives' ends from those of the others.
        """
    @property
    def clock_shift_ns(self) -> int:
        """
        Added to its clock for the common one.
        """
    @property
    def clock_shift_us(self) -> float:
        """
        Added to its clock for the common one.
        """
    @property
    def device(self) -> str:
        """
        Where it computes: "NVIDIA H100 80GB HBM3"; "CPU" without device work.
        """
    @property
    def end_ns(self) -> int:
        """
        Last moment.
        """
    @property
    def end_us(self) -> float:
        """
        Last moment.
        """
    @property
    def exposed_ns(self) -> int:
        """
        In collectives, with no computation beside.
        """
    @property
    def exposed_us(self) -> float:
        """
        In collectives, with no computation beside.
        """
    @property
    def gain_us(self) -> float | None:
        """
        How much shorter a step of the job would be if this rank ran at the others' speed; None: not replayed, as 16 ranks caused more waiting.
        """
    @property
    def host(self) -> str:
        """
        "" if unknown.
        """
    @property
    def last(self) -> int:
        """
        Collectives in which it arrived last.
        """
    @property
    def path(self) -> str:
        """
        Of its trace.
        """
    @property
    def rank(self) -> int:
        """
        Its number; -1: unknown.
        """
    @property
    def span_ns(self) -> int:
        """
        From begin to end; 0 if it is not joined.
        """
    @property
    def span_us(self) -> float:
        """
        From begin to end; 0 if it is not joined.
        """
    @property
    def stage(self) -> int | None:
        """
        Of a pipeline; None: no pipeline, or unknown.
        """
    @property
    def steps(self) -> int:
        """
        Number of its steps.
        """
    @property
    def transfer_ns(self) -> int:
        """
        In collectives, from then on.
        """
    @property
    def transfer_us(self) -> float:
        """
        In collectives, from then on.
        """
    @property
    def verdict(self) -> str:
        """
        Of its trace.
        """
    @property
    def waited_ns(self) -> int:
        """
        In collectives, from its own start until all had started.
        """
    @property
    def waited_us(self) -> float:
        """
        In collectives, from its own start until all had started.
        """

class RankFinding:
    """
    A finding of one rank's own report, as far as a job needs it.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> RankFinding:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> RankFinding:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def advice(self) -> str:
        """
        How to fix it.
        """
    @property
    def count(self) -> int:
        """
        Occurrences.
        """
    @property
    def id(self) -> str:
        """
        As in the rank's own report.
        """
    @property
    def kind(self) -> str:
        """
        The pattern, with its sub-type if it has one.
        """
    @property
    def location(self) -> Location | None:
        """
        None: no Python frames are known.
        """
    @property
    def message(self) -> str:
        """
        One sentence with figures.
        """
    @property
    def operator(self) -> str:
        """
        Deepest operator above the evidence; or "".
        """
    @property
    def pattern(self) -> str:
        """
        Name of the pattern.
        """
    @property
    def recoverable_ns(self) -> int | None:
        """
        Gain of a fix in the rank's own replay; None if that is unreliable.
        """
    @property
    def recoverable_us(self) -> float | None:
        """
        Gain of a fix in the rank's own replay; None if that is unreliable.
        """
    @property
    def side(self) -> str:
        """
        "cpu" or "gpu": whose code has to change.
        """
    @property
    def wasted_ns(self) -> int:
        """
        Idle and excess time.
        """
    @property
    def wasted_us(self) -> float:
        """
        Idle and excess time.
        """

class Late:
    """
    The cause that made one rank late, and the others' waiting for it.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Late:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Late:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def collective(self) -> str:
        """
        Where others waited longest for it.
        """
    @property
    def count(self) -> int:
        """
        Collectives in which others waited for it.
        """
    @property
    def culprit(self) -> bool:
        """
        Not chance: a step would gain 2 % and a quarter of the spread between steps (their middle half), and others wait for it in three of four steps. Never if nothing explains it.
        """
    @property
    def finding(self) -> RankFinding | None:
        """
        The finding of its own report that claims most of that time; None: no finding does, or only one about collectives, which explains no lateness.
        """
    @property
    def gain_high_us(self) -> float | None:
        """
        Its end.
        """
    @property
    def gain_low_us(self) -> float | None:
        """
        The range of that average, by how steps differ (at a confidence of 90 %) and how far the replay is off; None: of a single step.
        """
    @property
    def gain_us(self) -> float | None:
        """
        How much shorter a step would be without it, on average; None: not replayed.
        """
    @property
    def kind(self) -> str:
        """
        Kind of its work: "host", "runtime_calls", "compute" or "copies"; "" if nothing that was recorded explains it.
        """
    @property
    def late_ns(self) -> int:
        """
        The largest excess over the others' time.
        """
    @property
    def late_us(self) -> float:
        """
        The largest excess over the others' time.
        """
    @property
    def location(self) -> Location | None:
        """
        The line of that work, if known.
        """
    @property
    def name(self) -> str:
        """
        Operator or kernel, where no line is known; or "".
        """
    @property
    def rank(self) -> int:
        """
        The rank that was late.
        """
    @property
    def sequence(self) -> int | None:
        """
        Number of that collective in its process group.
        """
    @property
    def waited_ns(self) -> int:
        """
        By all others together, in `count` collectives.
        """
    @property
    def waited_us(self) -> float:
        """
        By all others together, in `count` collectives.
        """
    @property
    def waiting(self) -> int:
        """
        Ranks that waited there.
        """
    @property
    def what(self) -> str:
        """
        The cause: a pattern, else the kind of work.
        """

class LateRank:
    """
    A rank that is late, alone or in turn with others.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> LateRank:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> LateRank:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def caused_ns(self) -> int:
        """
        Waiting of other ranks for it.
        """
    @property
    def caused_us(self) -> float:
        """
        Waiting of other ranks for it.
        """
    @property
    def finding(self) -> RankFinding | None:
        """
        The finding of its own report that claims most of it, if a fifth or more.
        """
    @property
    def gain_us(self) -> float | None:
        """
        How much shorter a step would be if this rank alone worked at the others' speed.
        """
    @property
    def host_share(self) -> float:
        """
        Share of `caused` for which its host was late: in Python, operators and calls of the runtime.
        """
    @property
    def rank(self) -> int:
        """
        The rank.
        """
    @property
    def share(self) -> float:
        """
        Of all that ranks waited for each other.
        """
    @property
    def unexplained_share(self) -> float:
        """
        Share for which nothing recorded is the cause.
        """

class SharedFinding:
    """
    A pattern that most ranks have, with its idle and excess time.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> SharedFinding:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> SharedFinding:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def least(self) -> float:
        """
        The smallest share.
        """
    @property
    def most(self) -> float:
        """
        The largest share.
        """
    @property
    def of(self) -> int:
        """
        The number of ranks analyzed.
        """
    @property
    def pattern(self) -> str:
        """
        Name of the pattern.
        """
    @property
    def ranks(self) -> int:
        """
        Ranks whose own report has it.
        """
    @property
    def share(self) -> float:
        """
        Of a rank's recording, in the mean over those ranks.
        """

class DecodeSkew:
    """
    How long tensor-parallel ranks of a serving engine wait for each other in their steps of one kind.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> DecodeSkew:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> DecodeSkew:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def device_ns(self) -> int:
        """
        Of all ranks together: from the first start to the last end in each step.
        """
    @property
    def device_us(self) -> float:
        """
        Of all ranks together: from the first start to the last end in each step.
        """
    @property
    def kind(self) -> str:
        """
        Of the steps: "decode" or "verify".
        """
    @property
    def last(self) -> int:
        """
        Steps in which it comes last; without one, the rank that does most often.
        """
    @property
    def members(self) -> tuple[int, ...]:
        """
        These.
        """
    @property
    def rank(self) -> int | None:
        """
        The rank that comes last in most of them; None: none does, or it costs less than 2 % of the steps.
        """
    @property
    def ranks(self) -> int:
        """
        Those that are in their collectives together.
        """
    @property
    def share(self) -> float:
        """
        `waited` of `device`.
        """
    @property
    def step_wait_ns(self) -> int:
        """
        Of that, a step and waiting rank, on average.
        """
    @property
    def step_wait_us(self) -> float:
        """
        Of that, a step and waiting rank, on average.
        """
    @property
    def steps(self) -> int:
        """
        The number compared.
        """
    @property
    def waited_ns(self) -> int:
        """
        By all ranks together: in each collective, longer than the one that is in it for the shortest time, as it comes last.
        """
    @property
    def waited_us(self) -> float:
        """
        By all ranks together: in each collective, longer than the one that is in it for the shortest time, as it comes last.
        """

class CollectiveWait:
    """
    Waiting in one collective because of one rank.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> CollectiveWait:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> CollectiveWait:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def collective(self) -> int:
        """
        Place in `JobReport.joined_collectives`.
        """
    @property
    def late(self) -> int | None:
        """
        Its cause: place in `JobReport.late`; None: too little to have a row there.
        """
    @property
    def late_ns(self) -> int:
        """
        Excess over the others' time.
        """
    @property
    def late_us(self) -> float:
        """
        Excess over the others' time.
        """
    @property
    def rank(self) -> int:
        """
        The rank that was waited for.
        """
    @property
    def waited_ns(self) -> int:
        """
        By all others together.
        """
    @property
    def waited_us(self) -> float:
        """
        By all others together.
        """

class StepOfRank:
    """
    A step of one rank.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> StepOfRank:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> StepOfRank:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def begin_ns(self) -> int:
        """
        First moment.
        """
    @property
    def begin_us(self) -> float:
        """
        First moment.
        """
    @property
    def end_ns(self) -> int:
        """
        Last moment.
        """
    @property
    def end_us(self) -> float:
        """
        Last moment.
        """
    @property
    def number(self) -> int:
        """
        Of the step.
        """
    @property
    def rank(self) -> int:
        """
        The rank.
        """

class Arrival:
    """
    A rank in a collective.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Arrival:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Arrival:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def begin_ns(self) -> int:
        """
        Its own start.
        """
    @property
    def begin_us(self) -> float:
        """
        Its own start.
        """
    @property
    def end_ns(self) -> int:
        """
        Its own end.
        """
    @property
    def end_us(self) -> float:
        """
        Its own end.
        """
    @property
    def rank(self) -> int:
        """
        The rank.
        """
    @property
    def wait_ns(self) -> int:
        """
        From its own start until all had started.
        """
    @property
    def wait_us(self) -> float:
        """
        From its own start until all had started.
        """

class JoinedCollective:
    """
    A collective, or a message, that two ranks or more recorded.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> JoinedCollective:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> JoinedCollective:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def arrivals(self) -> tuple[Arrival, ...]:
        """
        By rank.
        """
    @property
    def bytes(self) -> int | None:
        """
        Its size, if recorded.
        """
    @property
    def group(self) -> str:
        """
        Name of its process group; "" if unknown.
        """
    @property
    def last(self) -> int:
        """
        The rank that arrived last.
        """
    @property
    def name(self) -> str:
        """
        "allreduce", as the operator is called.
        """
    @property
    def sequence(self) -> int | None:
        """
        Its number in the group.
        """
    @property
    def step(self) -> int | None:
        """
        N of the ProfilerStep#N, by one count for all ranks.
        """
    @property
    def transfer_ns(self) -> int:
        """
        From the last start to the first end.
        """
    @property
    def transfer_us(self) -> float:
        """
        From the last start to the first end.
        """
    @property
    def wait_ns(self) -> int:
        """
        Of all ranks together, before that.
        """
    @property
    def wait_us(self) -> float:
        """
        Of all ranks together, before that.
        """

class CollectiveRow:
    """
    All collectives of one name and size.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> CollectiveRow:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> CollectiveRow:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def bus_gb_s(self) -> float | None:
        """
        Bus bandwidth over the transfer, as NCCL's tests count it; None: size or kind unknown.
        """
    @property
    def bytes(self) -> int | None:
        """
        Size of each, if recorded.
        """
    @property
    def count(self) -> int:
        """
        How many there are.
        """
    @property
    def exposed_ns(self) -> int:
        """
        Of all ranks together, with no computation beside.
        """
    @property
    def exposed_us(self) -> float:
        """
        Of all ranks together, with no computation beside.
        """
    @property
    def name(self) -> str:
        """
        Name of the collective.
        """
    @property
    def small(self) -> bool:
        """
        Less than 1 MiB, and more than one: starting them costs more than sending.
        """
    @property
    def transfer_ns(self) -> int:
        """
        Of all ranks together: from then on.
        """
    @property
    def transfer_us(self) -> float:
        """
        Of all ranks together: from then on.
        """
    @property
    def wait_ns(self) -> int:
        """
        Of all ranks together: from their own start until all had started.
        """
    @property
    def wait_us(self) -> float:
        """
        Of all ranks together: from their own start until all had started.
        """

class Culprit:
    """
    How much shorter a step would be if one part of the work took its usual time.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Culprit:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Culprit:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def gain_high_us(self) -> float | None:
        """
        Its end.
        """
    @property
    def gain_low_us(self) -> float | None:
        """
        The range of that, as in `late`.
        """
    @property
    def gain_us(self) -> float:
        """
        How much shorter a step would be, on average.
        """
    @property
    def name(self) -> str:
        """
        The rank, the stage, or the kind of work: "host", "runtime_calls", "compute", "copies", or a collective.
        """
    @property
    def share(self) -> float:
        """
        Share of all losses; above 1 if other parts make up for it.
        """
    @property
    def what(self) -> str:
        """
        "rank", "stage" or "kind" of work.
        """

class JobFacts:
    """
    The job as a whole.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> JobFacts:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> JobFacts:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def clock_residual_ns(self) -> int:
        """
        Of the worst rank.
        """
    @property
    def clock_residual_us(self) -> float:
        """
        Of the worst rank.
        """
    @property
    def contradicted(self) -> int:
        """
        Collectives whose ranks were not in them at the same time: not joined.
        """
    @property
    def culprit(self) -> int | None:
        """
        Rank of the first culprit in `late`; None: there is none.
        """
    @property
    def even_ranks_us(self) -> float:
        """
        As `even_us`, but with transfers as recorded.
        """
    @property
    def even_us(self) -> float:
        """
        The same with each rank's work at the others' median, and that of pipeline stages shared evenly.
        """
    @property
    def joined_collectives(self) -> int:
        """
        Collectives and messages that two ranks or more recorded.
        """
    @property
    def late_gain_high_us(self) -> float | None:
        """
        Its end.
        """
    @property
    def late_gain_low_us(self) -> float | None:
        """
        The range of that, as in `late`.
        """
    @property
    def late_gain_us(self) -> float | None:
        """
        How much shorter a step would be if all of `late_ranks` worked at the others' speed, on average; None: there are none.
        """
    @property
    def missing(self) -> tuple[int, ...]:
        """
        Ranks without a trace.
        """
    @property
    def notes(self) -> tuple[Note, ...]:
        """
        On the ranks, and on how they were joined.
        """
    @property
    def ranks(self) -> int:
        """
        Those with a trace that could be read.
        """
    @property
    def recording(self) -> str:
        """
        The recording there.
        """
    @property
    def replay_error(self) -> float:
        """
        Mean over the steps of how far the replay is off, as a share of the step.
        """
    @property
    def replayed_us(self) -> float:
        """
        The same in the replay of the unchanged job.
        """
    @property
    def slowdown(self) -> float:
        """
        replayed_us / even_us; 1: no stragglers.
        """
    @property
    def sometimes_late(self) -> int | None:
        """
        The rank for which there was four fifths of the waiting, though not in three of four steps; None: there is none.
        """
    @property
    def source(self) -> str:
        """
        As given: a folder, a pattern, a file, or "the list".
        """
    @property
    def step_us(self) -> float:
        """
        Mean length of a step of all ranks together, recorded; without steps, of the whole recording.
        """
    @property
    def steps(self) -> int:
        """
        Steps that were recorded.
        """
    @property
    def unjoined(self) -> tuple[int, ...]:
        """
        Ranks whose trace could not be joined with those of others: it cannot be scheduled, or has no collective in common.
        """
    @property
    def unmatched(self) -> int:
        """
        Collectives that only one rank recorded.
        """
    @property
    def waited_ns(self) -> int:
        """
        Of all ranks together.
        """
    @property
    def waited_us(self) -> float:
        """
        Of all ranks together.
        """
    @property
    def world_size(self) -> int | None:
        """
        None if no trace has it.
        """

class JobAnswerRow:
    """
    A reason why a job is slow.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> JobAnswerRow:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> JobAnswerRow:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def fix(self) -> str:
        """
        What to do, in a few words; "" if that is unknown.
        """
    @property
    def high_fraction(self) -> float | None:
        """
        Its end.
        """
    @property
    def index(self) -> int:
        """
        Place in that list.
        """
    @property
    def low_fraction(self) -> float | None:
        """
        The range of that, as in `late`. None: of a single step.
        """
    @property
    def middle_fraction(self) -> float | None:
        """
        Share of a step that is saved on average if this alone took the time that it takes on other ranks. None: unknown.
        """
    @property
    def observed_fraction(self) -> float | None:
        """
        Share of the time of all ranks: of a shared pattern its own, of late ranks and decode steps what others waited. None: not a time in the traces.
        """
    @property
    def of(self) -> str:
        """
        The list of `JobReport` that it is about; "late_ranks": all of its rows together.
        """

class JobAnswer:
    """
    What to do about a job, in a few rows.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> JobAnswer:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> JobAnswer:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def caveat(self) -> str:
        """
        Why the figures are rough; or "".
        """
    @property
    def high_fraction(self) -> float | None:
        """
        Its end.
        """
    @property
    def low_fraction(self) -> float | None:
        """
        The range of that, as in `late`. None: of a single step.
        """
    @property
    def middle_fraction(self) -> float:
        """
        Share of a step that is saved on average if all transfers took their usual time ("transfers"), or all ranks (else).
        """
    @property
    def rows(self) -> tuple[JobAnswerRow, ...]:
        """
        Five at most, of 3 % or more except for the first, the cause of what is lost; what saves most comes first, shared patterns last.
        """
    @property
    def verdict(self) -> str:
        """
        "ranks" or "transfers": what makes it slow; "even": neither does, by 2 % of a step; "unknown": no collective in common.
        """

class RankRecord:
    """
    The data of one rank that a job needs.
    """
    def __init__(
        self,
        row: RankRow,
        findings: collections.abc.Sequence[RankFinding],
        work: bytes | None,
    ) -> None:
        """
        `row`: all that does not depend on other ranks; `findings`: of its report; `work`: RankWork.to_bytes(), None without a schedule.
        """

class JobResult:
    """
    The rows of a job.
    """
    def __init__(self, ranks: collections.abc.Sequence[RankRecord]) -> None:
        """
        Raises RuntimeError if ranks contradict each other.
        """
    @property
    def answer(self) -> JobAnswer: ...
    @property
    def causes(self) -> tuple[CollectiveWait, ...]: ...
    @property
    def collectives(self) -> tuple[CollectiveRow, ...]: ...
    @property
    def culprits(self) -> tuple[Culprit, ...]: ...
    @property
    def decode_skew(self) -> tuple[DecodeSkew, ...]: ...
    @property
    def facts(self) -> JobFacts: ...
    @property
    def joined_collectives(self) -> tuple[JoinedCollective, ...]: ...
    @property
    def late(self) -> tuple[Late, ...]: ...
    @property
    def late_ranks(self) -> tuple[LateRank, ...]: ...
    @property
    def ranks(self) -> tuple[RankRow, ...]: ...
    @property
    def shared(self) -> tuple[SharedFinding, ...]: ...
    @property
    def steps(self) -> tuple[StepOfRank, ...]: ...

class Unexplained:
    """
    A long stretch of idle time that no pattern accounts for.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Unexplained:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Unexplained:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def device(self) -> int | None:
        """
        None: of a process in a trace without device work.
        """
    @property
    def duration_us(self) -> float:
        """
        Length of the stretch.
        """
    @property
    def during(self) -> Event | None:
        """
        The host event that covers most of it. None: nothing is recorded.
        """
    @property
    def end_ns(self) -> int:
        """
        End, on the trace's clock.
        """
    @property
    def end_us(self) -> float:
        """
        End, on the trace's clock.
        """
    @property
    def pid(self) -> int | str | None:
        """
        The process, or the one that feeds the device.
        """
    @property
    def start_ns(self) -> int:
        """
        Start, on the trace's clock.
        """
    @property
    def start_us(self) -> float:
        """
        Start, on the trace's clock.
        """

class Note:
    """
    A remark on how to read the figures.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Note:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Note:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def count(self) -> int:
        """
        How often.
        """
    @property
    def detail(self) -> str:
        """
        A sentence or more.
        """
    @property
    def kind(self) -> str:
        """
        Stable word, such as "launches_without_work"; see docs/reading.md.
        """
    @property
    def verdict(self) -> str:
        """
        Verdict on the trace from this note alone.
        """

class Quality:
    """
    How far the trace can be trusted.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Quality:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Quality:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def incomplete(self) -> bool:
        """
        Device work is missing: busy time is understated, idle time overstated, and a device without findings is not a healthy one.
        """
    @property
    def linking_rate(self) -> float | None:
        """
        Of the device events with an id, those whose launch is in the trace, 0 to 1; None if no event carries one.
        """
    @property
    def reasons(self) -> tuple[Note, ...]:
        """
        The warnings that make the verdict worse than "ok".
        """
    @property
    def verdict(self) -> str:
        """
        "ok", "degraded" or "unusable": the worst of the warnings.
        """
    @property
    def warnings(self) -> tuple[Note, ...]:
        """
        Reasons, and the loader's warnings.
        """

class Device:
    """
    A device that the trace lists or that worked in it.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Device:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Device:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def events(self) -> int:
        """
        Kernels, copies and memsets recorded on it.
        """
    @property
    def id(self) -> int:
        """
        Its number.
        """
    @property
    def name(self) -> str:
        """
        From deviceProperties; "" if unknown.
        """

class Simulated:
    """
    The assumptions of a simulated trace: no time in it was measured.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Simulated:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Simulated:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def gpu(self) -> str:
        """
        The GPU whose kernels were estimated; "" if the trace has none.
        """
    @property
    def host_us_per_op(self) -> float | None:
        """
        Assumed host time of an operator, in microseconds.
        """

class TraceFacts:
    """
    Basic facts about a trace.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> TraceFacts:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> TraceFacts:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def device_time_us(self) -> float:
        """
        The span once for each working device, or for each process in a trace without device work: shares of findings refer to it.
        """
    @property
    def devices(self) -> tuple[Device, ...]:
        """
        In order of their numbers.
        """
    @property
    def end_ns(self) -> int:
        """
        End of the analyzed span.
        """
    @property
    def end_us(self) -> float:
        """
        End of the analyzed span.
        """
    @property
    def events(self) -> int:
        """
        Objects with a phase in traceEvents.
        """
    @property
    def path(self) -> str:
        """
        As given; "<bytes>" for a trace from memory, "<dry run>" for a dry run.
        """
    @property
    def processes(self) -> int:
        """
        In a trace without device work: how many processes worked, each with a balance.
        """
    @property
    def rank(self) -> int | None:
        """
        From distributedInfo.
        """
    @property
    def simulated(self) -> Simulated | None:
        """
        None: a profiler recorded it.
        """
    @property
    def span_us(self) -> float:
        """
        Length of the analyzed time, with or without device work.
        """
    @property
    def start_ns(self) -> int:
        """
        Start of the analyzed span, on its own clock.
        """
    @property
    def start_us(self) -> float:
        """
        Start of the analyzed span, on its own clock.
        """
    @property
    def working_devices(self) -> tuple[Device, ...]:
        """
        The devices with work in the trace; none for a CPU-only one.
        """
    @property
    def world_size(self) -> int | None:
        """
        From distributedInfo.
        """

class Balance:
    """
    Where time went: span = busy + idle by pattern + unattributed. Of one device; of a step, of all devices that its process feeds, whose times are added up. Without device work it is the time of one process.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Balance:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Balance:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def busy_fraction(self) -> float:
        """
        Share of the span in which the device (or any operator) worked, 0 to 1.
        """
    @property
    def busy_ns(self) -> int:
        """
        In a trace without device work: inside operators.
        """
    @property
    def busy_us(self) -> float:
        """
        In a trace without device work: inside operators.
        """
    @property
    def delay_ns(self) -> int:
        """
        Of a device, part of `unattributed_us`: gaps under 3 us between kernels that were queued, its own delay from one to the next. 0 for a step.
        """
    @property
    def delay_us(self) -> float:
        """
        Of a device, part of `unattributed_us`: gaps under 3 us between kernels that were queued, its own delay from one to the next. 0 for a step.
        """
    @property
    def device(self) -> int | None:
        """
        None: no device worked, or several did in the step.
        """
    @property
    def devices(self) -> int:
        """
        Number of devices added up; 0 without device work.
        """
    @property
    def excess_ns(self) -> dict[str, int]:
        """
        Part of `busy_us` that a pattern wastes.
        """
    @property
    def excess_us(self) -> dict[str, float]:
        """
        Part of `busy_us` that a pattern wastes.
        """
    @property
    def idle_ns(self) -> dict[str, int]:
        """
        Idle time of each pattern.
        """
    @property
    def idle_us(self) -> dict[str, float]:
        """
        Idle time of each pattern.
        """
    @property
    def pause_end_ns(self) -> int:
        """
        End of it; the start if there is none.
        """
    @property
    def pause_end_us(self) -> float:
        """
        End of it; the start if there is none.
        """
    @property
    def pause_finding(self) -> int | None:
        """
        Index of the finding to which most of that pause is attributed.
        """
    @property
    def pause_start_ns(self) -> int:
        """
        Start of the longest time between two pieces of a device's work.
        """
    @property
    def pause_start_us(self) -> float:
        """
        Start of the longest time between two pieces of a device's work.
        """
    @property
    def pid(self) -> int | str | None:
        """
        The process whose time it is, or that feeds the device.
        """
    @property
    def span_ns(self) -> int:
        """
        Of a step: its length, once for each device.
        """
    @property
    def span_us(self) -> float:
        """
        Of a step: its length, once for each device.
        """
    @property
    def unattributed_ns(self) -> int:
        """
        Idle time that no pattern explains.
        """
    @property
    def unattributed_us(self) -> float:
        """
        Idle time that no pattern explains.
        """

class Step:
    """
    One ProfilerStep#N.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Step:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Step:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def balance(self) -> Balance | None:
        """
        None: the trace is unusable, or the step's process feeds no device.
        """
    @property
    def busy_ns(self) -> int:
        """
        Of its process's devices together.
        """
    @property
    def busy_us(self) -> float:
        """
        Of its process's devices together.
        """
    @property
    def end_ns(self) -> int:
        """
        End, on the trace's clock.
        """
    @property
    def end_us(self) -> float:
        """
        End, on the trace's clock.
        """
    @property
    def number(self) -> int:
        """
        N of ProfilerStep#N.
        """
    @property
    def pid(self) -> int | str | None:
        """
        The process whose step it is.
        """
    @property
    def start_ns(self) -> int:
        """
        Start, on the trace's clock.
        """
    @property
    def start_us(self) -> float:
        """
        Start, on the trace's clock.
        """

class RuleOutcome:
    """
    Claims of a user's own rule, and the time credited to it.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> RuleOutcome:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> RuleOutcome:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def asked_ns(self) -> int:
        """
        Claimed together, inside the span.
        """
    @property
    def asked_us(self) -> float:
        """
        Claimed together, inside the span.
        """
    @property
    def claimed_ns(self) -> int:
        """
        Lost time in it that no rule had claimed before, each moment once.
        """
    @property
    def claimed_us(self) -> float:
        """
        Lost time in it that no rule had claimed before, each moment once.
        """
    @property
    def claims(self) -> int:
        """
        How many it made.
        """
    @property
    def counted(self) -> bool:
        """
        False: too little, so it is in no finding and no balance.
        """
    @property
    def rule(self) -> str:
        """
        Name of the rule.
        """
    @property
    def taken_ns(self) -> int:
        """
        Lost time in it that rules before it claimed.
        """
    @property
    def taken_us(self) -> float:
        """
        Lost time in it that rules before it claimed.
        """

class Label:
    """
    A pattern that a window shows.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Label:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Label:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def origin(self) -> str:
        """
        "rule": exact; "dry-run": the same in a simulated trace; "model": the learned detector, which claims no time (`wasted_us` is 0).
        """
    @property
    def pattern(self) -> str:
        """
        Name of the pattern.
        """
    @property
    def probability(self) -> float | None:
        """
        Probability that this side's patterns cost 5 % and more; None for a rule.
        """
    @property
    def saved_fraction(self) -> float:
        """
        Share of the window that a fix of this pattern alone saves, 0 to 1, by replay. Several fixes may save the same time, so those of a window may add up to more than 1. Where nothing could be replayed, the same as `wasted_fraction`; of the model, its guess.
        """
    @property
    def side(self) -> str:
        """
        "cpu" or "gpu": whose code has to change.
        """
    @property
    def wasted_fraction(self) -> float:
        """
        Its own part of the window, 0 to 1: `wasted_us` as a share. Those of a window add up to at most 1.
        """
    @property
    def wasted_ns(self) -> int:
        """
        Its own part of the window, each moment once.
        """
    @property
    def wasted_us(self) -> float:
        """
        Its own part of the window, each moment once.
        """

class Window:
    """
    A half-open stretch of one device's time. The windows of a device do not overlap and cover the analyzed span; without device work those of each process do.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Window:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Window:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def busy_ns(self) -> int:
        """
        Busy time of the device; 0 without one.
        """
    @property
    def busy_us(self) -> float:
        """
        Busy time of the device; 0 without one.
        """
    @property
    def cpu_probability(self) -> float | None:
        """
        The learned detector's probability that CPU-side patterns cost 5 % and more; where the window is unlike its training data, that of the rules alone. None: it was not run.
        """
    @property
    def cpu_wasted_fraction(self) -> float:
        """
        Share wasted by patterns of the CPU side, 0 to 1.
        """
    @property
    def device(self) -> int | None:
        """
        Number of the device; None in a trace without device work.
        """
    @property
    def duration_us(self) -> float:
        """
        Length of the window.
        """
    @property
    def end_ns(self) -> int:
        """
        End, on the trace's clock.
        """
    @property
    def end_us(self) -> float:
        """
        End, on the trace's clock.
        """
    @property
    def events(self) -> int:
        """
        Operators, annotations, calls and device work that start in it.
        """
    @property
    def gpu_probability(self) -> float | None:
        """
        The same for the GPU side; None also without a device.
        """
    @property
    def gpu_wasted_fraction(self) -> float:
        """
        The same for the GPU side.
        """
    @property
    def index(self) -> int:
        """
        Place in `Report.windows`.
        """
    @property
    def labels(self) -> tuple[Label, ...]:
        """
        Largest saving first; those of the model last.
        """
    @property
    def pid(self) -> int | str | None:
        """
        The process, or the one that feeds the device.
        """
    @property
    def rule_labels(self) -> tuple[Label, ...]:
        """
        The labels that are exact: without those of the learned detector.
        """
    @property
    def saved_us(self) -> float:
        """
        The most time that a fix of one of its patterns saves, by rules and replay: lists rank windows by it.
        """
    @property
    def start_ns(self) -> int:
        """
        Start, on the trace's clock.
        """
    @property
    def start_us(self) -> float:
        """
        Start, on the trace's clock.
        """
    @property
    def step(self) -> int | None:
        """
        N of the ProfilerStep#N it lies in.
        """
    @property
    def wasted_us(self) -> float:
        """
        Time that its labels waste together.
        """

class Node:
    """
    An event of a window's tree: device work, or a host event above it.
    """
    def __repr__(self) -> str: ...
    def walk(self) -> collections.abc.Iterator[Node]:
        """
        Iterate over this node and all below it, parents first.
        """
    @property
    def category(self) -> str:
        """
        Category in the trace.
        """
    @property
    def children(self) -> list[Node]:
        """
        In order of time.
        """
    @property
    def duration_us(self) -> float:
        """
        Length.
        """
    @property
    def index(self) -> int:
        """
        Row in `Trace.columns`.
        """
    @property
    def name(self) -> str:
        """
        Name in the trace.
        """
    @property
    def start_us(self) -> float:
        """
        Start, on the trace's clock.
        """

class Report:
    """
    The result of an analysis. Times in nanoseconds.
    """
    def answer(self) -> Answer: ...
    def append_rank(
        self,
        path: str,
        label: str,
        *,
        first_pid: typing.SupportsInt | typing.SupportsIndex,
        ids: typing.SupportsInt | typing.SupportsIndex,
        shift_ns: typing.SupportsInt | typing.SupportsIndex,
    ) -> int:
        """
        Adds the trace's rows to a file of several ranks that ends with an event, with pids from `first_pid` on and ids moved by `ids`; returns the first free pid.
        """
    def call_tree(self) -> CallTree: ...
    def check_serving(self, engine: str) -> tuple[RecordingCheck, ...]: ...
    def claimed_shares(self) -> numpy.typing.NDArray[numpy.float32]:
        """
        float32 [n, 2]: what rules claim that a fix of the CPU's or GPU's side saves at most, as a share of each window.
        """
    def claims(self, finding: typing.SupportsInt | typing.SupportsIndex) -> list[Claim]:
        """
        The time that a finding claims, in order.
        """
    def collectives(self) -> tuple[CollectiveRate, ...]: ...
    def engine_kinds(self) -> tuple[EngineKind, ...]: ...
    def engine_steps(self) -> tuple[EngineStep, ...]: ...
    def events(
        self, rows: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]
    ) -> tuple[Event, ...]:
        """
        Rows of the trace; all must have a start and a duration.
        """
    def features(
        self, merge: typing.SupportsInt | typing.SupportsIndex = 1
    ) -> Features: ...
    def findings(
        self,
        line_of: collections.abc.Callable[
            [Location, list[tuple[list[str], int]], int],
            typing.SupportsInt | typing.SupportsIndex | None,
        ],
    ) -> tuple[Finding, ...]:
        """
        `line_of(location, calls, wasted_ns)` returns the line of the call if the trace does not have it; `calls`: names, outermost first, and nanoseconds.
        """
    def frames(
        self, rows: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]
    ) -> list[Location | None]:
        """
        The line of the program behind each row, None if none is known.
        """
    def graph_nodes(self) -> tuple[GraphNode, ...]: ...
    def graphs(self) -> tuple[Graph, ...]: ...
    def kernel_counts(self) -> KernelCounts: ...
    def lanes(
        self,
        limit: typing.SupportsInt | typing.SupportsIndex,
        time: tuple[
            typing.SupportsInt | typing.SupportsIndex,
            typing.SupportsInt | typing.SupportsIndex,
        ]
        | None = None,
    ) -> DrawnLanes: ...
    def memory(self) -> tuple[Memory, ...]: ...
    def model_verdicts(
        self,
        *,
        probability: typing.Annotated[numpy.typing.ArrayLike, numpy.float32],
        types: typing.Annotated[numpy.typing.ArrayLike, numpy.float32],
        recoverable: typing.Annotated[numpy.typing.ArrayLike, numpy.float32],
        strangeness: typing.Annotated[numpy.typing.ArrayLike, numpy.float32],
        events: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
        token_rows: typing.Annotated[numpy.typing.ArrayLike, numpy.uint32],
        patterns: collections.abc.Sequence[str],
        not_asked: collections.abc.Sequence[str],
        thresholds: typing.Annotated[
            collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex],
            "FixedSize(2)",
        ],
        window_from: typing.SupportsFloat | typing.SupportsIndex,
        trace_from: typing.SupportsFloat | typing.SupportsIndex,
    ) -> Verdicts:
        """
        Verdicts from the result of `Model.say`; ValueError names an array of another shape.
        """
    def occurrences_ns(
        self, finding: typing.SupportsInt | typing.SupportsIndex
    ) -> list[int]:
        """
        Cost of each occurrence of a finding, in order of time.
        """
    def operators(self) -> tuple[Operator, ...]: ...
    def overlap(self) -> tuple[Overlap, ...]: ...
    def rank_work(
        self,
        rank: typing.SupportsInt | typing.SupportsIndex,
        stage: typing.SupportsInt | typing.SupportsIndex,
        host: str,
        clock_begin_ns: typing.SupportsInt | typing.SupportsIndex,
    ) -> RankWork:
        """
        The trace reduced to the data that a job of many ranks needs; -1: unknown.
        """
    def replay(self) -> Replay:
        """
        The replay of the trace, its reliability, and the gains of fixes.
        """
    def roofline(self) -> tuple[RooflineRow, ...]: ...
    def sorts(
        self, rows: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]
    ) -> list[SortOfEvent]:
        """
        What kind of event each row is, and its letter.
        """
    def steps(
        self, most: typing.SupportsInt | typing.SupportsIndex | None = None
    ) -> tuple[Step, ...]:
        """
        The first steps, or all.
        """
    def story(self) -> tuple[Stage, ...]: ...
    def threads(self) -> tuple[Thread, ...]: ...
    def utilization(self) -> tuple[Utilization, ...]: ...
    def window_tree(
        self, index: typing.SupportsInt | typing.SupportsIndex
    ) -> list[Node]:
        """
        The window's device work under the host events it came from: the roots.
        """
    def work_tables(self) -> WorkTables: ...
    def write_perfetto(
        self, findings: collections.abc.Sequence[tuple[str, str]], path: str
    ) -> None:
        """
        Writes a copy of the trace with additional tracks; `findings` are name and args (a JSON object) of each finding.
        """
    @property
    def balance(self) -> tuple[Balance, ...]: ...
    @property
    def blocking_calls(self) -> list[BlockingCall]:
        """
        Every call in which the host waited for a device, in order of time.
        """
    @property
    def has_captures(self) -> bool:
        """
        Whether there was a capture to look for graphs in.
        """
    @property
    def lists_waits(self) -> bool:
        """
        Whether the trace lists the waits of a dry run.
        """
    @property
    def own_rules(self) -> tuple[RuleOutcome, ...]: ...
    @property
    def pattern_names(self) -> list[str]:
        """
        Of the built-in patterns, then of the user's own rules.
        """
    @property
    def quality(self) -> Quality: ...
    @property
    def recovery(self) -> Recovery: ...
    @property
    def step_count(self) -> int: ...
    @property
    def trace(self) -> TraceFacts: ...
    @property
    def unexplained(self) -> tuple[Unexplained, ...]: ...
    @property
    def window_count(self) -> int: ...
    @property
    def windows(self) -> tuple[Window, ...]: ...

class Stage:
    """
    One question about the trace, answered in figures.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Stage:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Stage:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def answer(self) -> str:
        """
        Sentences; names in them are from the trace.
        """
    @property
    def figures(self) -> dict[str, float]:
        """
        Times end in `_us`; the rest are counts.
        """
    @property
    def id(self) -> str:
        """
        busy, idle, limit, work, overlap or gain.
        """
    @property
    def known(self) -> bool:
        """
        False: the trace does not allow an answer, and `answer` gives the reason.
        """
    @property
    def question(self) -> str:
        """
        For people.
        """
    @property
    def severity(self) -> str | None:
        """
        By the cost as a share of the time of all devices, as of a finding; None: no cost.
        """
    @property
    def verdict(self) -> str:
        """
        The answer in a stable word: the side (host, device or turns), the pattern or the kind of work that comes first; "" if the figures are the answer, or if there is none.
        """

class AnswerRow:
    """
    A pattern that matters, in all places of one sub-type.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> AnswerRow:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> AnswerRow:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def basis(self) -> str:
        """
        As of a finding.
        """
    @property
    def count(self) -> int:
        """
        Occurrences.
        """
    @property
    def findings(self) -> tuple[int, ...]:
        """
        Indices into `Report.findings`, in their order.
        """
    @property
    def fix(self) -> str:
        """
        What to do, in a few words: `advice` has the rest.
        """
    @property
    def high_fraction(self) -> float | None:
        """
        The share that it saves at most.
        """
    @property
    def low_fraction(self) -> float | None:
        """
        Share of the span that fixing all of them saves at least. None: unknown.
        """
    @property
    def middle_fraction(self) -> float | None:
        """
        The share to expect.
        """
    @property
    def observed_fraction(self) -> float:
        """
        What its rule saw, as a share of the time of all devices, or of all processes in a trace without device work: without what a pattern of higher precedence explains, but, unlike `wasted_us`, not divided by replay.
        """
    @property
    def pattern(self) -> str:
        """
        Name of the pattern.
        """
    @property
    def problem(self) -> str:
        """
        What happened, without a full stop.
        """
    @property
    def subtype(self) -> str | None:
        """
        None if the pattern has no sub-types.
        """

class Answer:
    """
    What to do about a trace, in a few rows.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Answer:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Answer:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def busy_fraction(self) -> float | None:
        """
        Busy share of the time of all devices, or in operators without device work. None: unusable.
        """
    @property
    def caveat(self) -> str:
        """
        Why the figures of the rows are rough; or "".
        """
    @property
    def kernels(self) -> str:
        """
        Which operator loses most on the device, where kernels far below its peaks lose a fifth of the busy time and no row says so; or "".
        """
    @property
    def memory(self) -> str:
        """
        Memory that grows in each step, or for which the allocator empties its cache, in a sentence or two; or "".
        """
    @property
    def otherwise(self) -> str:
        """
        Without rows: where the time goes, or why that is unknown; else "".
        """
    @property
    def rest(self) -> int:
        """
        Findings that are in no row.
        """
    @property
    def rows(self) -> tuple[AnswerRow, ...]:
        """
        Five at most: what costs 3 % of the time or more, or whose fix is expected to save that; what to fix first comes first.
        """
    @property
    def steps(self) -> str:
        """
        Times of a serving engine's decode steps, else of its most frequent ones, in a sentence; or "".
        """

class Kernel:
    """
    All launches of one kernel, on all devices together.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Kernel:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Kernel:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def block_threads(self) -> int | None:
        """
        Threads of a block, of the same launch.
        """
    @property
    def blocks(self) -> int | None:
        """
        Of the grid: the most frequent launch, of equally frequent ones the smallest. None: not recorded.
        """
    @property
    def busy_share(self) -> float:
        """
        `union_us` as a share of the busy time of all devices.
        """
    @property
    def communication(self) -> bool:
        """
        Of NCCL, RCCL and similar libraries.
        """
    @property
    def count(self) -> int:
        """
        How often it ran.
        """
    @property
    def max_ns(self) -> int:
        """
        Longest duration.
        """
    @property
    def max_us(self) -> float:
        """
        Longest duration.
        """
    @property
    def mean_us(self) -> float:
        """
        Mean duration.
        """
    @property
    def min_ns(self) -> int:
        """
        Shortest duration.
        """
    @property
    def min_us(self) -> float:
        """
        Shortest duration.
        """
    @property
    def name(self) -> str:
        """
        Name of the kernel.
        """
    @property
    def occupancy(self) -> float | None:
        """
        Estimated, in percent, weighted by duration; None: not recorded.
        """
    @property
    def total_ns(self) -> int:
        """
        Sum of the durations as recorded.
        """
    @property
    def total_us(self) -> float:
        """
        Sum of the durations as recorded.
        """
    @property
    def union_ns(self) -> int:
        """
        Time in which at least one ran, of each device.
        """
    @property
    def union_us(self) -> float:
        """
        Time in which at least one ran, of each device.
        """

class Copy:
    """
    All copies of one direction and kind of host memory, or all memsets.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Copy:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Copy:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def bandwidth(self) -> float | None:
        """
        Bytes over the sum of their durations, in GB/s.
        """
    @property
    def bytes(self) -> int | None:
        """
        Of those with a recorded size; None: there are none.
        """
    @property
    def count(self) -> int:
        """
        How often it ran.
        """
    @property
    def direction(self) -> str:
        """
        "HtoD", "DtoH", "DtoD", "PtoP", "HtoH", "memset"; "": unknown.
        """
    @property
    def max_ns(self) -> int:
        """
        Longest duration.
        """
    @property
    def max_us(self) -> float:
        """
        Longest duration.
        """
    @property
    def mean_us(self) -> float:
        """
        Mean duration.
        """
    @property
    def median_bytes(self) -> int | None:
        """
        Of those; the lower of two.
        """
    @property
    def memory(self) -> str:
        """
        Of the host: "pageable", "pinned"; "": not recorded, or none.
        """
    @property
    def min_ns(self) -> int:
        """
        Shortest duration.
        """
    @property
    def min_us(self) -> float:
        """
        Shortest duration.
        """
    @property
    def total_ns(self) -> int:
        """
        Sum of the durations as recorded.
        """
    @property
    def total_us(self) -> float:
        """
        Sum of the durations as recorded.
        """
    @property
    def union_ns(self) -> int:
        """
        Time in which at least one ran, of each device.
        """
    @property
    def union_us(self) -> float:
        """
        Time in which at least one ran, of each device.
        """

class Operator:
    """
    All calls of one operator, on all threads.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Operator:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Operator:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def count(self) -> int:
        """
        How many calls.
        """
    @property
    def device_ns(self) -> int:
        """
        Sum of the device work launched inside it, which may overlap.
        """
    @property
    def device_us(self) -> float:
        """
        Sum of the device work launched inside it, which may overlap.
        """
    @property
    def max_ns(self) -> int:
        """
        Longest call.
        """
    @property
    def max_us(self) -> float:
        """
        Longest call.
        """
    @property
    def min_ns(self) -> int:
        """
        Shortest call, with all that it called.
        """
    @property
    def min_us(self) -> float:
        """
        Shortest call, with all that it called.
        """
    @property
    def name(self) -> str:
        """
        Name of the operator.
        """
    @property
    def self_device_ns(self) -> int:
        """
        Of that, the part that no operator inside it launched.
        """
    @property
    def self_device_us(self) -> float:
        """
        Of that, the part that no operator inside it launched.
        """
    @property
    def self_ns(self) -> int:
        """
        Outside of the operators it called.
        """
    @property
    def self_us(self) -> float:
        """
        Outside of the operators it called.
        """
    @property
    def total_ns(self) -> int:
        """
        Host time. Of calls inside a call of the same operator, only the outer one.
        """
    @property
    def total_us(self) -> float:
        """
        Host time. Of calls inside a call of the same operator, only the outer one.
        """
    @property
    def work(self) -> int:
        """
        Kernels, copies and memsets in `device_us`.
        """

class RooflineRow:
    """
    Calls of one operator with the same inputs, against the device's peaks.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> RooflineRow:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> RooflineRow:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def bound(self) -> str:
        """
        What sets it: "compute" or "memory"; or "".
        """
    @property
    def bytes(self) -> float:
        """
        Of one call: inputs and outputs, each moved once.
        """
    @property
    def count(self) -> int:
        """
        Calls with device work of their own.
        """
    @property
    def data_type(self) -> str:
        """
        Of the first of them, as torch names it.
        """
    @property
    def device(self) -> int:
        """
        Where it ran.
        """
    @property
    def device_ns(self) -> int:
        """
        Time in which work of a call ran, without that of operators inside it; of all calls.
        """
    @property
    def device_us(self) -> float:
        """
        Time in which work of a call ran, without that of operators inside it; of all calls.
        """
    @property
    def efficiency(self) -> float | None:
        """
        roofline / device time; None: unknown, or above 1.05: then sizes, type or peak are not those of the run, or its data was in the cache.
        """
    @property
    def evidence(self) -> str:
        """
        The figures that show the reason; or "".
        """
    @property
    def flops(self) -> float:
        """
        Of one call: two for a multiplication with addition; 0 also where strides or masks are not recorded.
        """
    @property
    def gb_s(self) -> float:
        """
        Achieved, of the least bytes.
        """
    @property
    def in_graph(self) -> bool:
        """
        Run by replays of a graph: the operator is that of its capture.
        """
    @property
    def inputs(self) -> str:
        """
        Sizes of its tensors: "[64, 128] [128, 256]".
        """
    @property
    def intensity(self) -> float:
        """
        FLOPs a byte.
        """
    @property
    def kernel(self) -> str:
        """
        Its kernel with the most time.
        """
    @property
    def kind(self) -> str:
        """
        "product", "convolution", "attention", "elementwise", "reduction", "norm" or "move".
        """
    @property
    def lost_us(self) -> float | None:
        """
        Device time beyond that, at most what a better kernel saves.
        """
    @property
    def name(self) -> str:
        """
        Name of the operator.
        """
    @property
    def peak_gb_s(self) -> float | None:
        """
        That of its memory; None: unknown.
        """
    @property
    def peak_tflop_s(self) -> float | None:
        """
        The device's peak for its type; None: no arithmetic, or unknown.
        """
    @property
    def reachable(self) -> float | None:
        """
        The efficiency that good kernels of its class reach, of its bound; None: without an efficiency.
        """
    @property
    def reason(self) -> str:
        """
        Why it is slow (under 0.6 of reachable): "misaligned", "precision", "few_blocks", "format", "old_kernel", "waves", "tiles", "head_size", "depthwise", "few_channels", "dilated", "transposed", "pointwise", "strided", "low_intensity" (also where it is not slow), "short" or "unknown"; "": it is not, or not judged.
        """
    @property
    def roofline_us(self) -> float | None:
        """
        The least time of all calls by the device's data sheet; None: no peak of the device is known for its type.
        """
    @property
    def slow(self) -> bool:
        """
        It does less than 0.6 of what is reachable.
        """
    @property
    def tflop_s(self) -> float:
        """
        Achieved: flops of all calls over their device time.
        """

class Utilization:
    """
    How much of its peaks one device reached, in all or in one step.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Utilization:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Utilization:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def bandwidth_share(self) -> float | None:
        """
        `gb_s` over the peak of the device's memory.
        """
    @property
    def busy_ns(self) -> int:
        """
        In which the device worked.
        """
    @property
    def busy_us(self) -> float:
        """
        In which the device worked.
        """
    @property
    def device(self) -> int:
        """
        Its number.
        """
    @property
    def gb_s(self) -> float:
        """
        Bytes over the span, each input and output once.
        """
    @property
    def known_share(self) -> float:
        """
        Share of the busy time whose operators' work is known. The other figures are theirs alone: of all work it is at least that much.
        """
    @property
    def mfu(self) -> float | None:
        """
        Model flops utilization: time that products, convolutions and attention would take at the peak of their types, over the span. None: unknown, or known_share is below 0.5.
        """
    @property
    def pid(self) -> int | str | None:
        """
        The process that feeds it.
        """
    @property
    def span_ns(self) -> int:
        """
        Length of that time.
        """
    @property
    def span_us(self) -> float:
        """
        Length of that time.
        """
    @property
    def step(self) -> int | None:
        """
        N of the ProfilerStep#N; None: all of the analyzed time.
        """
    @property
    def tensor_core_share(self) -> float:
        """
        Share of the busy time in kernels on tensor (matrix) cores, by their names or as matrix work in half precision and less.
        """
    @property
    def tflop_s(self) -> float:
        """
        Flops over the span.
        """

class CollectiveRate:
    """
    Collectives of one name, type, size and group, against their link.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> CollectiveRate:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> CollectiveRate:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def best_gb_s(self) -> float:
        """
        The same of the shortest.
        """
    @property
    def bytes(self) -> int:
        """
        Of its larger side.
        """
    @property
    def count(self) -> int:
        """
        How many there are.
        """
    @property
    def data_type(self) -> str:
        """
        As torch.distributed names it: "BFloat16".
        """
    @property
    def device(self) -> int:
        """
        Where it ran.
        """
    @property
    def efficiency(self) -> float | None:
        """
        best_gb_s / link_gb_s.
        """
    @property
    def gb_s(self) -> float:
        """
        Bus bandwidth of the median one, as NCCL's tests count it: of all-reduce 2 (n-1)/n of the bytes, of others (n-1)/n, over its time.
        """
    @property
    def link_gb_s(self) -> float | None:
        """
        Peak of the link between the machine's devices; None: unknown, or the group spans several machines.
        """
    @property
    def min_ns(self) -> int:
        """
        Of the shortest: nearly the transfer alone.
        """
    @property
    def min_us(self) -> float:
        """
        Of the shortest: nearly the transfer alone.
        """
    @property
    def name(self) -> str:
        """
        Name of the collective.
        """
    @property
    def ranks(self) -> int:
        """
        Size of the group.
        """
    @property
    def reason(self) -> str:
        """
        "latency": less than 1 MiB; "set_up": 16 MiB and more, at a constant rate under 30 % of the link; "waiting": the usual one takes twice the time of the best; or "".
        """
    @property
    def total_ns(self) -> int:
        """
        Time of their kernels, waiting for others in it.
        """
    @property
    def total_us(self) -> float:
        """
        Time of their kernels, waiting for others in it.
        """

class RecordingCheck:
    """
    Something that a trace of a serving engine should have.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> RecordingCheck:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> RecordingCheck:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def detail(self) -> str:
        """
        What is missing, and how to record it; or "".
        """
    @property
    def name(self) -> str:
        """
        "steps", "decode_steps", "graphs", "graph_work", "in_time", "complete", "shapes" or "no_stacks".
        """
    @property
    def passed(self) -> bool:
        """
        Whether the trace has it.
        """

class EngineStep:
    """
    One forward pass of a serving engine.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> EngineStep:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> EngineStep:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def batch(self) -> int | None:
        """
        Requests; None: not in its name.
        """
    @property
    def begin_ns(self) -> int:
        """
        Begin of its annotation.
        """
    @property
    def begin_us(self) -> float:
        """
        Begin of its annotation.
        """
    @property
    def busy_ns(self) -> int:
        """
        In which any of it ran.
        """
    @property
    def busy_us(self) -> float:
        """
        In which any of it ran.
        """
    @property
    def context_tokens(self) -> int | None:
        """
        Keys that they attend to.
        """
    @property
    def device_ns(self) -> int:
        """
        From the begin of the pass on the device, behind the copies of its inputs, to the last end of its work, which is what its period launched.
        """
    @property
    def device_us(self) -> float:
        """
        From the begin of the pass on the device, behind the copies of its inputs, to the last end of its work, which is what its period launched.
        """
    @property
    def draft_ns(self) -> int | None:
        """
        Of it, work of the draft model, whose passes are part of the one that verifies; None: there are none.
        """
    @property
    def draft_us(self) -> float | None:
        """
        Of it, work of the draft model, whose passes are part of the one that verifies; None: there are none.
        """
    @property
    def engine(self) -> str:
        """
        "vLLM", "SGLang" or "ATOM".
        """
    @property
    def gap_ns(self) -> int | None:
        """
        Idle from its last device work to the forward pass of the next step, whose inputs may be copied meanwhile; 0 if they overlap; None: it is the last.
        """
    @property
    def gap_us(self) -> float | None:
        """
        Idle from its last device work to the forward pass of the next step, whose inputs may be copied meanwhile; 0 if they overlap; None: it is the last.
        """
    @property
    def graph_launches(self) -> int:
        """
        Those that launch graphs.
        """
    @property
    def host_ns(self) -> int:
        """
        Length of its annotation: the host's time.
        """
    @property
    def host_us(self) -> float:
        """
        Length of its annotation: the host's time.
        """
    @property
    def kind(self) -> str:
        """
        "extend" (prompts), "decode", "mixed" (both), "verify", "draft" or "other".
        """
    @property
    def launches(self) -> int:
        """
        Calls that launch kernels or graphs.
        """
    @property
    def name(self) -> str:
        """
        Of its annotation.
        """
    @property
    def padded_batch(self) -> int | None:
        """
        Those that were computed: by its name, or by the capture of its graph.
        """
    @property
    def period_ns(self) -> int | None:
        """
        To the begin of the next step; None: it is the last.
        """
    @property
    def period_us(self) -> float | None:
        """
        To the begin of the next step; None: it is the last.
        """
    @property
    def pid(self) -> int | str | None:
        """
        The process.
        """
    @property
    def tokens(self) -> int | None:
        """
        For all requests.
        """
    @property
    def work(self) -> int:
        """
        Kernels, copies and memsets, those of graphs included.
        """

class EngineKind:
    """
    Steps of one kind of a serving engine.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> EngineKind:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> EngineKind:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def batch(self) -> int | None:
        """
        Median of requests.
        """
    @property
    def busy_ns(self) -> int:
        """
        Median.
        """
    @property
    def busy_us(self) -> float:
        """
        Median.
        """
    @property
    def count(self) -> int:
        """
        Steps of the kind.
        """
    @property
    def device_ns(self) -> int:
        """
        Median.
        """
    @property
    def device_us(self) -> float:
        """
        Median.
        """
    @property
    def draft_ns(self) -> int | None:
        """
        Median.
        """
    @property
    def draft_us(self) -> float | None:
        """
        Median.
        """
    @property
    def engine(self) -> str:
        """
        As of EngineStep.
        """
    @property
    def exposed_ns(self) -> dict[str, int]:
        """
        The same in which nothing of another category ran: at most what is gained without it.
        """
    @property
    def exposed_us(self) -> dict[str, float]:
        """
        The same in which nothing of another category ran: at most what is gained without it.
        """
    @property
    def gap_ns(self) -> int | None:
        """
        Median.
        """
    @property
    def gap_parts_ns(self) -> dict[str, int]:
        """
        Mean gap a step, without pauses of the server, by what the thread of the next step did: "scheduling", "preparation", "sampling" (reading the tokens), "output" (detokenization), "waiting" (for another process of the engine), "launch" (the next pass's first), "other", "unrecorded"; by the names of frames and ranges.
        """
    @property
    def gap_parts_us(self) -> dict[str, float]:
        """
        Mean gap a step, without pauses of the server, by what the thread of the next step did: "scheduling", "preparation", "sampling" (reading the tokens), "output" (detokenization), "waiting" (for another process of the engine), "launch" (the next pass's first), "other", "unrecorded"; by the names of frames and ranges.
        """
    @property
    def gap_us(self) -> float | None:
        """
        Median.
        """
    @property
    def graph_launches(self) -> int:
        """
        Median.
        """
    @property
    def host_ns(self) -> int:
        """
        Median.
        """
    @property
    def host_us(self) -> float:
        """
        Median.
        """
    @property
    def kind(self) -> str:
        """
        As of EngineStep.
        """
    @property
    def launches(self) -> int:
        """
        Median.
        """
    @property
    def longest_prompt_wait_ns(self) -> int:
        """
        The longest of these.
        """
    @property
    def longest_prompt_wait_us(self) -> float:
        """
        The longest of these.
        """
    @property
    def padding(self) -> float | None:
        """
        Share of the computed requests that are padding, of all steps.
        """
    @property
    def period_ns(self) -> int | None:
        """
        Median.
        """
    @property
    def period_us(self) -> float | None:
        """
        Median.
        """
    @property
    def prompt_wait_ns(self) -> int:
        """
        By how much tokens were late then: sum.
        """
    @property
    def prompt_wait_us(self) -> float:
        """
        By how much tokens were late then: sum.
        """
    @property
    def prompt_waits(self) -> int:
        """
        Of steps that make tokens: how often the prompts of others came between two of them, or into one, for more than three periods.
        """
    @property
    def skipped(self) -> int:
        """
        Of them, not in the medians: the first two of five and more, which warm up.
        """
    @property
    def sum_ns(self) -> dict[str, int]:
        """
        Mean device time a step by category: "attention", "product", "experts", "collective", "norm_elementwise", "sampling", "copy", "other"; by kernels' names.
        """
    @property
    def sum_us(self) -> dict[str, float]:
        """
        Mean device time a step by category: "attention", "product", "experts", "collective", "norm_elementwise", "sampling", "copy", "other"; by kernels' names.
        """
    @property
    def tokens(self) -> int | None:
        """
        Median.
        """
    @property
    def work(self) -> int:
        """
        Median.
        """

class GraphPart:
    """
    The nodes of a graph with one annotation.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> GraphPart:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> GraphPart:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def name(self) -> str:
        """
        The annotation.
        """
    @property
    def nodes(self) -> int:
        """
        Nodes that have it.
        """
    @property
    def total_ns(self) -> int:
        """
        Sum of their work, of all replays.
        """
    @property
    def total_us(self) -> float:
        """
        Sum of their work, of all replays.
        """

class Graph:
    """
    All launches of one CUDA or HIP graph.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Graph:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Graph:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def annotation(self) -> str:
        """
        The range around that launch; or "".
        """
    @property
    def batch_size(self) -> int | None:
        """
        Of the capture, if recorded.
        """
    @property
    def capture(self) -> str:
        """
        File of the capture; "": none, or this trace.
        """
    @property
    def captured_share(self) -> float | None:
        """
        Share of the work whose operator the capture tells; None: without a capture.
        """
    @property
    def device(self) -> int:
        """
        Where it ran.
        """
    @property
    def id(self) -> int | None:
        """
        "graph id" of its kernels; None: not recorded, launches with the same work are one graph.
        """
    @property
    def joined_by(self) -> str:
        """
        How the capture was found: "sequence" of kernels, "count" of kernels, "alignment"; "": there is none.
        """
    @property
    def launches(self) -> int:
        """
        Launches with device work in the trace.
        """
    @property
    def location(self) -> Location | None:
        """
        The line of the program that launches it most; None: unknown.
        """
    @property
    def median_ns(self) -> int:
        """
        Of one launch: time in which any of it ran.
        """
    @property
    def median_us(self) -> float:
        """
        Of one launch: time in which any of it ran.
        """
    @property
    def mode(self) -> str:
        """
        Of vLLM's capture: "FULL", "PIECEWISE"; or "".
        """
    @property
    def nodes(self) -> int:
        """
        Kernels, copies and memsets of one launch.
        """
    @property
    def note(self) -> str:
        """
        Why no capture was found, or what is in doubt.
        """
    @property
    def number(self) -> int:
        """
        In order of the first launch, from 0.
        """
    @property
    def operator(self) -> str:
        """
        The operator around that launch; or "".
        """
    @property
    def parts(self) -> tuple[GraphPart, ...]:
        """
        By annotation of the nodes, most time first: of torch's annotations of graphs, else the ranges around the launches of the capture.
        """
    @property
    def sized(self) -> bool:
        """
        The capture's inputs are those of the launches.
        """
    @property
    def total_ns(self) -> int:
        """
        Sum of the work of all launches.
        """
    @property
    def total_us(self) -> float:
        """
        Sum of the work of all launches.
        """

class GraphNode:
    """
    A node of a graph, of all its launches.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> GraphNode:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> GraphNode:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def annotation(self) -> str:
        """
        As in Graph.parts; or "".
        """
    @property
    def count(self) -> int:
        """
        How often it ran.
        """
    @property
    def graph(self) -> int:
        """
        `number` of its graph.
        """
    @property
    def inputs(self) -> str:
        """
        Sizes of its tensors; "": unknown.
        """
    @property
    def kernel(self) -> str:
        """
        Name of its kernel, copy or memset.
        """
    @property
    def location(self) -> Location | None:
        """
        The line of the capture.
        """
    @property
    def node(self) -> int:
        """
        In order of time in the graph, from 0.
        """
    @property
    def operator(self) -> str:
        """
        Of the capture, the innermost; or "".
        """
    @property
    def total_ns(self) -> int:
        """
        Sum of its work.
        """
    @property
    def total_us(self) -> float:
        """
        Sum of its work.
        """

class Reason:
    """
    A difference that makes one side slower.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Reason:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Reason:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def kind(self) -> str:
        """
        "calls": more of them; "work": more flops or bytes a call; "precision": wider numbers; "fusion": more operators with kernels of their own; "kernels": more kernels a call; "efficiency": further from the roofline; "bandwidth", "peak": its device has less; "kernel": another one.
        """
    @property
    def text(self) -> str:
        """
        In words: the slower side against the faster one.
        """

class AlignedSide:
    """
    One side of an aligned row.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> AlignedSide:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> AlignedSide:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def calls(self) -> float:
        """
        Of it; of several operators, of what called them.
        """
    @property
    def data_type(self) -> str:
        """
        Of the same, as torch names it; or "".
        """
    @property
    def device_ns(self) -> int:
        """
        Its part of the busy time of the device: a moment of overlapping work is that of what started first.
        """
    @property
    def device_us(self) -> float:
        """
        Its part of the busy time of the device: a moment of overlapping work is that of what started first.
        """
    @property
    def efficiency(self) -> float | None:
        """
        Share of the roofline reached, by `RooflineRow` of the operators inside; None: as of `flops`.
        """
    @property
    def flops(self) -> float | None:
        """
        None: unknown of over a fifth of the time of its work.
        """
    @property
    def inputs(self) -> str:
        """
        Sizes of its costliest operator's; or "".
        """
    @property
    def kernel(self) -> str:
        """
        Its kernel, copy or memset with the most time.
        """
    @property
    def name(self) -> str:
        """
        The operator, or range; of several the first four, with how often each comes in a call: "aten::bmm ×2 + aten::_softmax". "": none.
        """
    @property
    def work(self) -> float:
        """
        Kernels, copies and memsets.
        """

class AlignedOperator:
    """
    Device time of the same part of a program in two traces.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> AlignedOperator:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> AlignedOperator:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def after(self) -> AlignedSide | None:
        """
        None: only before.
        """
    @property
    def because(self) -> tuple[Reason, ...]:
        """
        Why that side is slower, as far as known.
        """
    @property
    def before(self) -> AlignedSide | None:
        """
        None: only after.
        """
    @property
    def difference_ns(self) -> int:
        """
        Device time after less that before.
        """
    @property
    def difference_us(self) -> float:
        """
        Device time after less that before.
        """
    @property
    def path(self) -> tuple[str, ...]:
        """
        The ranges, modules and operators around it, outermost first; where their names differ, "before -> after".
        """
    @property
    def slower(self) -> str:
        """
        "before" or "after"; "": they differ by at most 5 %, or one is None.
        """

class Alignment:
    """
    The operators of two traces, aligned. Each moment in which a device was busy is in one row.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Alignment:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Alignment:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def after_ns(self) -> int:
        """
        The same after.
        """
    @property
    def after_us(self) -> float:
        """
        The same after.
        """
    @property
    def before_ns(self) -> int:
        """
        Busy time of the device before: the sum of all rows.
        """
    @property
    def before_us(self) -> float:
        """
        Busy time of the device before: the sum of all rows.
        """
    @property
    def kernels_differ(self) -> bool:
        """
        That share is under 80 %.
        """
    @property
    def per_step(self) -> bool:
        """
        Figures are of one step of the profiler, on average; else of all that was recorded. With several devices, of one of them, on average.
        """
    @property
    def rows(self) -> tuple[AlignedOperator, ...]:
        """
        Largest difference first.
        """
    @property
    def same_kernels(self) -> float | None:
        """
        Share of the time of both sides' kernels in those that both have, by name; None: there are none.
        """

class MemoryHolder:
    """
    Memory by what allocated it.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> MemoryHolder:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> MemoryHolder:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def bytes(self) -> int:
        """
        Of all its allocations.
        """
    @property
    def count(self) -> int:
        """
        Allocations; 0 of "earlier".
        """
    @property
    def kind(self) -> str:
        """
        "site": an operator at a line; "rest": all sites that are not listed; "earlier": allocated before the recording.
        """
    @property
    def location(self) -> Location | None:
        """
        None: no Python frames.
        """
    @property
    def operator(self) -> str:
        """
        The innermost one that does more than to allocate (aten::empty and the like); "" if none was running.
        """

class MemoryGrowth:
    """
    Memory that grows in each step: the level at its end, in at least four steps after the first, by 1 MiB and more in the median.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> MemoryGrowth:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> MemoryGrowth:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def bytes(self) -> int:
        """
        A step: the median.
        """
    @property
    def full_after(self) -> int | None:
        """
        Steps until the device is full, from the last one. None: its size, or what was allocated before the recording, is unknown.
        """
    @property
    def holders(self) -> tuple[MemoryHolder, ...]:
        """
        Sites that hold more after each of the steps, bytes and count a step, the largest first, at most five; empty where events have no addresses.
        """
    @property
    def message(self) -> str:
        """
        One sentence with figures; names are printable.
        """
    @property
    def steps(self) -> int:
        """
        In how many steps, each after the one before.
        """

class MemoryPoint:
    """
    A place on the line of a device's memory.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> MemoryPoint:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> MemoryPoint:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def allocated(self) -> int:
        """
        From then on, in bytes.
        """
    @property
    def at_ns(self) -> int:
        """
        On the trace's clock.
        """
    @property
    def at_us(self) -> float:
        """
        On the trace's clock.
        """
    @property
    def reserved(self) -> int | None:
        """
        The same; None: unknown.
        """

class Memory:
    """
    The memory of one device, or of the host, that one process allocated.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Memory:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Memory:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def alive(self) -> tuple[MemoryHolder, ...]:
        """
        Allocated at the peak: what is from before the recording, then 20 sites, the largest first, and the rest. Empty where events have no addresses.
        """
    @property
    def capacity_bytes(self) -> int | None:
        """
        The device's memory; None: unknown.
        """
    @property
    def device(self) -> int | None:
        """
        Its number; None: the host.
        """
    @property
    def driver_calls(self) -> int:
        """
        In steps after the first of its process, on all its devices: calls that took memory from the driver or gave it back.
        """
    @property
    def events(self) -> int:
        """
        [memory] events of it.
        """
    @property
    def first_step_bytes(self) -> int | None:
        """
        Allocated at the end of the first step of its process; None: no steps.
        """
    @property
    def growth(self) -> MemoryGrowth | None:
        """
        None: it does not grow in each.
        """
    @property
    def last_step_bytes(self) -> int | None:
        """
        Of the last step.
        """
    @property
    def line(self) -> tuple[MemoryPoint, ...]:
        """
        Over time, 500 points at most; of each 500th of the time the maximum.
        """
    @property
    def peak_at_ns(self) -> int:
        """
        When first, on the trace's clock.
        """
    @property
    def peak_at_us(self) -> float:
        """
        When first, on the trace's clock.
        """
    @property
    def peak_bytes(self) -> int:
        """
        Most allocated by tensors.
        """
    @property
    def peak_location(self) -> Location | None:
        """
        The line; None: unknown.
        """
    @property
    def peak_operator(self) -> str:
        """
        As of a holder: what allocated then.
        """
    @property
    def peak_step(self) -> int | None:
        """
        N of the ProfilerStep#N.
        """
    @property
    def pid(self) -> int | str | None:
        """
        The process that allocated.
        """
    @property
    def relative(self) -> bool:
        """
        True: the trace has no totals (before torch 1.10), so that amounts count from what was allocated when recording began.
        """
    @property
    def reserved_bytes(self) -> int | None:
        """
        Most that torch's allocator held; None: not recorded, as of the host.
        """
    @property
    def retries(self) -> int:
        """
        Likewise: allocations for which torch's allocator emptied its cache.
        """
    @property
    def step_growth_bytes(self) -> int | None:
        """
        By which the level at the end of a step differs from the one before: the median; None: fewer than two steps.
        """
    @property
    def unused_bytes(self) -> int | None:
        """
        Of that, not allocated: free in the cache, and fragments.
        """

class Counts:
    """
    Kernels in each of several parts of a trace.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Counts:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Counts:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def each(self) -> tuple[int, ...]:
        """
        In the report's order.
        """
    @property
    def max(self) -> int:
        """
        Largest.
        """
    @property
    def median(self) -> float:
        """
        Median.
        """
    @property
    def min(self) -> int:
        """
        Smallest.
        """

class KernelCounts:
    """
    Numbers of kernels, no copies.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> KernelCounts:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> KernelCounts:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def steps(self) -> Counts | None:
        """
        Launched in each of `Report.steps` by its process, wherever they ran; of kernels without a known launch, those that start in it. None: there are no steps or no device work.
        """
    @property
    def windows(self) -> Counts | None:
        """
        Started in each of `Report.windows`, on its device.
        """

class Overlap:
    """
    One device's time by kind of work, each a union over all streams: work of two kinds at once counts for both.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Overlap:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Overlap:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def communication_hidden_ns(self) -> int:
        """
        While a computing kernel ran.
        """
    @property
    def communication_hidden_us(self) -> float:
        """
        While a computing kernel ran.
        """
    @property
    def communication_ns(self) -> int:
        """
        Kernels of collectives.
        """
    @property
    def communication_us(self) -> float:
        """
        Kernels of collectives.
        """
    @property
    def compute_ns(self) -> int:
        """
        Kernels except those of communication.
        """
    @property
    def compute_us(self) -> float:
        """
        Kernels except those of communication.
        """
    @property
    def copy_hidden_ns(self) -> int:
        """
        While a computing kernel ran.
        """
    @property
    def copy_hidden_us(self) -> float:
        """
        While a computing kernel ran.
        """
    @property
    def copy_ns(self) -> int:
        """
        Copies, without memsets.
        """
    @property
    def copy_us(self) -> float:
        """
        Copies, without memsets.
        """
    @property
    def device(self) -> int:
        """
        Its number.
        """
    @property
    def pid(self) -> int | str | None:
        """
        The process that feeds it.
        """

class Thread:
    """
    One thread's time: busy, waiting, profiler and idle add up to the span. Each moment counts once, by the innermost event that has a meaning; inside a loader's mark, a compilation or a collective of the backend it counts as that, regardless of the events inside.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Thread:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Thread:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def busy_ns(self) -> int:
        """
        Sum of the next four.
        """
    @property
    def busy_share(self) -> float:
        """
        `busy_us` as a share of the span, 0 to 1.
        """
    @property
    def busy_us(self) -> float:
        """
        Sum of the next four.
        """
    @property
    def calls_ns(self) -> int:
        """
        Inside calls of CUDA, HIP and similar runtimes, outside of operators.
        """
    @property
    def calls_us(self) -> float:
        """
        Inside calls of CUDA, HIP and similar runtimes, outside of operators.
        """
    @property
    def compile_ns(self) -> int:
        """
        torch.compile or Triton compiling.
        """
    @property
    def compile_us(self) -> float:
        """
        torch.compile or Triton compiling.
        """
    @property
    def events(self) -> int:
        """
        Events on it.
        """
    @property
    def idle_ns(self) -> int:
        """
        Without any event except steps.
        """
    @property
    def idle_us(self) -> float:
        """
        Without any event except steps.
        """
    @property
    def name(self) -> str:
        """
        "" if the trace does not name it.
        """
    @property
    def operators_ns(self) -> int:
        """
        Inside operators, with everything they call except waits.
        """
    @property
    def operators_us(self) -> float:
        """
        Inside operators, with everything they call except waits.
        """
    @property
    def pid(self) -> int | str | None:
        """
        As in the file.
        """
    @property
    def profiler_ns(self) -> int:
        """
        Inside the profiler's own work.
        """
    @property
    def profiler_us(self) -> float:
        """
        Inside the profiler's own work.
        """
    @property
    def python_ns(self) -> int:
        """
        In Python frames or ranges of the program, in none of the above.
        """
    @property
    def python_us(self) -> float:
        """
        In Python frames or ranges of the program, in none of the above.
        """
    @property
    def tid(self) -> int | str | None:
        """
        As in the file.
        """
    @property
    def wait_comm_ns(self) -> int:
        """
        In collectives between CPU tensors: waiting for one, or running it.
        """
    @property
    def wait_comm_us(self) -> float:
        """
        In collectives between CPU tensors: waiting for one, or running it.
        """
    @property
    def wait_device_ns(self) -> int:
        """
        In calls that wait for a device.
        """
    @property
    def wait_device_us(self) -> float:
        """
        In calls that wait for a device.
        """
    @property
    def wait_loader_ns(self) -> int:
        """
        Inside the data loader's marks.
        """
    @property
    def wait_loader_us(self) -> float:
        """
        Inside the data loader's marks.
        """
    @property
    def wait_other_ns(self) -> int:
        """
        For locks, files, processes and autograd's threads, or asleep.
        """
    @property
    def wait_other_us(self) -> float:
        """
        For locks, files, processes and autograd's threads, or asleep.
        """
    @property
    def waiting_ns(self) -> int:
        """
        Sum of the next four.
        """
    @property
    def waiting_us(self) -> float:
        """
        Sum of the next four.
        """

class WorkTables:
    @property
    def copies(self) -> tuple[Copy, ...]: ...
    @property
    def kernels(self) -> tuple[Kernel, ...]: ...

class SortOfEvent:
    @property
    def kind(self) -> str: ...
    @property
    def letter(self) -> str: ...

class CallTree:
    """
    A trace reduced to its calls, with the device time of each.
    """

class DrawnLane:
    """
    See pipeline/drawing/lane_view.h; nanoseconds.
    """
    @property
    def busy_ns(self) -> int: ...
    @property
    def device(self) -> int: ...
    @property
    def events(self) -> int: ...
    @property
    def hidden(self) -> int: ...
    @property
    def is_stream(self) -> bool: ...
    @property
    def name(self) -> str: ...
    @property
    def pid(self) -> int: ...
    @property
    def slices(self) -> list[tuple[int, int, int | None, int, int, int, int]]:
        """
        Begin, end, row or None if several are merged, category, count of events, their busy time, depth.
        """
    @property
    def stream(self) -> int: ...
    @property
    def tid(self) -> int: ...

class DrawnLanes:
    @property
    def cell_ns(self) -> int: ...
    @property
    def lanes(self) -> list[DrawnLane]: ...
    @property
    def left_out(self) -> int: ...

class FeatureColumn:
    """
    See features/feature_table.h.
    """
    @property
    def doc(self) -> str:
        """
        Meaning.
        """
    @property
    def missing(self) -> str:
        """
        When a value is missing, NaN of a window and -1 of a token; "" if it never is.
        """
    @property
    def name(self) -> str:
        """
        Name of the column.
        """
    @property
    def normalization(self) -> str:
        """
        The divisor; "" if there is none.
        """
    @property
    def type(self) -> str:
        """
        NumPy's name of the type.
        """
    @property
    def unit(self) -> str:
        """
        Unit of its values.
        """

class Features:
    """
    Arrays that a model reads.
    """
    @property
    def row(self) -> numpy.ndarray: ...
    @property
    def token_begin(self) -> numpy.ndarray: ...
    @property
    def tokens(self) -> dict[str, numpy.ndarray]: ...
    @property
    def window_begin(self) -> numpy.ndarray: ...
    @property
    def windows(self) -> numpy.ndarray: ...

class Agreement:
    """
    In how many windows rules and model see a loss on a side, of those with a verdict of the model's own.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Agreement:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Agreement:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def both(self) -> int:
        """
        Rules and model.
        """
    @property
    def model(self) -> int:
        """
        The model alone.
        """
    @property
    def neither(self) -> int:
        """
        Neither.
        """
    @property
    def rules(self) -> int:
        """
        Rules alone.
        """

class VerdictCounts:
    """
    Windows by the verdict of a model.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> VerdictCounts:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> VerdictCounts:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def abstained(self) -> int:
        """
        Windows unlike those it learned from, where it follows the rules.
        """
    @property
    def cpu(self) -> Agreement:
        """
        Of the CPU side.
        """
    @property
    def flagged(self) -> int:
        """
        Windows with a flagged side.
        """
    @property
    def gpu(self) -> Agreement:
        """
        Of the GPU side.
        """
    @property
    def rules_alone(self) -> int:
        """
        Windows with a verdict where rules see a loss and the model flags no side.
        """
    @property
    def with_rules(self) -> int:
        """
        Those where rules see a loss on that side.
        """

class Verdicts:
    """
    See pipeline/verdicts/verdicts.h.
    """
    def __init__(self) -> None:
        """
        Without windows.
        """
    @property
    def abstained(self) -> numpy.ndarray: ...
    @property
    def by_rules(self) -> numpy.ndarray: ...
    @property
    def counts(self) -> VerdictCounts:
        """
        Windows by verdict.
        """
    @property
    def events(self) -> numpy.ndarray: ...
    @property
    def findings(self) -> tuple[Finding, ...]:
        """
        Of windows that no rule explains, by place.
        """
    @property
    def flagged(self) -> numpy.ndarray: ...
    @property
    def follows(self) -> numpy.ndarray: ...
    @property
    def guess(self) -> numpy.ndarray: ...
    @property
    def probability(self) -> numpy.ndarray: ...
    @property
    def strange(self) -> bool:
        """
        The trace as a whole is unlike the training traces.
        """
    @property
    def unexplained(self) -> numpy.ndarray: ...
    @property
    def windows(self) -> tuple[Window, ...]:
        """
        The report's, with probabilities and the model's labels.
        """

class Gain:
    """
    Time that a fix takes off the trace, and its evidence.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Gain:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Gain:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def high_ns(self) -> int:
        """
        A fix gains at most this.
        """
    @property
    def high_us(self) -> float:
        """
        A fix gains at most this.
        """
    @property
    def inferred_share(self) -> float | None:
        """
        Share of the critical path afterwards on inferred dependencies.
        """
    @property
    def low_ns(self) -> int:
        """
        A fix gains at least this, as far as measured pairs and the trace say: 0 if it may gain nothing.
        """
    @property
    def low_us(self) -> float:
        """
        A fix gains at least this, as far as measured pairs and the trace say: 0 if it may gain nothing.
        """
    @property
    def middle_ns(self) -> int:
        """
        The figure to expect.
        """
    @property
    def middle_us(self) -> float:
        """
        The figure to expect.
        """
    @property
    def recomputed_share(self) -> float | None:
        """
        Share of the gain that comes from shorter waits, not from removed work: it depends on the rules of the replay. None: scheduled by events.
        """
    @property
    def replayed_ns(self) -> int:
        """
        What the replay itself saves, from which the range is made.
        """
    @property
    def replayed_us(self) -> float:
        """
        What the replay itself saves, from which the range is made.
        """

class Recomputed:
    """
    Waits that the replay computes instead of copying them.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Recomputed:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Recomputed:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def count(self) -> int:
        """
        How many.
        """
    @property
    def error_ns(self) -> int:
        """
        Sum of the differences, call by call.
        """
    @property
    def error_us(self) -> float:
        """
        Sum of the differences, call by call.
        """
    @property
    def recorded_ns(self) -> int:
        """
        Their recorded time.
        """
    @property
    def recorded_us(self) -> float:
        """
        Their recorded time.
        """

class Fidelity:
    """
    How close the unchanged replay is to the recording.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Fidelity:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Fidelity:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def anchored_ns(self) -> int:
        """
        Part of the critical path before work from before the trace had begun.
        """
    @property
    def anchored_us(self) -> float:
        """
        Part of the critical path before work from before the trace had begun.
        """
    @property
    def caveat(self) -> str:
        """
        A sentence for users if a correct span is no evidence, or gains are too low.
        """
    @property
    def copied_waits_ns(self) -> int:
        """
        Long calls without known work to wait for.
        """
    @property
    def copied_waits_us(self) -> float:
        """
        Long calls without known work to wait for.
        """
    @property
    def delayed_ns(self) -> int:
        """
        Part of the critical path in delays that no rule explains.
        """
    @property
    def delayed_us(self) -> float:
        """
        Part of the critical path in delays that no rule explains.
        """
    @property
    def explained_share(self) -> float:
        """
        Share of launched device work that starts when its predecessors allow.
        """
    @property
    def hand_overs(self) -> Recomputed:
        """
        Gaps of threads that waited for another one.
        """
    @property
    def informative(self) -> bool:
        """
        They are over 2 % of `span_us` apart.
        """
    @property
    def long_waits(self) -> Recomputed:
        """
        Synchronizations and blocking copies over 100 us.
        """
    @property
    def null_span_ns(self) -> int:
        """
        Replayed without any wait: if it is near `span_us`, a correct span is little evidence.
        """
    @property
    def null_span_us(self) -> float:
        """
        Replayed without any wait: if it is near `span_us`, a correct span is little evidence.
        """
    @property
    def queue_waits(self) -> Recomputed:
        """
        Launches that found the queue full.
        """
    @property
    def refusals(self) -> tuple[str, ...]:
        """
        The reasons against it, in sentences.
        """
    @property
    def replayable(self) -> bool:
        """
        Whether gains are given.
        """
    @property
    def replayed_span_ns(self) -> int:
        """
        Replayed unchanged.
        """
    @property
    def replayed_span_us(self) -> float:
        """
        Replayed unchanged.
        """
    @property
    def shares(self) -> dict[str, float]:
        """
        The critical path by source, 0 to 1: copied, recomputed, anchored.
        """
    @property
    def span_by_rules_ns(self) -> int:
        """
        Replayed without the delays that no rule explains: what the rules alone make of the trace.
        """
    @property
    def span_by_rules_us(self) -> float:
        """
        Replayed without the delays that no rule explains: what the rules alone make of the trace.
        """
    @property
    def span_ns(self) -> int:
        """
        As recorded.
        """
    @property
    def span_us(self) -> float:
        """
        As recorded.
        """
    @property
    def unexplained_ns(self) -> int:
        """
        Sum of the delays of the rest.
        """
    @property
    def unexplained_us(self) -> float:
        """
        Sum of the delays of the rest.
        """

class PathPlace:
    """
    A line's part of a critical path. No event counts with more than its length: time between events, or in a queue, belongs to no place.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> PathPlace:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> PathPlace:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def location(self) -> Location | None:
        """
        None: no frame is known.
        """
    @property
    def name(self) -> str:
        """
        The operator or event where there is no frame.
        """
    @property
    def us(self) -> float:
        """
        Its part, in microseconds.
        """

class CriticalPath:
    """
    The critical path of a step, or of the whole trace: chained work that sets its length.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> CriticalPath:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> CriticalPath:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def by_category(self) -> dict[str, float]:
        """
        Microseconds by category, see docs/replay.md.
        """
    @property
    def places(self) -> tuple[PathPlace, ...]:
        """
        Ten at most, the longest first.
        """
    @property
    def span_ns(self) -> int:
        """
        Length; the categories add up to it.
        """
    @property
    def span_us(self) -> float:
        """
        Length; the categories add up to it.
        """
    @property
    def step(self) -> int | None:
        """
        None: the whole trace.
        """

class Recovery:
    """
    The replay of a report's trace.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> Recovery:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> Recovery:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def doubts(self) -> tuple[str, ...]:
        """
        For each finding why it has no gain in a replayable trace; or "".
        """
    @property
    def fidelity(self) -> Fidelity | None:
        """
        None: there is no schedule; `refusal` gives the reason.
        """
    @property
    def gains(self) -> tuple[Gain | None, ...]:
        """
        Of each finding, in their order.
        """
    @property
    def refusal(self) -> str:
        """
        "" if the trace is replayable.
        """
    @property
    def together(self) -> Gain | None:
        """
        All findings fixed at once. Not their sum: one may hide another.
        """
    @property
    def together_doubt(self) -> str:
        """
        Why that is missing although findings have gains; or "".
        """
    @property
    def windows(self) -> tuple[float, ...]:
        """
        Share of each window that fixing all of them saves; or empty.
        """

class StepTimes:
    """
    Length of one step, replayed with edits.
    """
    @staticmethod
    def from_dict(form: typing.Any, where: str = "") -> StepTimes:
        """
        Read its JSON form, see `fields`. ValueError names the member below `where`.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None: ...
    def __reduce__(self) -> tuple[typing.Any, ...]: ...
    def __repr__(self) -> str: ...
    def replace(self, **kwargs: typing.Any) -> StepTimes:
        """
        Return a copy in which some fields have other values.
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        Return its JSON form.
        """
    @property
    def changed_span_ns(self) -> int | None:
        """
        With the edits; None if the replay is unreliable.
        """
    @property
    def changed_span_us(self) -> float | None:
        """
        With the edits; None if the replay is unreliable.
        """
    @property
    def number(self) -> int:
        """
        N of ProfilerStep#N.
        """
    @property
    def replayed_span_ns(self) -> int:
        """
        Replayed without a change.
        """
    @property
    def replayed_span_us(self) -> float:
        """
        Replayed without a change.
        """
    @property
    def span_ns(self) -> int:
        """
        As recorded.
        """
    @property
    def span_us(self) -> float:
        """
        As recorded.
        """

class Outcome:
    """
    A replay with edits made.
    """
    @property
    def by_events(self) -> bool: ...
    @property
    def changed_span_ns(self) -> int: ...
    @property
    def doubt(self) -> str: ...
    @property
    def gain(self) -> Gain: ...
    @property
    def path_us(self) -> dict[str, float]: ...
    @property
    def replayed_span_ns(self) -> int: ...
    @property
    def span_ns(self) -> int: ...
    @property
    def steps(self) -> list[StepTimes]: ...

class Edit:
    """
    A requested change, see pipeline/pricing/what_if.h.
    """
    def __init__(
        self,
        kind: str,
        of: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
        factor: typing.SupportsFloat | typing.SupportsIndex = 1.0,
    ) -> None: ...

class Replay:
    """
    A report's trace as a schedule.
    """
    def critical_paths(
        self, steps: typing.SupportsInt | typing.SupportsIndex | None = None
    ) -> tuple[CriticalPath, ...]: ...
    def what_if(
        self, report: Report, edits: collections.abc.Sequence[Edit]
    ) -> Outcome: ...
    def write(self, outcome: Outcome, note: str, path: str) -> None: ...
    @property
    def fidelity(self) -> Fidelity | None: ...
    @property
    def refusal(self) -> str: ...

class Capture:
    """
    What was launched while graphs were captured.
    """
    def __len__(self) -> int: ...

class Program:
    """
    Threads, streams and their operations, see replay/program.h. Each add_... returns the index by which the others refer to it. Lengths in nanoseconds; `args` are more members for a row, as JSON text: `"key": value, ...`.
    """
    def __init__(self) -> None: ...
    def add_device(
        self,
        id: typing.SupportsInt | typing.SupportsIndex,
        name: str,
        memory: typing.SupportsInt | typing.SupportsIndex = 0,
        multiprocessors: typing.SupportsInt | typing.SupportsIndex = 0,
        compute_major: typing.SupportsInt | typing.SupportsIndex = 0,
        compute_minor: typing.SupportsInt | typing.SupportsIndex = 0,
        args: str = "",
    ) -> None: ...
    def add_event(self) -> int: ...
    def add_signal(self) -> int: ...
    def add_stream(
        self,
        number: typing.SupportsInt | typing.SupportsIndex,
        device: typing.SupportsInt | typing.SupportsIndex = 0,
        rank: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> int: ...
    def add_thread(
        self,
        tid: typing.SupportsInt | typing.SupportsIndex,
        name: str,
        rank: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> int: ...
    def call(
        self,
        thread: typing.SupportsInt | typing.SupportsIndex,
        name: str,
        ns: typing.SupportsInt | typing.SupportsIndex,
        args: str = "",
    ) -> None:
        """
        A call that launches nothing and waits for nothing.
        """
    def close(self, thread: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    def copy(
        self,
        thread: typing.SupportsInt | typing.SupportsIndex,
        stream: typing.SupportsInt | typing.SupportsIndex,
        name: str,
        ns: typing.SupportsInt | typing.SupportsIndex,
        call_ns: typing.SupportsInt | typing.SupportsIndex,
        bytes: typing.SupportsInt | typing.SupportsIndex,
        *,
        args: str = "",
        blocking: bool = False,
        latency: typing.SupportsInt | typing.SupportsIndex | None = None,
        gap: typing.SupportsInt | typing.SupportsIndex | None = None,
        call: str = "",
    ) -> int:
        """
        The name gives direction and memory, as in Kineto: Memcpy HtoD (Pageable -> Device).
        """
    def device_sync(
        self,
        thread: typing.SupportsInt | typing.SupportsIndex,
        stream: typing.SupportsInt | typing.SupportsIndex,
        *,
        name: str = "",
        ns: typing.SupportsInt | typing.SupportsIndex | None = None,
        back: typing.SupportsInt | typing.SupportsIndex | None = None,
    ) -> None:
        """
        `name`: another call that waits for the device, such as cudaFree; `ns`: its length if it does not have to wait; `back`: from the end of the awaited work to its return.
        """
    def event_sync(
        self,
        thread: typing.SupportsInt | typing.SupportsIndex,
        event: typing.SupportsInt | typing.SupportsIndex,
        *,
        name: str = "",
        ns: typing.SupportsInt | typing.SupportsIndex | None = None,
        back: typing.SupportsInt | typing.SupportsIndex | None = None,
    ) -> None: ...
    def host(
        self,
        thread: typing.SupportsInt | typing.SupportsIndex,
        ns: typing.SupportsInt | typing.SupportsIndex,
        name: str = "",
        args: str = "",
    ) -> None: ...
    def kernel(
        self,
        thread: typing.SupportsInt | typing.SupportsIndex,
        stream: typing.SupportsInt | typing.SupportsIndex,
        name: str,
        ns: typing.SupportsInt | typing.SupportsIndex,
        call_ns: typing.SupportsInt | typing.SupportsIndex,
        *,
        blocks_per_sm: typing.SupportsFloat | typing.SupportsIndex = -1.0,
        collective: typing.SupportsInt | typing.SupportsIndex | None = None,
        args: str = "",
        blocking: bool = False,
        latency: typing.SupportsInt | typing.SupportsIndex | None = None,
        gap: typing.SupportsInt | typing.SupportsIndex | None = None,
        call: str = "",
    ) -> int:
        """
        `latency`: launch to start on an idle stream; `gap`: end of the work before to start; `call`: the name of the launch.
        """
    def memset(
        self,
        thread: typing.SupportsInt | typing.SupportsIndex,
        stream: typing.SupportsInt | typing.SupportsIndex,
        name: str,
        ns: typing.SupportsInt | typing.SupportsIndex,
        call_ns: typing.SupportsInt | typing.SupportsIndex,
        bytes: typing.SupportsInt | typing.SupportsIndex,
        *,
        args: str = "",
        latency: typing.SupportsInt | typing.SupportsIndex | None = None,
        gap: typing.SupportsInt | typing.SupportsIndex | None = None,
    ) -> int: ...
    def open(
        self,
        thread: typing.SupportsInt | typing.SupportsIndex,
        name: str,
        args: str = "",
    ) -> None:
        """
        Begins an operator, until close().
        """
    def open_span(
        self,
        thread: typing.SupportsInt | typing.SupportsIndex,
        name: str,
        args: str = "",
    ) -> None:
        """
        Begins an annotation, until close().
        """
    def record_event(
        self,
        thread: typing.SupportsInt | typing.SupportsIndex,
        stream: typing.SupportsInt | typing.SupportsIndex,
        event: typing.SupportsInt | typing.SupportsIndex,
        call_ns: typing.SupportsInt | typing.SupportsIndex,
    ) -> None: ...
    def signal(
        self,
        thread: typing.SupportsInt | typing.SupportsIndex,
        signal: typing.SupportsInt | typing.SupportsIndex,
    ) -> None: ...
    def stream_sync(
        self,
        thread: typing.SupportsInt | typing.SupportsIndex,
        stream: typing.SupportsInt | typing.SupportsIndex,
        *,
        name: str = "",
        ns: typing.SupportsInt | typing.SupportsIndex | None = None,
        back: typing.SupportsInt | typing.SupportsIndex | None = None,
    ) -> None: ...
    def stream_wait(
        self,
        thread: typing.SupportsInt | typing.SupportsIndex,
        stream: typing.SupportsInt | typing.SupportsIndex,
        event: typing.SupportsInt | typing.SupportsIndex,
        call_ns: typing.SupportsInt | typing.SupportsIndex,
    ) -> None: ...
    def times(self) -> tuple[numpy.typing.NDArray[numpy.int64], int]:
        """
        Schedules the program and returns int64 [work, 2], begin and end of each piece of work in the order of its launches' return values, and the end of the last one. Raises as trace_text does.
        """
    def trace_text(
        self,
        note: dict[str, typing.Any] = {},
        rank: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> bytes:
        """
        Schedules the program and returns one rank's trace as JSON. `note` is written next to the mark of a simulated trace. Raises ValueError if the program is invalid or never ends.
        """
    def wait(
        self,
        thread: typing.SupportsInt | typing.SupportsIndex,
        signal: typing.SupportsInt | typing.SupportsIndex,
        ns: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> None: ...
    @property
    def resolution_ns(self) -> int:
        """
        Times are written as multiples of it, rounded down.
        """
    @resolution_ns.setter
    def resolution_ns(
        self, arg0: typing.SupportsInt | typing.SupportsIndex
    ) -> None: ...

def align(before: CallTree, after: CallTree) -> Alignment:
    """
    Align the operators of two traces.
    """

def analyze(
    trace: Trace,
    *,
    max_events: typing.SupportsInt | typing.SupportsIndex | None = None,
    settings: Settings = ...,
    rules: collections.abc.Sequence[OwnRule] = [],
    steps: tuple[
        typing.SupportsInt | typing.SupportsIndex,
        typing.SupportsInt | typing.SupportsIndex,
    ]
    | None = None,
    captures: collections.abc.Sequence[Capture] = [],
    notes: collections.abc.Sequence[Note] = [],
) -> Report:
    """
    `steps`: the first and last of those that the trace was loaded for; `notes`: on the captures, for the quality's warnings.
    """

def built_for_torch() -> str:
    """
    The version of torch, major and minor, that _torch was built for; empty: there is no _torch.
    """

def category_names() -> list[str]:
    """
    Names by the category column.
    """

def category_number(name: str) -> int | None:
    """
    A category by any of its names; None if there is none of this name.
    """

def duration_text(us: typing.SupportsFloat | typing.SupportsIndex) -> str:
    """
    Microseconds as text, with three digits: 412 µs, 12.4 ms.
    """

def event_kinds() -> list[tuple[str, str]]:
    """
    Name and meaning of each number of the token column `kind`.
    """

def feature_columns() -> list[FeatureColumn]: ...
def feature_fingerprint() -> str: ...
def fields(record: type) -> list[tuple[str, str, str]]:
    """
    Name, kind and meaning of each member of a record. Kinds: text, int, count (0 or more), float, bool, identity (a pid or tid: a number or text), words joined by |, or a record; with ? if it may be None, * if it is a list, {} if it is a dict.
    """

def gpus() -> list[Gpu]:
    """
    All of them; those without a name have only a bandwidth.
    """

def judge(trace: Trace) -> Quality:
    """
    How far a trace can be trusted, without an analysis.
    """

def load_bytes(data: bytes, options: LoadOptions = ...) -> Trace: ...
def load_file(path: str, options: LoadOptions = ...) -> Trace: ...
def pattern_edits() -> list[tuple[str, str]]:
    """
    Name of each edit that models a fix, and what it removes.
    """

def patterns() -> list[PatternInfo]: ...
def rank_processes(trace: Trace) -> list[tuple[str, list[int]]]:
    """
    Of a file merged from several ranks, the name of each ('' if it has none) and the pids of its processes and devices; empty for any other file.
    """

def read_capture(
    trace: Trace,
    file: str,
    batch_size: typing.SupportsInt | typing.SupportsIndex | None,
    mode: str,
) -> Capture:
    """
    The launches of a trace as a capture of graphs, without the trace.
    """

def restore_record(record: str, values: tuple[typing.Any, ...]) -> typing.Any:
    """
    Make a record of a pickle's values.
    """

def step_categories() -> int:
    """
    The mask of the categories that step_range needs.
    """

def step_range(
    trace: Trace,
    first: typing.SupportsInt | typing.SupportsIndex,
    last: typing.SupportsInt | typing.SupportsIndex,
) -> tuple[int, int]:
    """
    When ProfilerStep#first to #last ran: (begin_ns, end_ns).
    """

def thresholds() -> list[Threshold]:
    """
    Of all patterns, in the order of their table.
    """

def token_columns() -> list[FeatureColumn]: ...
def write_pftrace(source: bytes | str, path: str) -> None:
    """
    Writes a trace, given as a path or bytes, as Perfetto's packets.
    """

LOSS: float = 0.05
NO_ID: int = -1
NO_TIME: int = -9223372036854775808
__version__: str = "0.1.0"
