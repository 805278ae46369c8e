# SPDX-License-Identifier: BSD-3-Clause
"""scene.py: a real trace, or a part of one, as a place
to put patterns into."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lab import _lab
from torchtraceap import analyze

#: What of a row's args says which event it is, or what it worked on, not where.
_OF_ONE_EVENT = frozenset(
    {
        "external id", "ev idx", "profiler event index", "sequence number",
        "fwd thread id", "record function id", "concrete inputs", "python id",
        "python parent id", "correlation", "external ts", "device", "stream", "bytes",
        "queued", "memory bandwidth (gb/s)", "src", "dst", "ptr", "kind", "size",
        "kernel", "collective name", "process group name", "process group ranks",
    }
)  # fmt: skip
#: What a trace carries beside its events and may be passed on.
METADATA = ("schemaVersion", "deviceProperties", "distributedInfo", "displayTimeUnit")

_NO_OPERATORS = ("ProfilerStep", "enumerate(", "Optimizer.", "## ", "nn.Module")


@dataclass(frozen=True)
class Thread:
    """A thread that launches device work, by its numbers in the trace's columns."""

    pid: int
    tid: int
    launches: int


class Scene:
    """A trace with what mechanisms ask of it. Times in nanoseconds on its own clock."""

    def __init__(self, path: Path, **part: Any) -> None:
        """Analyze a trace, or what `part` (options of ``load``) names of it.

        Raises:
            ValueError: Its replay is unreliable; the message says why.
        """
        options = {"quiet": True, "max_events": None, "detector": "off"}
        self.report = analyze(str(path), **options, **part)
        self.core, self.analysis = self.report.core_replay, self.report.core
        fidelity = self.core.fidelity
        if fidelity is None:
            raise ValueError(self.core.refusal)
        if not fidelity.replayable:
            raise ValueError("; ".join(fidelity.refusals))
        self.trace = self.report.loaded
        c = self.trace.columns
        self.ts, self.dur = c["ts"], c["dur"]
        self.names = np.array(self.trace.strings, dtype=object)[c["name"]]
        categories = np.array(self.trace.category_names, dtype=object)
        self.categories = categories[c["category"]]
        self.timed = (c["phase"] == b"X") & (self.dur >= 0)
        self.pid, self.tid = c["pid"], c["tid"]
        self.end = np.where(self.timed, self.ts + self.dur, self.ts)
        self.natural = _lab.perturb(self.analysis, _lab.Perturbation())
        recorded = max(1, fidelity.span_ns)
        if abs(self.natural.span_ns - recorded) > 0.02 * recorded:
            off = self.natural.span_ns / recorded - 1
            raise ValueError(f"scheduled by events it is {off:+.1%} off")

    def of(self, *categories: str) -> np.ndarray:
        """Return the timed rows of categories, by start."""
        rows = np.flatnonzero(self.timed & np.isin(self.categories, categories))
        return rows[np.argsort(self.ts[rows], kind="stable")]

    @cached_property
    def work(self) -> np.ndarray:
        """Rows of device work by start."""
        return self.of("kernel", "gpu_memcpy", "gpu_memset")

    @cached_property
    def calls(self) -> np.ndarray:
        """Rows of calls into the runtime by start."""
        return self.of("cuda_runtime", "cuda_driver")

    @cached_property
    def launch_of(self) -> dict[int, int]:
        """The call that launched each piece of device work, both as rows."""
        ids = self.trace.columns["correlation"]
        by_id = {int(ids[row]): int(row) for row in self.calls[::-1]}
        by_id.pop(-1, None)
        found = {int(row): by_id.get(int(ids[row])) for row in self.work}
        return {work: call for work, call in found.items() if call is not None}

    @cached_property
    def threads(self) -> list[Thread]:
        """Threads that launch, the busiest first."""
        calls = np.array(sorted(set(self.launch_of.values())), dtype=np.int64)
        pairs = np.stack([self.pid[calls], self.tid[calls]])
        kinds, counts = np.unique(pairs, axis=1, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return [
            Thread(int(kinds[0, i]), int(kinds[1, i]), int(counts[i])) for i in order
        ]

    @cached_property
    def devices(self) -> list[int]:
        """Numbers of the devices with work."""
        return sorted(
            {row.device for row in self.report.balance if row.device is not None}
        )

    def on(self, thread: Thread, rows: np.ndarray) -> np.ndarray:
        """Return those of the rows that a thread ran."""
        return rows[(self.pid[rows] == thread.pid) & (self.tid[rows] == thread.tid)]

    def operators(self, thread: Thread) -> np.ndarray:
        """Return the outermost operators of a thread, by start."""
        if thread not in self._operators:
            self._operators[thread] = self._find_operators(thread)
        return self._operators[thread]

    @cached_property
    def _operators(self) -> dict[Thread, np.ndarray]:
        return {}

    def _find_operators(self, thread: Thread) -> np.ndarray:
        rows = self.on(thread, self.of("cpu_op"))
        rows = rows[np.lexsort((-self.dur[rows], self.ts[rows]))]
        outer, until = [], -(1 << 62)
        for row in rows:
            if self.ts[row] < until or self.names[row].startswith(_NO_OPERATORS):
                continue
            outer.append(row)
            until = self.end[row]
        return np.array(outer, dtype=np.int64)

    @cached_property
    def _issued(self) -> dict[Thread, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        # Of each thread: when it launched, when all launched so far had ended, what.
        out = {}
        for thread in self.threads:
            own = [
                (self.ts[call], self.end[work], work)
                for work, call in self.launch_of.items()
                if (self.pid[call], self.tid[call]) == (thread.pid, thread.tid)
            ]
            own.sort()
            when, done, rows = (np.array(column) for column in zip(*own, strict=True))
            out[thread] = when, np.maximum.accumulate(done), rows
        return out

    def lead(self, thread: Thread, at: np.ndarray) -> np.ndarray:
        """Return how far a thread is ahead of the device at some moments: what it had
        launched ends so much later. Below 0: the device idles so long."""
        when, done, _ = self._issued[thread]
        last = np.searchsorted(when, at, side="right") - 1
        return np.where(last < 0, 0, done[np.maximum(last, 0)] - at)

    def stream(self, thread: Thread, at: int) -> dict[str, int]:
        """Return device and stream of what a thread launched last, or first."""
        when, _, rows = self._issued[thread]
        row = rows[max(0, int(np.searchsorted(when, at, side="right")) - 1)]
        c = self.trace.columns
        return {"device": int(c["device"][row]), "stream": int(c["stream"][row])}

    @cached_property
    def has_frames(self) -> bool:
        """Whether Python frames were recorded."""
        return bool((self.categories == "python_function").any())

    @cached_property
    def is_amd(self) -> bool:
        """Whether its calls are HIP's."""
        return any(name.startswith("hip") for name in self.names[self.calls[:200]])

    def call_name(self, name: str) -> str:
        """Return what a call of CUDA's is named here: ``MemcpyAsync``."""
        return ("hip" if self.is_amd else "cuda") + name

    @cached_property
    def launch_ns(self) -> int:
        """What a launch takes the host: the median."""
        lengths = [self.dur[row] for row in self.calls if "Launch" in self.names[row]]
        return int(np.median(lengths)) if lengths else 6_000

    @cached_property
    def launch_name(self) -> str:
        """The call that launches kernels here, most of the time."""
        names = [self.names[row] for row in self.calls if "Launch" in self.names[row]]
        kinds, counts = np.unique(np.array(names, dtype=str), return_counts=True)
        return str(kinds[counts.argmax()]) if names else self.call_name("LaunchKernel")

    def call_args(self, name: str) -> str:
        """Return the args of a call as this trace has them for calls of its name."""
        rows = self.calls[self.names[self.calls] == name]
        return self.args_like(int(rows[0])) if len(rows) else ""

    def kernel_like(self, rng: np.random.Generator, *parts: str) -> tuple[str, str]:
        """Return name and args of a real kernel of the trace whose name has one of some
        parts, the first found; else of one of its shorter half."""
        kernels = self.of("kernel")
        for part in parts:
            found = [row for row in kernels if part in self.names[row]]
            if found:
                row = int(found[int(rng.integers(len(found)))])
                return str(self.names[row]), self.args_like(row)
        short = kernels[np.argsort(self.dur[kernels])[: max(1, len(kernels) // 2)]]
        row = int(short[int(rng.integers(len(short)))])
        return str(self.names[row]), self.args_like(row)

    def category_like(self, name: str, default: str) -> str:
        """Return the category of events of a name here (older traces differ)."""
        found = np.flatnonzero([str(n).startswith(name) for n in self.trace.strings])
        rows = np.flatnonzero(np.isin(self.trace.columns["name"], found) & self.timed)
        return str(self.categories[rows[0]]) if len(rows) else default

    def args_like(self, row: int, dims: str | None = None) -> str:
        """Return the args of the first row of a row's name, as members for an event
        beside it, without what is that row's alone; with these sizes of inputs, where
        sizes were recorded."""
        given = self._args[int(self.trace.columns["name"][row])]
        kept = {k: v for k, v in given.items() if k.lower() not in _OF_ONE_EVENT}
        for key in ("Input Dims", "Input type", "Input Strides"):
            if key in kept:
                del kept[key]
                if dims is not None and key == "Input Dims":
                    kept[key] = json.loads(dims)
        return json.dumps(kept)[1:-1]

    @cached_property
    def _args(self) -> dict[int, dict[str, Any]]:
        # By the id of the name. One pass over the file: each row asked for alone
        # would take another.
        rows = self.of(
            "cpu_op",
            "kernel",
            "gpu_memcpy",
            "gpu_memset",
            "cuda_runtime",
            "cuda_driver",
        )
        ids, firsts = np.unique(self.trace.columns["name"][rows], return_index=True)
        texts = self.trace.read_args(list(map(int, rows[firsts])))
        return {
            int(i): json.loads(text) if text else {}
            for i, text in zip(ids, texts, strict=True)
        }
