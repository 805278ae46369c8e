# SPDX-License-Identifier: BSD-3-Clause
"""loaders.py NAME FILE: one loader, timed once in a process of its own.

    python loaders.py orjson trace.json [--repeat N] [--figures]

Imports come before the clock starts. Prints JSON: seconds of each call, the peak of
resident memory over what the interpreter and the imports had taken, the version, and
with --figures what the loader found. Runs in the environment of the loader, so only
the chosen one is imported.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import inspect
import io
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.loader.figures import DEVICE_WORK, Figures, exact_ns, figures_of

# How to load, how to count what was loaded, whose version it is.
Loader = tuple[Callable[[str], Any], Callable[[Any], Figures], str]


def listed(document: Any) -> Iterator[tuple[Any, int]]:
    """Yield the events of a document of dicts or of what behaves like them."""
    for event in document if isinstance(document, list) else document["traceEvents"]:
        yield event, 1


def read(path: str) -> bytes:
    """Return the bytes of a file."""
    with open(path, "rb") as file:
        return file.read()


def use_json() -> Loader:
    """Dicts of Python's own module."""
    return lambda path: json.loads(read(path)), lambda d: figures_of(listed(d)), ""


def use_orjson() -> Loader:
    """Dicts of orjson."""
    import orjson

    loads = orjson.loads
    return lambda path: loads(read(path)), lambda d: figures_of(listed(d)), "orjson"


def use_pysimdjson() -> Loader:
    """Validates and indexes; objects are made when they are asked for."""
    import simdjson

    parser = simdjson.Parser()

    def figures(document: Any) -> Figures:
        return figures_of((event.as_dict(), 1) for event, _ in listed(document))

    return parser.load, figures, "pysimdjson"


def msgspec_structs(with_args: bool) -> Loader:
    """Typed objects of the fields that matter; the rest is skipped."""
    import msgspec

    number = int | float | str | None
    fields: list[Any] = [("ph", str)]
    fields += [(name, str | None, None) for name in ("cat", "name")]
    fields += [(name, int | str | None, None) for name in ("pid", "tid", "id")]
    fields += [(name, number, None) for name in ("ts", "dur")]
    options: dict[str, Any] = {"gc": False}
    if with_args:
        keys = {"external_id": "External id", "sequence": "Sequence number"}
        names = [*keys, "correlation", "device", "stream"]
        args = msgspec.defstruct(
            "Args",
            [(n, int | str | None, None) for n in names],
            rename=lambda n: keys.get(n, n),
            **options,
        )
        fields.append(("args", args | None, None))
    event = msgspec.defstruct("Event", fields, **options)
    trace = msgspec.defstruct("Trace", [("traceEvents", list[event])], **options)
    decoder = msgspec.json.Decoder(trace)

    def figures(loaded: Any) -> Figures:
        keys = ("ph", "cat", "ts", "dur")
        dicts = (
            {k: v for k in keys if (v := getattr(e, k)) is not None}
            for e in loaded.traceEvents
        )
        return figures_of((d, 1) for d in dicts)

    return lambda path: decoder.decode(read(path)), figures, "msgspec"


def use_hta() -> Loader:
    """HTA's parser into a DataFrame with its default arguments."""
    from hta.common.trace_parser import parse_trace_dataframe
    from hta.configs.parser_config import ParserConfig

    def figures(loaded: Any) -> Figures:
        _, frame, symbols = loaded
        names = frame["cat"].map(dict(enumerate(symbols.get_sym_table())))
        return Figures(
            x_but_spans=len(frame),
            sum_dur_but_spans_ns=exact_ns(float(frame["dur"].clip(lower=0).sum())),
            gpu=int(names.isin(DEVICE_WORK).sum()),
        )

    config = ParserConfig.get_default_cfg()
    load = parse_trace_dataframe
    return lambda path: load(path, config), figures, "HolisticTraceAnalysis"


def use_tensorboard() -> Loader:
    """What the TensorBoard plugin does before it analyses: dicts into its events."""
    from torch_tb_profiler.profiler.data import RunProfileData
    from torch_tb_profiler.profiler.trace import EventTypes

    def load(path: str) -> Any:
        _, document = RunProfileData._preprocess_file(path, None)
        return RunProfileData("worker", None, document)

    def figures(data: Any) -> Figures:
        work = (EventTypes.KERNEL, EventTypes.MEMCPY, EventTypes.MEMSET)
        gpu = sum(event.type in work for event in data.events)
        return Figures(gpu=gpu, min_ts_ns=exact_ns(data.profiler_start_ts))

    return load, figures, "torch-tb-profiler"


def torchtraceap(threads: int) -> Loader:
    """The package under test."""
    import numpy  # noqa: F401  counted as an import, as the others' are

    from torchtraceap import load
    from torchtraceap.views.inspection import inspect_trace

    options: dict[str, Any] = {}
    if "threads" in inspect.signature(load).parameters:
        options["threads"] = threads
    else:  # It takes as many as the process may run on.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])

    def figures(trace: Any) -> Figures:
        facts = inspect_trace(trace)
        names = Figures.__dataclass_fields__
        return Figures(**{n: facts[n] for n in names if n in facts})

    return lambda path: load(path, **options), figures, ""


LOADERS: dict[str, Callable[[], Loader]] = {
    "torchtraceap, 2 threads": lambda: torchtraceap(2),
    "torchtraceap, 1 thread": lambda: torchtraceap(1),
    "msgspec Structs": lambda: msgspec_structs(False),
    "msgspec Structs with args": lambda: msgspec_structs(True),
    "pysimdjson": use_pysimdjson,
    "orjson": use_orjson,
    "json": use_json,
    "HTA": use_hta,
    "TensorBoard plugin": use_tensorboard,
}


def resident(what: str) -> int:
    """Return VmRSS or VmHWM in bytes. ru_maxrss would count the parent's peak too."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(what):
                return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {what} in /proc/self/status")


def main() -> None:
    """Load, measure, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=LOADERS)
    parser.add_argument("file")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--figures", action="store_true")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    load, figures, package = LOADERS[options.name]()
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # forget the peak of the imports
    before = resident("VmRSS")
    wall, cpu = [], []
    for _ in range(options.repeat):
        loaded = None  # freed before the clock starts
        begin, begin_cpu = time.perf_counter(), time.process_time()
        with contextlib.redirect_stdout(io.StringIO()):
            loaded = load(options.file)
        cpu.append(time.process_time() - begin_cpu)
        wall.append(time.perf_counter() - begin)
    out: dict[str, Any] = {"wall_s": wall, "cpu_s": cpu}
    out["peak_bytes"] = resident("VmHWM") - before
    out["version"] = importlib.metadata.version(package) if package else ""
    if options.figures:
        out["figures"] = figures(loaded).as_dict()
    json.dump(out, sys.stdout)


MEMORY = 8 << 30  # more than this is asked of no machine
OURS = ("torchtraceap, 2 threads", "torchtraceap, 1 thread")


@dataclass(frozen=True)
class Peer:
    """A loader of loaders.py.

    Attributes:
        environment: Where it is installed, a key of ``environments.PACKAGES``.
        texts: Peak memory, in sizes of the text, a little more than was seen.
        most_mb: Larger inputs take it minutes: with --full only.
        tolerance_ns: How far a figure may be off; for a sum, for each of its events.
    """

    environment: str
    texts: float
    most_mb: int = 10_000
    tolerance_ns: dict[str, float] = field(default_factory=dict)


# Floats of microseconds are exact to half a nanosecond until 2^42; HTA rounds starts
# up and ends down to whole microseconds.
FLOATS = {"min_ts_ns": 1.0}
ROUNDED = {"sum_dur_but_spans_ns": 2000.0}
PEERS = {
    "msgspec Structs": Peer("json", 3.5, tolerance_ns=FLOATS),
    "msgspec Structs with args": Peer("json", 4.0, tolerance_ns=FLOATS),
    "pysimdjson": Peer("json", 5.0, tolerance_ns=FLOATS),
    "orjson": Peer("json", 9.0, 400, FLOATS),
    "json": Peer("json", 8.0, 400, FLOATS),
    "HTA": Peer("tools", 8.0, 60, ROUNDED),
    "TensorBoard plugin": Peer("tools", 8.0, 60, FLOATS),
}


def reason_to_skip(name: str, text_bytes: int, full: bool) -> str:
    """Say why a loader is not run on a text of this size, "" if it is."""
    peer = PEERS.get(name)
    if peer is None:
        return ""
    if text_bytes > peer.most_mb * 1e6 and not full:
        return f"over {peer.most_mb} MB with --full only"
    return memory_reason(text_bytes * peer.texts)


def memory_reason(need: float) -> str:
    """Return why `need` bytes are too many, "" if they are not."""
    if need <= min(MEMORY, available_bytes()):
        return ""
    return f"would need about {need / 2**30:.1f} GiB of memory"


def available_bytes() -> int:
    """Return the memory that programs may still take."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    main()
