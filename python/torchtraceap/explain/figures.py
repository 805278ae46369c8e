# SPDX-License-Identifier: BSD-3-Clause
"""figures.py: the figures of windows that a model is told, of those that there are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from torchtraceap.data.features import Features

#: Columns of `Features` that are shares, and what is said of them; no cause that rules
#: found is among them. Those of the windows' time first, then those of what is named.
#: The order is that of the text.
_FIGURES = (
    ("busy", "device busy"),
    ("late_in_wait", "device idle, host waited for it"),
    ("late_in_loader", "device idle, host waited for the data loader"),
    ("late_in_python", "device idle, host in Python or in nothing recorded"),
    ("late_in_operators", "device idle, host in operators"),
    ("late_in_calls", "device idle, host in runtime calls"),
    ("late_in_memory", "device idle, host took or gave back memory"),
    ("late_in_compile", "device idle, host compiled or loaded code"),
    ("late_in_gc", "device idle, host collected garbage"),
    ("delivery", "device idle after a launch"),
    ("communication_exposed", "communication with no computation beside it"),
    ("copying_exposed", "copies with no kernel beside them"),
    ("queued_ahead", "four launches and more queued"),
    ("waiting", "a host thread waited for the device"),
    ("in_loader", "of host time: data loader"),
    ("in_compile", "host compiled or loaded code"),
    ("in_gc", "host collected garbage"),
    ("in_optimizer", "host in the optimizer"),
    ("in_memory", "of host time: device memory calls"),
    ("in_collectives", "of host time: collectives"),
    ("in_python", "host in Python or in nothing recorded"),
    ("copies_pageable", "of host copies: pageable"),
    ("copies_blocking", "of host copies: blocking"),
    ("copies_small", "of copies: under 64 KiB"),
    ("copy_time", "of device time: copies"),
    ("kernels_short_time", "of kernel time: kernels shorter than a launch"),
    ("kernels_matrix", "of kernel time: matrix products"),
    ("kernels_elementwise", "of kernel time: elementwise"),
    ("kernels_in_graph", "of kernels: in CUDA graphs"),
    ("grids_small", "of kernel time: fewer blocks than multiprocessors"),
    ("occupancy", "kernels' occupancy"),
    ("repeats", "of events: repeat the one before"),
    ("reads", "of operators: the host reads a value"),
    ("fills", "of operators: fill with zeros or ones"),
    ("op_copies", "of operators: copies and casts"),
    ("compiled", "of operators: of torch.compile"),
)
_LEAST = 0.02


def window_figures(features: Features, windows: Sequence[int], most: int) -> list[str]:
    """Return the largest figures of some windows, averaged by how long these are: the
    device's busy time, and so many others that are 2 % and more."""
    rows = features.windows[list(windows)].astype(np.float64)
    column = {name: rows[:, i] for i, name in enumerate(features.columns)}
    shares: dict[str, float] = {}
    for name, text in _FIGURES:
        known = ~np.isnan(column[name])
        if known.any():
            # Ratios to the median window: right up to what all have in common.
            length = np.exp2(column["length_ratio"][known]) - 1
            weight = np.maximum(length, 1e-9)
            shares[text] = float(np.average(column[name][known], weights=weight))
    busy = _FIGURES[0][1]
    kept = sorted(shares, key=lambda text: -shares[text])
    kept = [text for text in kept if text != busy and shares[text] >= _LEAST][:most]
    return [
        f"{text} {100 * share:.0f} %"
        for text, share in shares.items()
        if text == busy or text in kept
    ]
