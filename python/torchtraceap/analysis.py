# SPDX-License-Identifier: BSD-3-Clause
"""analysis.py: the two verbs of the package, `load` and `analyze`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast, overload

from torchtraceap import _core
from torchtraceap.analysis_plan import plan_analysis
from torchtraceap.base.errors import trace_error
from torchtraceap.base.progress import Progress
from torchtraceap.data.detector_choice import AUTO, DetectorChoice
from torchtraceap.data.load import (
    LoadOptions,
    plan_load,
    read_trace,
    refuse_loading,
)
from torchtraceap.data.source import (
    Profiler,
    RankPaths,
    Readable,
    Source,
    is_of_ranks,
    is_profiler,
    readable,
    source_of,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from torchtraceap.data.config import Config
    from torchtraceap.data.rules import Rule
    from torchtraceap.ranks.job_report import JobReport
    from torchtraceap.report import Report


def load(
    source: Readable,
    *,
    recover: bool = False,
    threads: int | None = None,
    categories: Iterable[str] | None = None,
    skip_categories: Iterable[str] | None = None,
    steps: int | tuple[int, int] | None = None,
    time_range_us: tuple[float | None, float | None] | None = None,
    max_text_bytes: int | None = None,
    max_ratio: float | None = None,
    progress: bool | Progress | None = None,
) -> _core.Trace:
    """Load a profiler trace without analyzing it::

        trace = torchtraceap.load("trace.json.gz")
        trace.columns["dur"], trace.name(0), trace.warnings

        few = torchtraceap.load(
            "huge.json.gz", skip_categories=["python_function"], steps=(3, 5)
        )

    Ctrl-C ends it within a second; other threads of Python run meanwhile. The whole
    text is read and validated, whatever is kept of it. ``Trace.left_out`` counts the
    events that categories, steps or time_range_us left out; rows are numbered without
    them.

    Args:
        source: Path of a ``.json`` or ``.json.gz`` file, told apart by content, that
            file's bytes, or a folder or glob with one trace.
        recover: Read what is sound of a damaged file, and count the rest in
            ``Trace.warnings``, instead of refusing it.
        threads: Threads that read, 1 to 256. Only speed depends on it. None: as many
            as the process may run on, at most 8.
        categories: Keep events of these categories only, by today's names or those of
            older traces. ``"unknown"`` means all events without a known one.
            Metadata (phase M), which names processes and threads, is always kept.
        skip_categories: Leave out events of these categories.
        steps: Keep what meets the time of ``ProfilerStep#first`` to
            ``ProfilerStep#last``, to the end of the device work that they launched. One
            number is one step. Reads the file twice.
        time_range_us: Keep what meets [begin, end), in microseconds of the file's own
            clock; None leaves an end open. Events without a time are kept.
        max_text_bytes: Refuse gzip that inflates to more than this.
        max_ratio: Refuse gzip that inflates to more than this many times its size;
            ``float("inf")`` refuses none. Small traces are exempt.
        progress: True shows a bar, False none, None one after a second on a terminal or
            in a notebook. A callable is called about ten times a second with the
            fraction of the file that is read, the bytes of text and the events so far,
            and once at the end with the fraction 1.0; an exception from it ends
            the load and propagates. With ``steps`` it counts bytes and events in each
            of the two passes.

    Returns:
        The events as NumPy columns, with all that was odd about the file.

    Raises:
        TraceError: The file is a folder, empty, damaged, or no profiler trace, or it
            has no such ``steps``. The message names the fault, place and remedy.
        FileNotFoundError: There is no such file, or it may not be read.
        MemoryError: The trace does not fit into memory.
        TypeError: ``source`` is neither a path nor bytes, or an option of a wrong type.
        ValueError: An option is out of range. ``TraceError`` is a ValueError too.
    """
    options: Any = dict(locals())
    del options["source"]
    plan = plan_load(**options)
    several = source_of(source) if is_of_ranks(source) else None
    if isinstance(several, RankPaths):
        return read_trace(_only_trace(several, "one trace is wanted"), plan)
    return read_trace(readable(source), plan)


# A str is an iterable of strings too, but means a path.
@overload
def analyze(  # type: ignore[overload-overlap]
    source: Source | Profiler,
    *,
    max_events: int | None = None,
    config: Config | None = None,
    rules: Iterable[Rule | str] = (),
    detector: DetectorChoice = AUTO,
    capture: str | os.PathLike[str] | None = None,
    quiet: bool = False,
    **loading: Unpack[LoadOptions],
) -> Report: ...
@overload
def analyze(
    source: Iterable[Source | Profiler] | Mapping[int, str | os.PathLike[str]],
    *,
    max_events: int | None = None,
    config: Config | None = None,
    rules: Iterable[Rule | str] = (),
    detector: DetectorChoice = AUTO,
    capture: str | os.PathLike[str] | None = None,
    quiet: bool = False,
    **loading: Unpack[LoadOptions],
) -> JobReport: ...
def analyze(
    source: Source
    | Profiler
    | Iterable[Source | Profiler]
    | Mapping[int, str | os.PathLike[str]],
    *,
    max_events: int | None = None,
    config: Config | None = None,
    rules: Iterable[Rule | str] = (),
    detector: DetectorChoice = AUTO,
    capture: str | os.PathLike[str] | None = None,
    quiet: bool = False,
    **loading: Unpack[LoadOptions],
) -> Report | JobReport:
    """Label every window of a profiler trace and say what wastes time in it.

    Call it on a trace already saved, or use it as the profiler's handler::

        report = torchtraceap.analyze("trace.json.gz")
        print(report.summary())

        with torch.profiler.profile(on_trace_ready=torchtraceap.analyze) as prof:
            train_one_epoch()
        report = prof.torchtraceap_reports[-1]

    As the handler itself it prints a short summary of each recorded cycle, of several
    ranks on the first one only; ``functools.partial(torchtraceap.analyze, quiet=True)``
    does not. Called anywhere else it prints nothing.

    The profiler discards what a handler returns. A report made from a profiler is
    therefore also appended to ``prof.torchtraceap_reports``, one for each recorded
    cycle; the list is made with the first. The user's own exports of the trace work
    after it; one before works too, with a warning.

    Args:
        source: Path of a trace (``.json`` or ``.json.gz``), its bytes, a ``Trace``
            from ``load``, or a profiler that has stopped recording. A folder, a glob or
            a list or other iterable of these gives a ``JobReport``: the sequence of
            their reports, and what they say together where they are of the ranks of one
            job. {0: path, 1: path} says which rank each is. See docs/ranks.md.
        max_events: Events that a window may hold, an int of 1 or more. None keeps
            the core's default.
        config: Thresholds other than the defaults, and which rules run: a TOML file,
            of which ``pyproject.toml`` has them under ``[tool.torchtraceap]``, or a
            dict such as ``{"patterns": {"sync_stall": {"min_share": 0.02}}}``. None:
            the defaults; no file is looked for.
        rules: Rules of your own, as ``torchtraceap.rule`` makes them, or their names,
            ``"module:function"``. See docs/reference/rules.md.
        detector: The learned detector that is asked about each window when the report
            is first read, beside the rules: "auto" is the bundled one where torch is
            installed, on its GPU if it has one, and none elsewhere, which the summary
            says; "off": none; or the path of a file of weights, which is loaded at
            once. The first use loads torch. The environment variable
            TORCHTRACEAP_DETECTOR replaces "auto". Budgets, checks and comparisons never
            use it.
        capture: Folder with the traces of the capture of CUDA or HIP graphs, as vLLM
            and SGLang write them (``capture_traces``): kernels of replays get the
            operators and lines that launched them there. In a job, each rank takes
            those of its own. ``recover`` reads damaged ones, too, also where
            ``source`` is a Trace. See docs/reference/files.md.
        quiet: Print nothing as a profiler's handler either.
        **loading: Options of ``load`` (recover, threads, categories, skip_categories,
            steps, time_range_us, max_text_bytes, max_ratio, progress), where the source
            is a path or bytes. Events that they leave out are not in the report and not
            numbered. A Trace or a profiler takes none of them.

    Returns:
        The report; of several traces a ``JobReport``. A folder or glob with one trace
        that is of no larger job is that trace. (A type checker takes the path of
        a folder for that of a trace: pass ``[folder]``.)

    Raises:
        TraceError: The bytes are not a profiler trace. The message names the file and
            the place in it, what was expected there and what to do. (The report of a
            Chrome trace from another profiler notes that in its quality.)
        FileNotFoundError: There is no such file, or it may not be read.
        MemoryError: The trace does not fit into memory.
        ValueError: An option is out of range, a profiler has recorded nothing, or the
            weights that ``detector`` names cannot be used.
            ``TraceError`` is a ValueError too.
        ConfigError: ``config`` or the name of a rule is invalid. A ValueError too.
        RuleError: A rule of your own raised something, its cause.
        TypeError: ``source`` is none of the above, an option is of a wrong type, or
            options of loading are given for what is loaded already.

    As a handler it raises none of these but warns, so that a training run goes on.
    """
    if unknown := loading.keys() - LoadOptions.__annotations__.keys():
        raise TypeError(f"analyze() got an unexpected option {min(unknown)!r}")
    # Made once, and for a profiler where they are needed: as its handler, wrong options
    # may have to be a warning.
    recover = bool(loading.get("recover"))
    plan = cache(
        partial(plan_analysis, max_events, config, rules, detector, capture, recover)
    )
    load_plan = cache(partial(plan_load, **loading))
    given = [name for name, value in loading.items() if value not in (None, False)]
    if capture is not None and recover:
        given.remove("recover")  # It is for the captures.

    def analyzed(source: object) -> Any:
        if is_profiler(source):
            from torchtraceap.profiling.handler import analyze_profiler

            return analyze_profiler(source, plan, given, quiet=quiet)
        analysis, reading = plan(), load_plan()
        found = source_of(source)
        if isinstance(found, str | bytes):
            return analysis.report(read_trace(found, reading), reading.steps)
        if isinstance(found, _core.Trace):
            refuse_loading(given, "a Trace", "Pass them to load")
            return analysis.report(found)
        from torchtraceap.ranks.job import job_of_files, job_of_reports

        if isinstance(found, RankPaths):
            return job_of_files(found, reading, analysis)
        return job_of_reports([analyzed(one) for one in found])

    return cast("Report | JobReport", analyzed(source))


def analyze_one(source: Source | Profiler, what: str, **options: Any) -> Report:
    """Analyze a source for ``what``, which takes one trace; options are of `analyze`.

    Of a folder or glob it is the only trace there. Raises what `analyze` does;
    TraceError for several, TypeError for a list.
    """
    several = None if is_profiler(source) else source_of(source)
    if isinstance(several, RankPaths) and not several.is_list:
        source = _only_trace(several, f"{what} takes one trace")
    elif isinstance(several, RankPaths | list):
        raise TypeError(f"{what} takes one trace, not a list: call it for each")
    return analyze(source, **options)


def _only_trace(several: RankPaths, wanted: str) -> str:
    """Return the path of the only trace of a folder or glob; TraceError for several,
    which says what is ``wanted``."""
    from torchtraceap.ranks.rank_files import trace_paths

    paths, _ = trace_paths(several)
    if len(paths) > 1:
        cause = f"{wanted}, but this names several"
        raise trace_error(several.text, "several", cause, "Name one of its files")
    return paths[0]
