# SPDX-License-Identifier: BSD-3-Clause
"""probes.py: the one table of calls and of what the host waits for at them."""

from __future__ import annotations

from . import (
    probes_copies,
    probes_indexing,
    probes_layers,
    probes_operators,
    probes_scalars,
    probes_shapes,
    probes_streams,
    probes_training,
)
from .probe import Probe

#: What a part of the table is about, and its rows.
PARTS: dict[str, tuple[Probe, ...]] = {
    "Values that Python asks for": probes_scalars.PROBES,
    "Indexing": probes_indexing.PROBES,
    "Sizes that only the device knows": probes_shapes.PROBES,
    "Copies, and tensors of Python data": probes_copies.PROBES,
    "Random numbers, statistics, linear algebra": probes_operators.PROBES,
    "Layers, losses, sequences": probes_layers.PROBES,
    "Backward passes and optimizers": probes_training.PROBES,
    "Data loaders, streams, events": probes_streams.PROBES,
}

PROBES = [probe for part in PARTS.values() for probe in part]
