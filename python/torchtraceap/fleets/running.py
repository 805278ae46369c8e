# SPDX-License-Identifier: BSD-3-Clause
"""running.py: `fleet`, which analyzes what a data set does not have yet."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchtraceap.analysis_plan import plan_analysis
from torchtraceap.base.arguments import checked_int
from torchtraceap.base.children import free_bytes, processors
from torchtraceap.base.errors import ConfigError, trace_error
from torchtraceap.data.detector_choice import OFF
from torchtraceap.data.load import LoadOptions, plan_load
from torchtraceap.fleets.data_set import DataSet, Mark
from torchtraceap.fleets.items import LABELS, Item
from torchtraceap.fleets.local_pool import run_local
from torchtraceap.fleets.ray_pool import run_ray
from torchtraceap.fleets.sources import Found, find_items, problem_of
from torchtraceap.fleets.tasks import Done, FleetFailure, FleetPlan

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from torchtraceap.data.config import Config

# A batch has this many items, or those of this time: what a killed run loses.
_BATCH, _BATCH_S = 256, 30.0
_MOST_WORKERS = 1024
#: Of which no machine has more: 1 PiB.
_MOST_MEMORY = 1 << 50

#: Called with the number of items that are done, and of those to do.
Counted = Callable[[int, int], object]


@dataclass(frozen=True)
class FleetRun:
    """What a run of a fleet did."""

    folder: str  #: Of the results.
    found: int  #: Traces and jobs.
    known: int  #: Those that the data set had, unchanged.
    done: int  #: Those that were analyzed.
    others: int  #: Files of other contents with the name of a trace.
    failures: tuple[FleetFailure, ...]  #: Traces that could not be analyzed.
    seconds: float  #: From the first to the last.


def fleet(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    ray: str | None = None,
    workers: int | None = None,
    memory: int | None = None,
    path: str | None = None,
    retry_failed: bool = False,
    config: Config | None = None,
    counted: Counted | None = None,
    **loading: Unpack[LoadOptions],
) -> FleetRun:
    """Analyze any number of traces into a Parquet data set (docs/fleet.md)::

        torchtraceap.fleet(["nightly/", "s3://traces/ci/*.json.gz"], "results")

    A second call analyzes what is new or changed. A trace that cannot be analyzed is a
    row with the reason.

    Args:
        sources: Folders, files, patterns and URLs for fsspec, or one of them.
        out: The folder of the results: a new one, or that of an earlier call.
        ray: The address of a Ray cluster, or ``"local"`` to start Ray on this machine.
            None: processes of this machine.
        workers: How many traces are analyzed at a time, at most. None: as many as
            there are processors. On a cluster Ray decides.
        memory: Bytes that they may take together, by estimates. None: half of what is
            free. On a cluster Ray decides.
        path: A regular expression, searched in each path, whose groups ``program``,
            ``model``, ``commit`` and ``host`` name these.
        retry_failed: Also analyze again what failed in an earlier call.
        config: Thresholds, as of ``analyze``.
        counted: Called with the number of items done so far, and of all that are to do.
        **loading: Options of ``load``.

    Raises:
        TraceError: A source is not there or cannot be listed, or has no trace.
        ConfigError: ``out`` is something else, of another version or settings, or being
            written by another process; ``path`` is invalid; Ray is not there.
        ImportError: pyarrow is not installed; the message names the extra.
        OSError: ``out`` cannot be written. Finished batches are kept.
        TypeError: An option is of a wrong type.
        ValueError: An option is out of range.
    """
    _require_arrow()
    given = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    texts = [os.fsdecode(source) for source in given]
    pattern = _compiled(path)
    count = workers or processors()
    checked_int("workers", count, 1, _MOST_WORKERS)
    if memory is not None:
        checked_int("memory", memory, 1, _MOST_MEMORY)
    if loading.get("threads") is None:
        loading["threads"] = max(1, processors() // count)
    loading["progress"] = False
    reading, analysis = plan_load(**loading), plan_analysis(config=config, detector=OFF)
    plan = FleetPlan(reading, analysis)
    # Those that rows depend on; recover is False by default.
    kept = {k: v for k, v in reading.settings.items() if k != "threads" and v}
    settings = {
        "path": path,
        "config": analysis.changes,
        "loading": kept,
        "steps": None if reading.steps is None else list(reading.steps),
    }
    data = DataSet.create(os.fsdecode(out), settings)
    with data.writing():
        found = find_items(texts, pattern, os.path.abspath(data.folder))
        if not found.items:
            raise _nothing(texts, found)
        todo = _prepare(data, found.items, retry_failed)
        if ray is not None:
            answers = run_ray(todo, plan, ray, workers, memory)
        else:
            limit = memory or free_bytes() // 2 or _MOST_MEMORY
            answers = run_local(todo, plan, min(count, len(todo) or 1), limit)
        begin = time.monotonic()
        failures = list(_collect(data, answers, len(todo), counted))
        seconds = time.monotonic() - begin
    skipped = [problem_of(one) for one in found.skipped]
    failures += [FleetFailure(one.path, one.kind, str(one)) for one in skipped]
    known = len(found.items) - len(todo)
    return FleetRun(
        data.folder,
        len(found.items),
        known,
        len(todo),
        found.others,
        tuple(failures),
        seconds,
    )


def _require_arrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "torchtraceap.fleet needs pyarrow: pip install 'torchtraceap[fleet]'"
        ) from error


def _compiled(path: str | None) -> re.Pattern[str] | None:
    if path is None:
        return None
    try:
        pattern = re.compile(path)
    except re.error as error:
        raise ConfigError(
            f"path {path!r}: {error}. Give a regular expression"
        ) from None
    groups = pattern.groupindex.keys()
    if not groups or groups - set(LABELS):
        wanted = ", ".join(f"(?P<{name}>...)" for name in LABELS)
        raise ConfigError(f"path {path!r}: its groups must be of {wanted}")
    return pattern


def _nothing(sources: list[str], found: Found) -> Exception:
    more = f" and {len(sources) - 1} more" if sources[1:] else ""
    cause = "no trace is there"
    if found.others:
        cause += f": {found.others} files have the name of one, but other contents"
    hint = "Give a folder of .json, .json.gz or .pftrace files of torch.profiler"
    source = sources[0] if sources else "the list"
    return trace_error(f"{source}{more}", "no_traces", cause, hint)


def _prepare(data: DataSet, items: Iterable[Item], retry_failed: bool) -> list[Item]:
    """Return the items to do; of those and of what they replace, old rows are gone."""
    marks = data.marks
    owner = {file[0]: id for id, mark in marks.items() for file in mark.files}
    todo, gone = [], set()

    def is_done(item: Item, mark: Mark | None) -> bool:
        return (
            mark is not None and mark.is_of(item) and not (retry_failed and mark.failed)
        )

    for item in items:
        if not is_done(item, marks.get(item.id)):
            todo.append(item)
            # A trace may have been by itself before, and be of a job now.
            gone |= {owner[file.url] for file in item.files if file.url in owner}
            gone |= {item.id} & marks.keys()
    if gone:
        data.forget(gone)
    return todo


def _collect(
    data: DataSet, answers: Iterator[Done], of: int, counted: Counted | None
) -> Iterator[FleetFailure]:
    """Write what is done, and yield the failures. Whatever ends it, what was done until
    then is kept if it can be written."""
    batch: list[Done] = []
    count, begin = 0, time.monotonic()
    try:
        for done in answers:
            batch.append(done)
            count += 1
            if counted is not None:
                counted(count, of)
            yield from done.failures
            if len(batch) >= _BATCH or time.monotonic() - begin >= _BATCH_S:
                full, batch = batch, []
                data.add(full)
                begin = time.monotonic()
    finally:
        answers.close()  # type: ignore[attr-defined]  # They are generators.
        if batch:
            data.add(batch)
