# SPDX-License-Identifier: BSD-3-Clause
"""window_bounds.py: the most that patterns could save of windows nobody took them out
of.

A bound is what the device works on in the window that the pattern's fix is about, and
what it idles there as the host is on such operators: fewer kernels are fewer launches
to wait for as well. It is meant to be generous, but is no proof: of 2,243 windows of
simulated runs into which a pattern was put 3 % save over 0.02 more, two thirds of these
in one run, where the fix shifts time between neighbors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from torchtraceap import _core

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
        features: Of the windows, as Features.windows. Where one that is needed is NaN,
            the time it is about is taken to be all on what the fix removes.
        begin, end: Of the windows, in ns of the trace's clock.
        device: Of the windows; what has none gets 1, as nothing is known of it.
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
