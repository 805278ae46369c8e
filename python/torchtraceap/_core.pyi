"""
The C++ core of torchtraceap. Import torchtraceap instead.
"""

from __future__ import annotations

import collections.abc
import typing

import numpy
import numpy.typing

__all__: list[str] = [
    "BalanceRow",
    "BlockingCall",
    "ChangedStep",
    "Claim",
    "Clock",
    "CopyRow",
    "Counts",
    "Device",
    "DrawnLane",
    "DrawnLanes",
    "Edit",
    "FeatureColumn",
    "Features",
    "Fidelity",
    "Figure",
    "Finding",
    "Frame",
    "Gain",
    "Gpu",
    "Job",
    "JoinedMeeting",
    "JoinedMember",
    "KernelCounts",
    "KernelRow",
    "Label",
    "Lateness",
    "LoadOptions",
    "NO_ID",
    "NO_TIME",
    "OperatorRow",
    "Outcome",
    "OverlapFacts",
    "OwnOutcome",
    "OwnRule",
    "PathPlace",
    "PathRow",
    "PatternInfo",
    "Program",
    "Quality",
    "QualityNote",
    "RankMeeting",
    "RankStep",
    "RankWork",
    "Recomputed",
    "Refusal",
    "Replay",
    "ReplayTimes",
    "Report",
    "RuleContext",
    "Settings",
    "Simulated",
    "SortOfEvent",
    "Stage",
    "StepBalance",
    "StepRow",
    "StepTimes",
    "ThreadRow",
    "Threshold",
    "Trace",
    "TraceFacts",
    "Unexplained",
    "Warning",
    "WindowRow",
    "WorkPlace",
    "WorkTables",
    "analyze",
    "built_for_torch",
    "category_names",
    "category_number",
    "duration_text",
    "event_kinds",
    "feature_columns",
    "feature_fingerprint",
    "gpus",
    "judge",
    "load_bytes",
    "load_file",
    "pattern_edits",
    "patterns",
    "rank_processes",
    "step_categories",
    "step_range",
    "thresholds",
    "token_columns",
]

class Warning:
    """
    Something odd, counted by kind.
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
    def identity(self, pid_or_tid: typing.SupportsInt | typing.SupportsIndex) -> str:
        """
        A pid or tid as the file had it.
        """
    def name(self, row: typing.SupportsInt | typing.SupportsIndex) -> str: ...
    def of_processes(
        self,
        pids: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
        rank: typing.SupportsInt | typing.SupportsIndex | None = None,
    ) -> Trace:
        """
        The trace of these processes alone, as columns['pid'] has them: rows are counted anew, and its rank is `rank`, or not told.
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
        Sound events that the options of loading left out; no rows.
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
        What the time is lost to: patterns of one family have one color.
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

class Frame:
    """
    A place in Python code: see timeline/frames.h for which line.
    """
    @property
    def file(self) -> str: ...
    @property
    def function(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def line_of(self) -> str:
        """
        Whose line it is: of the function's begin, of where the function was when recording began, or of the call.
        """
    @property
    def user(self) -> bool: ...

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
    def location(self) -> Frame | None: ...
    @property
    def operator_name(self) -> str: ...
    @property
    def row(self) -> int: ...
    @property
    def subtype(self) -> str: ...

class Gain:
    """
    What a change takes off the span, in nanoseconds.
    """
    @property
    def high_ns(self) -> int: ...
    @property
    def inferred_share(self) -> float | None: ...
    @property
    def low_ns(self) -> int: ...
    @property
    def recomputed_share(self) -> float | None: ...

class Finding:
    """
    One anti-pattern at one place.
    """
    @property
    def advice(self) -> str: ...
    @property
    def calls(self) -> list[tuple[list[str], int]]:
        """
        What the location was calling, and nanoseconds of each.
        """
    @property
    def claims(self) -> list[Claim]: ...
    @property
    def count(self) -> int: ...
    @property
    def deepest(self) -> Frame | None: ...
    @property
    def doubt(self) -> str: ...
    @property
    def edit(self) -> str: ...
    @property
    def estimate(self) -> bool: ...
    @property
    def events(self) -> list[int]: ...
    @property
    def gain(self) -> Gain | None: ...
    @property
    def id(self) -> str: ...
    @property
    def idle_ns(self) -> int: ...
    @property
    def location(self) -> Frame | None: ...
    @property
    def message(self) -> str: ...
    @property
    def operator(self) -> str: ...
    @property
    def pattern(self) -> str: ...
    @property
    def pids(self) -> list[int]: ...
    @property
    def severity(self) -> str: ...
    @property
    def shares_gain_with(self) -> list[str]: ...
    @property
    def side(self) -> str: ...
    @property
    def subtype(self) -> str: ...
    @property
    def waits(self) -> int | None: ...
    @property
    def wasted_ns(self) -> int: ...
    @property
    def windows(self) -> list[int]: ...

class RuleContext:
    """
    What a rule sees; torchtraceap.RuleView wraps it.
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
    ) -> list[Frame | None]: ...
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
    A number that a rule decides by.
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

class RankMeeting:
    """
    A collective as one rank recorded it.
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
        `key`: the same of all members; begin and end: stops.
        """
    @property
    def begin(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def exposed_ns(self) -> int: ...
    @property
    def group(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def sequence(self) -> int: ...
    @property
    def step(self) -> int: ...

class RankStep:
    @property
    def begin(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def number(self) -> int: ...

class WorkPlace:
    """
    Where time goes, on each rank the same.
    """
    @property
    def frame(self) -> Frame | None: ...
    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...

class RankWork:
    """
    A rank reduced to where it met others and what it did between.
    """
    @staticmethod
    def from_bytes(data: bytes) -> RankWork: ...
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
        meetings: collections.abc.Sequence[RankMeeting],
        steps: collections.abc.Sequence[
            tuple[
                typing.SupportsInt | typing.SupportsIndex,
                typing.SupportsInt | typing.SupportsIndex,
                typing.SupportsInt | typing.SupportsIndex,
            ]
        ],
    ) -> None:
        """
        Of operations that no trace holds: `recorded` are nanoseconds of stops, the first the begin of the recording; passages (from, to, ns, parts), parts (place in `kinds`, ns); steps (number, begin, end).
        """
    def to_bytes(self) -> bytes: ...
    @property
    def meetings(self) -> list[RankMeeting]: ...
    @property
    def rank(self) -> int: ...
    @rank.setter
    def rank(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    @property
    def recorded_ns(self) -> list[int]: ...
    @property
    def stage(self) -> int: ...
    @property
    def steps(self) -> list[RankStep]: ...

class JoinedMember:
    @property
    def begin_ns(self) -> int: ...
    @property
    def end_ns(self) -> int: ...
    @property
    def meeting(self) -> int: ...
    @property
    def rank(self) -> int: ...
    @property
    def transfer_ns(self) -> int: ...
    @property
    def wait_ns(self) -> int: ...
    @property
    def waited(self) -> bool: ...

class JoinedMeeting:
    """
    A collective of which two ranks know.
    """
    @property
    def bytes(self) -> int: ...
    @property
    def group(self) -> str: ...
    @property
    def last(self) -> int: ...
    @property
    def members(self) -> list[JoinedMember]: ...
    @property
    def name(self) -> str: ...
    @property
    def sequence(self) -> int: ...
    @property
    def step(self) -> int: ...
    @property
    def transfer_ns(self) -> int: ...
    @property
    def wait_ns(self) -> int: ...

class Clock:
    """
    How a rank's clock stands to the others'.
    """
    @property
    def residual_ns(self) -> int: ...
    @property
    def shared(self) -> int: ...
    @property
    def shift_ns(self) -> int: ...

class Lateness:
    """
    Waiting, and what kept whom.
    """
    @property
    def late_ns(self) -> int: ...
    @property
    def meeting(self) -> int: ...
    @property
    def place(self) -> int | None: ...
    @property
    def rank(self) -> int: ...
    @property
    def waited_ns(self) -> int: ...

class Job:
    """
    The ranks of a job as one schedule. Times in nanoseconds.
    """
    def __init__(
        self, ranks: collections.abc.Sequence[RankWork], *, by_kind: bool = False
    ) -> None: ...
    def finding_of(
        self,
        rank: typing.SupportsInt | typing.SupportsIndex,
        place: typing.SupportsInt | typing.SupportsIndex,
    ) -> int:
        """
        Place among the findings of the rank's report; -1: none.
        """
    def lateness(self) -> list[Lateness]:
        """
        Waiting, given to what made others late, each nanosecond once.
        """
    def recorded_step_ns(self) -> float: ...
    def replayed_step_ns(
        self,
        *,
        usual: bool = False,
        rank: typing.SupportsInt | typing.SupportsIndex | None = None,
        stage: typing.SupportsInt | typing.SupportsIndex | None = None,
        kind: str | None = None,
        place: typing.SupportsInt | typing.SupportsIndex | None = None,
    ) -> float:
        """
        The mean step: as it was or, with `usual`, with what is selected as others have it, everything if nothing is selected.
        """
    @property
    def clocks(self) -> list[Clock]: ...
    @property
    def contradicted(self) -> int: ...
    @property
    def meetings(self) -> list[JoinedMeeting]: ...
    @property
    def places(self) -> list[WorkPlace]: ...
    @property
    def ranks(self) -> list[RankWork]: ...
    @property
    def steps(self) -> dict[int, tuple[int, int]]:
        """
        By number: length recorded, length replayed as it was.
        """
    @property
    def unmatched(self) -> int: ...

class QualityNote:
    @property
    def count(self) -> int: ...
    @property
    def detail(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def verdict(self) -> str: ...

class Quality:
    @property
    def incomplete(self) -> bool: ...
    @property
    def linking_rate(self) -> float | None: ...
    @property
    def verdict(self) -> str: ...
    @property
    def warnings(self) -> list[QualityNote]: ...

class Device:
    @property
    def events(self) -> int: ...
    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str: ...

class Simulated:
    """
    What a simulated trace assumes.
    """
    @property
    def gpu(self) -> str: ...
    @property
    def host_us_per_op(self) -> float | None: ...

class TraceFacts:
    @property
    def begin_ns(self) -> int: ...
    @property
    def devices(self) -> list[Device]: ...
    @property
    def end_ns(self) -> int: ...
    @property
    def events(self) -> int: ...
    @property
    def path(self) -> str: ...
    @property
    def processes(self) -> int: ...
    @property
    def rank(self) -> int | None: ...
    @property
    def simulated(self) -> Simulated | None: ...
    @property
    def world_size(self) -> int | None: ...

class BalanceRow:
    @property
    def busy_ns(self) -> int: ...
    @property
    def delay_ns(self) -> int: ...
    @property
    def device(self) -> int | None: ...
    @property
    def devices(self) -> int: ...
    @property
    def excess_ns(self) -> dict[str, int]: ...
    @property
    def idle_ns(self) -> dict[str, int]: ...
    @property
    def key(self) -> int: ...
    @property
    def pid(self) -> int: ...
    @property
    def span_ns(self) -> int: ...
    @property
    def unattributed_ns(self) -> int: ...

class Unexplained:
    @property
    def begin_ns(self) -> int: ...
    @property
    def device(self) -> int | None: ...
    @property
    def during(self) -> int | None: ...
    @property
    def end_ns(self) -> int: ...
    @property
    def pid(self) -> int: ...

class StepBalance:
    @property
    def busy_ns(self) -> int: ...
    @property
    def device(self) -> int | None: ...
    @property
    def devices(self) -> int: ...
    @property
    def excess_ns(self) -> dict[str, int]: ...
    @property
    def idle_ns(self) -> dict[str, int]: ...
    @property
    def span_ns(self) -> int: ...
    @property
    def unattributed_ns(self) -> int: ...

class StepRow:
    @property
    def balance(self) -> StepBalance | None: ...
    @property
    def begin_ns(self) -> int: ...
    @property
    def busy_ns(self) -> int: ...
    @property
    def end_ns(self) -> int: ...
    @property
    def number(self) -> int: ...
    @property
    def pid(self) -> int: ...

class Label:
    @property
    def origin(self) -> str: ...
    @property
    def pattern(self) -> str: ...
    @property
    def saved_fraction(self) -> float: ...
    @property
    def side(self) -> str: ...
    @property
    def wasted_fraction(self) -> float: ...
    @property
    def wasted_ns(self) -> int: ...

class OwnOutcome:
    """
    What became of an own rule's requests.
    """
    @property
    def asked_ns(self) -> int: ...
    @property
    def claimed_ns(self) -> int: ...
    @property
    def claims(self) -> int: ...
    @property
    def counted(self) -> bool: ...
    @property
    def rule(self) -> str: ...
    @property
    def taken_ns(self) -> int: ...

class WindowRow:
    @property
    def begin_ns(self) -> int: ...
    @property
    def busy_ns(self) -> int: ...
    @property
    def cpu_wasted_fraction(self) -> float: ...
    @property
    def device(self) -> int | None: ...
    @property
    def end_ns(self) -> int: ...
    @property
    def events(self) -> int: ...
    @property
    def gpu_wasted_fraction(self) -> float: ...
    @property
    def index(self) -> int: ...
    @property
    def labels(self) -> list[Label]: ...
    @property
    def pid(self) -> int: ...
    @property
    def step(self) -> int | None: ...
    @property
    def work(self) -> int: ...

class Report:
    """
    What an analysis says. Times in nanoseconds.
    """
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
    def features(
        self, merge: typing.SupportsInt | typing.SupportsIndex = 1
    ) -> Features: ...
    def frames(
        self, rows: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]
    ) -> list[Frame | None]:
        """
        The line of the program behind each row, None if none is known.
        """
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
    def longest_pause(
        self, device: typing.SupportsInt | typing.SupportsIndex
    ) -> tuple[int, int]:
        """
        Begin and end of the longest time between two pieces of a device's work; equal if there is none.
        """
    def operators(self) -> list[OperatorRow]: ...
    def overlap(self) -> list[OverlapFacts]: ...
    def rank_work(
        self,
        rank: typing.SupportsInt | typing.SupportsIndex,
        stage: typing.SupportsInt | typing.SupportsIndex,
        host: str,
        clock_begin_ns: typing.SupportsInt | typing.SupportsIndex,
    ) -> RankWork:
        """
        The trace reduced to what a job of many ranks needs of it; -1: unknown.
        """
    def replay(self) -> Replay:
        """
        The replay of the trace, how far it may be believed, and what fixes would gain.
        """
    def sorts(
        self, rows: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]
    ) -> list[SortOfEvent]:
        """
        What kind of event each row is, and its letter.
        """
    def story(self) -> list[Stage]: ...
    def threads(self) -> list[ThreadRow]: ...
    def window_tree(
        self, index: typing.SupportsInt | typing.SupportsIndex
    ) -> list[tuple[int, int]]:
        """
        The window's device work under the host events it came from: (row, index of the parent in this list or -1), parents first.
        """
    def work_tables(self) -> WorkTables: ...
    def write_perfetto(
        self, findings: collections.abc.Sequence[tuple[str, str]], path: str
    ) -> None:
        """
        Writes a copy of the trace with tracks of its own; `findings` are name and args (a JSON object) of each finding.
        """
    @property
    def balance(self) -> list[BalanceRow]: ...
    @property
    def blocking_calls(self) -> list[BlockingCall]:
        """
        Every call in which the host waited for a device, in order of time.
        """
    @property
    def findings(self) -> list[Finding]: ...
    @property
    def lists_waits(self) -> bool:
        """
        Whether the trace lists the waits of a dry run.
        """
    @property
    def origin(self) -> str:
        """
        Of what rules found: rule, or dry-run of a simulated trace.
        """
    @property
    def own_rules(self) -> list[OwnOutcome]: ...
    @property
    def pattern_names(self) -> list[str]:
        """
        Of the built-in patterns, then of the user's own rules.
        """
    @property
    def quality(self) -> Quality: ...
    @property
    def steps(self) -> list[StepRow]: ...
    @property
    def trace(self) -> TraceFacts: ...
    @property
    def unexplained(self) -> list[Unexplained]: ...
    @property
    def windows(self) -> list[WindowRow]: ...

class Figure:
    @property
    def is_time(self) -> bool: ...
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> int: ...

class Stage:
    """
    One question of the story, see pipeline/story/story.h.
    """
    @property
    def answer(self) -> str: ...
    @property
    def figures(self) -> list[Figure]: ...
    @property
    def id(self) -> str: ...
    @property
    def known(self) -> bool: ...
    @property
    def question(self) -> str: ...
    @property
    def severity(self) -> str | None: ...
    @property
    def verdict(self) -> str: ...

class KernelRow:
    """
    See pipeline/tables/tables.h; nanoseconds.
    """
    @property
    def block_threads(self) -> int | None: ...
    @property
    def blocks(self) -> int | None: ...
    @property
    def communication(self) -> bool: ...
    @property
    def count(self) -> int: ...
    @property
    def max_ns(self) -> int: ...
    @property
    def min_ns(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def occupancy(self) -> float | None: ...
    @property
    def total_ns(self) -> int: ...
    @property
    def union_ns(self) -> int: ...

class CopyRow:
    @property
    def bandwidth(self) -> float | None: ...
    @property
    def bytes(self) -> int | None: ...
    @property
    def count(self) -> int: ...
    @property
    def direction(self) -> str: ...
    @property
    def max_ns(self) -> int: ...
    @property
    def median_bytes(self) -> int | None: ...
    @property
    def memory(self) -> str: ...
    @property
    def min_ns(self) -> int: ...
    @property
    def total_ns(self) -> int: ...
    @property
    def union_ns(self) -> int: ...

class WorkTables:
    @property
    def copies(self) -> list[CopyRow]: ...
    @property
    def kernels(self) -> list[KernelRow]: ...

class OperatorRow:
    @property
    def count(self) -> int: ...
    @property
    def device_ns(self) -> int: ...
    @property
    def max_ns(self) -> int: ...
    @property
    def min_ns(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def self_device_ns(self) -> int: ...
    @property
    def self_ns(self) -> int: ...
    @property
    def total_ns(self) -> int: ...
    @property
    def work(self) -> int: ...

class ThreadRow:
    """
    See pipeline/tables/tables.h; nanoseconds.
    """
    @property
    def busy_ns(self) -> int: ...
    @property
    def calls_ns(self) -> int: ...
    @property
    def compile_ns(self) -> int: ...
    @property
    def events(self) -> int: ...
    @property
    def idle_ns(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def operators_ns(self) -> int: ...
    @property
    def pid(self) -> int: ...
    @property
    def profiler_ns(self) -> int: ...
    @property
    def python_ns(self) -> int: ...
    @property
    def tid(self) -> int: ...
    @property
    def wait_comm_ns(self) -> int: ...
    @property
    def wait_device_ns(self) -> int: ...
    @property
    def wait_loader_ns(self) -> int: ...
    @property
    def wait_other_ns(self) -> int: ...
    @property
    def waiting_ns(self) -> int: ...

class Counts:
    @property
    def each(self) -> list[int]: ...
    @property
    def max(self) -> int: ...
    @property
    def median(self) -> float: ...
    @property
    def min(self) -> int: ...

class KernelCounts:
    @property
    def steps(self) -> Counts: ...
    @property
    def windows(self) -> Counts: ...

class SortOfEvent:
    @property
    def kind(self) -> str: ...
    @property
    def letter(self) -> str: ...

class OverlapFacts:
    @property
    def communication_hidden_ns(self) -> int: ...
    @property
    def communication_ns(self) -> int: ...
    @property
    def compute_ns(self) -> int: ...
    @property
    def copy_hidden_ns(self) -> int: ...
    @property
    def copy_ns(self) -> int: ...
    @property
    def device(self) -> int: ...
    @property
    def pid(self) -> int: ...

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
    def doc(self) -> str: ...
    @property
    def missing(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def normalization(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def unit(self) -> str: ...

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

class ReplayTimes:
    """
    Nanoseconds.
    """
    @property
    def recorded(self) -> int: ...
    @property
    def replayed(self) -> int: ...

class Recomputed:
    """
    Waits that a replay recomputes.
    """
    @property
    def count(self) -> int: ...
    @property
    def error_ns(self) -> int: ...
    @property
    def recorded_ns(self) -> int: ...

class StepTimes:
    @property
    def number(self) -> int: ...
    @property
    def times(self) -> ReplayTimes: ...

class Refusal:
    """
    Why a replay is not to be believed.
    """
    @property
    def detail(self) -> str: ...
    @property
    def kind(self) -> str: ...

class Fidelity:
    """
    How far a replay may be believed.
    """
    @property
    def anchored_ns(self) -> int: ...
    @property
    def copied_waits_ns(self) -> int: ...
    @property
    def explained_share(self) -> float: ...
    @property
    def hand_overs(self) -> Recomputed: ...
    @property
    def informative(self) -> bool: ...
    @property
    def launched(self) -> int: ...
    @property
    def long_waits(self) -> Recomputed: ...
    @property
    def null_span_ns(self) -> int: ...
    @property
    def queue_waits(self) -> Recomputed: ...
    @property
    def refusals(self) -> list[Refusal]: ...
    @property
    def replayable(self) -> bool: ...
    @property
    def shares(self) -> dict[str, float]: ...
    @property
    def span(self) -> ReplayTimes: ...
    @property
    def steps(self) -> list[StepTimes]: ...
    @property
    def unexplained_ns(self) -> int: ...

class PathPlace:
    @property
    def location(self) -> Frame | None: ...
    @property
    def name(self) -> str: ...
    @property
    def ns(self) -> int: ...

class PathRow:
    """
    What bounds a step or the trace.
    """
    @property
    def by_category(self) -> dict[str, int]: ...
    @property
    def places(self) -> list[PathPlace]: ...
    @property
    def span_ns(self) -> int: ...
    @property
    def step(self) -> int | None: ...

class ChangedStep:
    @property
    def changed_span_ns(self) -> int: ...
    @property
    def number(self) -> int: ...
    @property
    def replayed_span_ns(self) -> int: ...
    @property
    def span_ns(self) -> int: ...

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
    def path(self) -> dict[str, int]: ...
    @property
    def replayed_span_ns(self) -> int: ...
    @property
    def span_ns(self) -> int: ...
    @property
    def steps(self) -> list[ChangedStep]: ...

class Edit:
    """
    A change asked for, see pipeline/pricing/edits.h.
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
    ) -> list[PathRow]: ...
    def what_if(
        self, report: Report, edits: collections.abc.Sequence[Edit]
    ) -> Outcome: ...
    def write(self, outcome: Outcome, note: str, path: str) -> None: ...
    @property
    def fidelity(self) -> Fidelity | None: ...
    @property
    def refusal(self) -> str: ...
    @property
    def together(self) -> Gain | None: ...
    @property
    def together_doubt(self) -> str: ...
    @property
    def windows(self) -> list[float]: ...

class Program:
    """
    Threads, streams and what they do, see replay/program.h. Each add_... returns the place by which the others name it. Lengths in nanoseconds; `args` are more members for a row, as JSON text: `"key": value, ...`.
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
        The name tells what it is, as in Kineto: Memcpy HtoD (Pageable -> Device).
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
        `name`: of another call that waits for the device on its way, as cudaFree does; `ns`: what it takes if there is nothing to wait for; `back`: from the end of what it waits for to its return.
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
        Schedules the program and returns int64 [work, 2], begin and end of each work in the order of its launches' return values, and when the last of all ends. Raises as trace_text does.
        """
    def trace_text(
        self,
        note: dict[str, typing.Any] = {},
        rank: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> bytes:
        """
        Schedules the program and returns one rank's trace as JSON. `note` goes beside the mark that says it is simulated. Raises ValueError if the program means nothing or never ends.
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
        Moments are written as multiples of it, rounded down.
        """
    @resolution_ns.setter
    def resolution_ns(
        self, arg0: typing.SupportsInt | typing.SupportsIndex
    ) -> None: ...

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
) -> Report:
    """
    `steps`: the first and last of those that the trace was loaded for.
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
    Microseconds for people, with three digits: 412 µs, 12.4 ms.
    """

def event_kinds() -> list[tuple[str, str]]:
    """
    Name and meaning of each number of the token column `kind`.
    """

def feature_columns() -> list[FeatureColumn]: ...
def feature_fingerprint() -> str: ...
def gpus() -> list[Gpu]:
    """
    All of them; those without a name have a bandwidth alone.
    """

def judge(trace: Trace) -> Quality:
    """
    How far a trace can be trusted, without an analysis.
    """

def load_bytes(data: bytes, options: LoadOptions = ...) -> Trace: ...
def load_file(path: str, options: LoadOptions = ...) -> Trace: ...
def pattern_edits() -> list[tuple[str, str]]:
    """
    Name of each edit that stands for a fix, and what it takes away.
    """

def patterns() -> list[PatternInfo]: ...
def rank_processes(trace: Trace) -> list[tuple[str, list[int]]]:
    """
    Of a file merged from several ranks, what each is called ('' if nothing) and the pids of its processes and devices; empty of any other.
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

NO_ID: int = -1
NO_TIME: int = -9223372036854775808
__version__: str = "0.1.0"
