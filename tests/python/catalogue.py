# SPDX-License-Identifier: BSD-3-Clause
"""catalogue.py: all faults in one list, in the order of their numbers."""

from __future__ import annotations

from .faults import bytes as bytes_
from .faults import (
    container,
    documents,
    extremes,
    fields,
    hostile,
    ids,
    layout,
    numbers,
    rows,
    scale,
    spans,
    strings,
    syntax,
    times,
)
from .faults.variant import Variant

TABLES = (
    *(bytes_, documents, layout, container, strings, numbers, syntax, extremes),
    *(times, spans, ids, fields, rows, scale, hostile),
)
VARIANTS = [variant for table in TABLES for variant in table.VARIANTS]


def name_of(variant: Variant) -> str:
    return f"{variant.fault} {variant.name}"
