# SPDX-License-Identifier: BSD-3-Clause
"""probes.py: the one table of calls and of what the host waits for at them."""

from __future__ import annotations

from . import probes_steps, probes_tensors, probes_values
from .probe import Probe

#: What a part of the table is about, and its rows.
PARTS: dict[str, tuple[Probe, ...]] = {
    "Values that Python asks for": probes_values.SCALARS,
    "Indexing": probes_tensors.INDEXING,
    "Sizes that only the device knows": probes_tensors.SHAPES,
    "Copies, and tensors of Python data": probes_values.COPIES,
    "Random numbers, statistics, linear algebra": probes_tensors.OPERATORS,
    "Layers, losses, sequences": probes_steps.LAYERS,
    "Backward passes and optimizers": probes_steps.TRAINING,
    "Data loaders, streams, events": probes_steps.STREAMS,
}

PROBES = [probe for part in PARTS.values() for probe in part]
