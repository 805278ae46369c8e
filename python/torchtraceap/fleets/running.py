# SPDX-License-Identifier: BSD-3-Clause
"""running.py: `fleet`, which analyzes what a data set does not have yet."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchtraceap.analysis_plan import plan_analysis
from torchtraceap.base.arguments import checked_int
from torchtraceap.base.children import free_bytes, processors
from torchtraceap.base.errors import ConfigError, trace_error
from torchtraceap.data.detector_choice import OFF
from torchtraceap.data.load import LoadOptions, plan_load
from torchtraceap.fleets.batches import Mark
from torchtraceap.fleets.data_set import DataSet
from torchtraceap.fleets.items import LABELS, Item
from torchtraceap.fleets.local_pool import run_local
from torchtraceap.fleets.ray_pool import run_ray
from torchtraceap.fleets.sources import Found, find_items, problem_of
from torchtraceap.fleets.tasks import Done, FleetFailure, FleetPlan
from torchtraceap.fleets.urls import is_url, public_url

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from torchtraceap.data.config import Config

# A batch has this many items, or those of this time: what a killed run loses, and of an
# item that takes longer all its time.
_BATCH, _BATCH_S = 256, 30.0
_BATCH_BYTES = 64 << 20  # Of rows, which wait in the memory of this process.
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
    skipped: tuple[str, ...]  #: Why paths were left out, such as links to nowhere.
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
            written by another process; ``path`` is invalid; Ray is not there; the first
            processes all crash.
        ImportError: pyarrow is not installed; the message names the extra.
        NotWritten: An OSError: ``out`` cannot be written. Finished batches are kept.
        TypeError: An option is of a wrong type.
        ValueError: An option is out of range.
    """
    _require_arrow()
    given = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    texts = [os.fsdecode(source) for source in given]
    pattern = _compiled(path)
    count = processors() if workers is None else workers
    checked_int("workers", count, 1, _MOST_WORKERS)
    if memory is not None:
        checked_int("memory", memory, 1, _MOST_MEMORY)
    if loading.get("threads") is None:
        # A task of Ray has one processor, on whichever machine.
        loading["threads"] = 1 if ray else max(1, processors() // count)
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
    folder = os.fsdecode(out)
    if is_url(folder):
        raise ConfigError(
            f"{public_url(folder)}: results are not written to URLs. Give a folder of "
            "this machine, and copy it there when the call is done."
        )
    data = DataSet.create(folder, settings)
    with data.writing():
        found = find_items(texts, pattern, os.path.abspath(data.folder))
        if not found.items:
            raise _nothing(texts, found)
        todo, replaced = _prepare(data.marks, found.items, retry_failed)
        answers: Iterator[Done | None]
        if ray is not None:
            answers = run_ray(todo, plan, ray, workers, memory)
        else:
            free = free_bytes()
            limit = memory or (_MOST_MEMORY if free is None else max(1, free // 2))
            answers = run_local(todo, plan, min(count, len(todo) or 1), limit)
        begin = time.monotonic()
        failures = list(_collect(data, answers, replaced, counted))
        seconds = time.monotonic() - begin
    known = len(found.items) - len(todo)
    return FleetRun(
        data.folder,
        len(found.items),
        known,
        len(todo),
        found.others,
        tuple(failures),
        tuple(str(problem_of(one)) for one in found.skipped),
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
    if not isinstance(path, str):
        raise TypeError(f"path must be a str, but is {type(path).__name__}")
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
    if found.skipped:
        cause += f"; left out: {found.skipped[0].path} ({found.skipped[0].why})"
    hint = "Give a folder of .json, .json.gz or .pftrace files of torch.profiler"
    source = public_url(sources[0]) if sources else "the list"
    return trace_error(f"{source}{more}", "no_traces", cause, hint)


def _prepare(
    marks: Mapping[str, Mark], items: Sequence[Item], retry_failed: bool
) -> tuple[list[Item], dict[str, set[str]]]:
    """Return the items to do, those that failed before at last, and by the id of each
    the earlier items that it replaces."""
    owner = {file[0]: id for id, mark in marks.items() for file in mark.files}
    named = {file.url for item in items for file in item.files}

    def is_again(mark: Mark) -> bool:
        return mark.is_open or (retry_failed and mark.failed)

    def is_partial(id: str, item: Item) -> bool:
        return id != item.id and not {file[0] for file in marks[id].files} <= named

    olds: dict[str, set[str]] = {}
    first: list[Item] = []
    again: list[Item] = []
    same: list[Item] = []
    for item in items:
        # A trace may have been by itself before, and be of a job now.
        old = {owner[file.url] for file in item.files if file.url in owner}
        old |= {item.id} & marks.keys()
        # A rank that is named alone leaves its job and the other ranks as they are.
        if any(is_partial(id, item) for id in old):
            continue
        olds[item.id] = old
        has = [marks[id] for id in old if marks[id].has(item)]
        if not has:
            first.append(item)
        else:
            (again if any(map(is_again, has)) else same).append(item)
    # With an earlier job all its rows go: ranks of it that are by themselves now are
    # analyzed again, too.
    while True:
        gone = {id for item in first + again for id in olds[item.id]}
        more = [item for item in same if olds[item.id] & gone]
        if not more:
            break
        first += more
        same = [item for item in same if not olds[item.id] & gone]
    return first + again, {item.id: olds[item.id] for item in first + again}


def _collect(
    data: DataSet,
    answers: Iterator[Done | None],
    replaced: Mapping[str, Collection[str]],
    counted: Counted | None,
) -> Iterator[FleetFailure]:
    """Write what is done, and yield the failures. Whatever ends it, what was done until
    then is kept if it can be written. An answer is None where nothing came for a while.
    """
    batch: list[Done] = []
    count, size, begin = 0, 0, time.monotonic()
    try:
        for done in answers:
            if done is not None:
                batch.append(done)
                size += sum(table.nbytes for table in done.tables.values())
                count += 1
                if counted is not None:
                    counted(count, len(replaced))
                yield from done.failures
            is_full = len(batch) >= _BATCH or size >= _BATCH_BYTES
            if batch and (is_full or time.monotonic() - begin >= _BATCH_S):
                full, batch = batch, []
                data.add(full, replaced)
                size, begin = 0, time.monotonic()
    finally:
        try:
            answers.close()  # type: ignore[attr-defined]  # They are generators.
        finally:
            if batch:
                data.add(batch, replaced)
