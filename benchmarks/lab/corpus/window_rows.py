# SPDX-License-Identifier: BSD-3-Clause
"""window_rows.py: a run's windows: features, labels, rules."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import torchtraceap
from benchmarks.lab.corpus import runs
from torchtraceap import _core

# --- Upper bounds of the savings in windows that still have their patterns ---------
#
# A bound is what the device works on in the window that the pattern's fix is about, and
# what it idles there as the host is on such operators: fewer kernels are fewer launches
# to wait for as well. It is meant to be generous, but is not a proof: of 2,243 windows
# of simulated runs into which a pattern was put 3 % save over 0.02 more, two thirds of
# these in one run, where the fix shifts time between neighbors.

#: Parts of kernels' names, in lower case, as cpp/features/kind.cpp has them.
_MATRIX = (
    "gemm", "gemv", "cutlass", "nvjet", "cudnn", "winograd", "fmha", "flash", "attn",
    "cijk_", "cublas", "attention", "triton_tem_", "marlin", "convolve", "_conv",
    "conv_", "wgrad", "dgrad", "fprop", "hmma", "wmma",
)  # fmt: skip
#: What runs through memory: arithmetic on elements, and what normalizes.
_STREAMING = (
    "elementwise", "triton_", "multi_tensor", "fillfunctor", "pointwise", "catarray",
    "dropout", "reduce", "softmax", "norm",
)  # fmt: skip
#: Of what only copies or converts.
_COPYING = ("copy", "batched_transpose", "nchwtonhwc", "nhwctonchw", "loadwithcast")
#: Of copies within a device.
_INSIDE = ("dtod", "device -> device")
#: Products of an attention that is written out.
_BATCHED = ("aten::bmm", "aten::baddbmm")
#: Operators that go with one that a fix removes: what calls it, what makes its output.
#: Chosen so that few of those windows save more.
_WITH_ONE = 5

Bounds = dict[str, np.ndarray]


def bounds(
    trace: _core.Trace,
    columns: Sequence[str],
    features: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
    device: np.ndarray,
) -> Bounds:
    """Return, by pattern, the most that each window could save, 0 to 1.

    A pattern that is not in it has no bound: of it nothing is known anywhere.

    Args:
        trace: The run's.
        columns: Names of the features.
        features: Features of the windows, as Features.windows. Where a needed one is
            NaN, the time it is about is taken to be all on what the fix removes.
        begin, end: Times of the windows, in ns of the trace's clock.
        device: Devices of the windows; one without gets 1, as nothing is known of it.
    """
    place = {name: i for i, name in enumerate(columns)}

    def feature(name: str) -> np.ndarray:
        return np.asarray(features[:, place[name]], np.float64)

    def named(*parts: str) -> np.ndarray:
        found = [any(p in n for p in parts) for n in map(str.lower, trace.strings)]
        return np.array(found, bool)

    def share(kinds: tuple[str, ...], names: np.ndarray) -> np.ndarray:
        return _share(trace, kinds, names, begin, end, device)

    def idle(counts: tuple[str, ...], times: tuple[str, ...]) -> np.ndarray:
        """Return the idle time, as far as operators of a class may be behind it."""
        sums = [np.sum([feature(n) for n in some], axis=0) for some in (counts, times)]
        part = np.nan_to_num(_WITH_ONE * np.maximum(*sums), nan=1.0).clip(0, 1)
        late: np.ndarray = np.nan_to_num(1 - feature("busy"), nan=1.0) * part
        return late

    matrix, streaming = named(*_MATRIX), named(*_STREAMING)
    copies = share(("kernel",), named(*_COPYING))
    copies += share(("gpu_memcpy",), named(*_INSIDE))
    found = {
        "fusible_chain": share(("kernel",), streaming & ~matrix)
        + idle(("elementwise", "reductions"), ("elementwise_time",)),
        "redundant_d2d": copies + idle(("op_copies",), ("op_copy_time",)),
        "unfused_attention": np.zeros(len(begin)),
    }
    if any(name in trace.strings for name in _BATCHED):
        found["unfused_attention"] = share(("kernel",), streaming | matrix) + idle(
            ("elementwise", "reductions", "matrix", "op_copies"),
            ("elementwise_time", "matrix_time", "op_copy_time"),
        )
    return {
        name: np.where(device < 0, 1.0, bound).clip(0, 1)
        for name, bound in found.items()
    }


def _share(
    trace: _core.Trace,
    kinds: tuple[str, ...],
    named: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
    device: np.ndarray,
) -> np.ndarray:
    """Return the time of device work of some kinds and names, as a share of windows."""
    c = trace.columns
    wanted = [i for i, kind in enumerate(trace.category_names) if kind in kinds]
    rows = np.isin(c["category"], wanted) & (c["phase"] == b"X") & named[c["name"]]
    out = np.zeros(len(begin))
    for number in np.unique(device[device >= 0]):
        mine = np.flatnonzero(rows & (c["device"] == number))
        mine = mine[np.argsort(c["ts"][mine], kind="stable")]
        # Work done before a moment: full lengths of what has begun, less what is left.
        start = c["ts"][mine].astype(np.int64)
        stop = start + c["dur"][mine]
        here = device == number
        both = [_done(start, stop, edges[here]) for edges in (begin, end)]
        out[here] = (both[1] - both[0]) / np.maximum(end[here] - begin[here], 1)
    return out


def _done(start: np.ndarray, stop: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the time that intervals have been under way for before some moments."""
    total = np.zeros(len(at))
    for edges, sign in ((start, 1), (np.sort(stop), -1)):
        before = np.searchsorted(edges, at, "right")
        sums = np.concatenate([[0], np.cumsum(edges)])
        total += sign * (before * at - sums[before])
    return total


# --- Windows ---------------------------------------------------------------------

POSITIVE_FROM = 0.05
GREY_FROM = 0.02
"""As in measure.py: a saving below the second makes a window no positive there."""

GOOD_BELOW = 0.05
"""A run is good if removing everything at once saves less of its span."""


def patterns() -> list[tuple[str, str]]:
    """Return name and side of the patterns by the columns of features."""
    return [(row.name, row.side) for row in _core.patterns()]


@dataclass(frozen=True)
class Analyzed:
    """What an analysis of a run gives; `fields` are those of compact.py."""

    fields: dict[str, np.ndarray]
    tokens: dict[str, np.ndarray]
    good: bool
    fingerprint: str  #: Of the features' table.
    columns: tuple[str, ...]  #: Names of the features.

    @staticmethod
    def version() -> str:
        """Return what changes when the product's code for this does."""
        return str(Path(_core.__file__).stat().st_mtime_ns)


def analyzed(out: Path, run: runs.Run) -> Analyzed:
    """Analyze a run at the default windows."""
    with warnings.catch_warnings():
        # What is odd about a trace is for its user; here it is part of the data.
        warnings.simplefilter("ignore", UserWarning)
        trace = torchtraceap.load(runs.trace_path(out, run.name))
        report = torchtraceap.analyze(trace)
    features = report.features()
    names = [name for name, _ in patterns()]
    rows = report.windows
    begin = np.array([round(w.start_us * 1000) for w in rows], np.int64)
    end = np.array([round(w.end_us * 1000) for w in rows], np.int64)
    device = [runs.HOST if w.device is None else w.device for w in rows]
    busy = [
        np.nan if w.device is None else w.busy_us / max(w.duration_us, 1e-3)
        for w in rows
    ]
    truth = runs.read_truth(out, run.name)
    at = np.array(device, np.int32)
    most = bounds(trace, features.columns, np.asarray(features.windows), begin, end, at)
    saved, everything = labels(truth, run, names, begin, end, at, most)
    fields = {
        "features": np.asarray(features.windows, np.float32),
        "begin_ns": begin,
        "end_ns": end,
        "device": at,
        "busy": np.array(busy, np.float32),
        "events": np.array([w.events for w in rows], np.int32),
        "saved": saved,
        "saved_all": everything,
        "rules": claimed(rows, names),
    }
    tokens = {"token_begin": features.token_begin, **features.tokens}
    return Analyzed(
        fields, tokens, good(truth), features.fingerprint, tuple(features.columns)
    )


def claimed(rows: Sequence[Any], names: list[str]) -> np.ndarray:
    """Return what a fix saves by window and pattern, as the rules say."""
    found = np.zeros((len(rows), len(names)), np.float32)
    place = {name: i for i, name in enumerate(names)}
    for number, row in enumerate(rows):
        for label in row.labels:
            found[number, place[label.pattern]] = label.saved_fraction
    return found


def labels(
    truth: runs.Truth,
    run: runs.Run,
    names: list[str],
    begin: np.ndarray,
    end: np.ndarray,
    device: np.ndarray,
    most: Bounds,
) -> tuple[np.ndarray, np.ndarray]:
    """Return what goes of each window without each pattern, and without all.

    In a complete run a pattern that is not in the truth saves nothing, except for those
    that may be there as well: patterns that it names unknown, and those that a
    cause's fix removes besides. They are NaN where they could save GREY_FROM or more:
    the bound in `most`, or the saving of the cause there. A pattern that costs
    POSITIVE_FROM is known.

    Of a run that is not complete all that is not in the truth is NaN. So is a pattern
    that was put in wherever the same, as it was found, saves GREY_FROM more, and what
    was put in less than POSITIVE_FROM.
    """
    unknown = 0.0 if run.complete else np.nan
    saved = np.full((len(begin), len(names)), unknown, np.float32)
    everything = np.full(len(begin), unknown, np.float32)
    for (pattern, number), moments in truth.items():
        here = device == number
        share = runs.saved_share(moments, begin[here], end[here])
        if pattern == runs.ALL:
            everything[here] = share
        elif not pattern.startswith(runs.NATURAL_TOO):
            saved[here, names.index(pattern)] = share
    for (pattern, number), moments in truth.items():
        if pattern.startswith(runs.NATURAL_TOO):
            here = np.flatnonzero(device == number)
            share = runs.saved_share(moments, begin[here], end[here])
            at = names.index(pattern.removeprefix(runs.NATURAL_TOO))
            more = share - saved[here, at] >= GREY_FROM
            saved[here[more & (saved[here, at] < POSITIVE_FROM)], at] = np.nan
    if run.complete:
        for pattern, bound in _undecided(truth, run, names, saved, most).items():
            column = saved[:, names.index(pattern)]
            column[(bound >= GREY_FROM) & ~(column >= POSITIVE_FROM)] = np.nan
    return saved, everything


def _undecided(
    truth: runs.Truth,
    run: runs.Run,
    names: list[str],
    saved: np.ndarray,
    most: Bounds,
) -> dict[str, np.ndarray]:
    """Return the patterns that were not removed everywhere, and by window the
    most that each could save."""
    known = {pattern for pattern, _ in truth}
    found = {p: most.get(p, np.ones(len(saved))) for p in run.unknown}
    for cause in run.causes:
        for pattern in set(cause.also) - known - set(run.unknown):
            here = saved[:, names.index(cause.pattern)]
            # Two causes may remove it both.
            found[pattern] = found.get(pattern, 0) + np.nan_to_num(here, nan=1.0)
    return found


def good(truth: runs.Truth) -> bool:
    """Tell whether a run loses next to nothing, on the device that loses most."""
    shares = [
        1 - (after[-1] - after[0]) / max(before[-1] - before[0], 1)
        for (pattern, _), (before, after) in truth.items()
        if pattern == runs.ALL
    ]
    return max(shares, default=0.0) < GOOD_BELOW
