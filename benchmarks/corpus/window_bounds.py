# SPDX-License-Identifier: BSD-3-Clause
"""window_bounds.py: the most that patterns could save of windows nobody took them out
of.

Each bound is a time that the pattern works with, as a share of the window: no fix saves
more of a window than its device worked on what the fix is about.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from torchtraceap import _core

#: What a kernel that only copies or converts has in its name.
_COPYING = ("copy", "batched_transpose", "nchwToNhwc", "nhwcToNchw", "LoadWithCast")
#: Products of an attention that is written out.
_BATCHED = ("aten::bmm", "aten::baddbmm")

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

    Args:
        trace: The run's.
        columns: Names of the features.
        features: Of the windows, as Features.windows.
        begin, end: Of the windows, in ns of the trace's clock.
        device: Of the windows; what has none gets 1, as nothing is known of it.
    """
    place = {name: i for i, name in enumerate(columns)}

    def feature(name: str) -> np.ndarray:
        return np.asarray(features[:, place[name]], np.float64)

    busy = feature("busy")

    # The time of kernels; where two run at once it is more than what goes with them.
    def of_kernels(name: str) -> np.ndarray:
        return busy * np.nan_to_num(feature(name))

    names = np.array(trace.strings, dtype=object)
    copying = np.array([any(part in n for part in _COPYING) for n in names], bool)
    inside = np.array(["DtoD" in n or "Device -> Device" in n for n in names], bool)
    softmax = np.array(["softmax" in n.lower() for n in names], bool)
    elementwise, matrix = (
        of_kernels("kernels_elementwise"),
        of_kernels("kernels_matrix"),
    )

    def share(kinds: tuple[str, ...], named: np.ndarray) -> np.ndarray:
        return _share(trace, kinds, named, begin, end, device)

    attention = np.minimum(elementwise + matrix + share(("kernel",), softmax), busy)
    if not any(name in trace.strings for name in _BATCHED):
        attention = np.zeros(len(busy))
    found = {
        "fusible_chain": elementwise,
        "redundant_d2d": share(("kernel",), copying) + share(("gpu_memcpy",), inside),
        "unfused_attention": attention,
        "small_grid": of_kernels("grids_small"),
        "misaligned_gemm": matrix,
        "exposed_copy": feature("copying_exposed"),
    }
    return {
        name: np.where(device < 0, 1.0, np.nan_to_num(bound, nan=1.0)).clip(0, 1)
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
