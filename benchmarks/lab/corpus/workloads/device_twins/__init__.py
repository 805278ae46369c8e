# SPDX-License-Identifier: BSD-3-Clause
"""device_twins: twins that give the device its work badly.

Too many small kernels, too slow kernels, memory taken and given back. For the
comments ``# cause: NAME`` see host_twins.py; for what a twin's places are, see
workloads/strength.py.
"""

from __future__ import annotations

from benchmarks.lab.corpus.workloads.device_twins.compiling import (
    Compiles,
    CompilesInPieces,
)
from benchmarks.lab.corpus.workloads.device_twins.loops import (
    ScalesRowByRow,
    ScalesTogether,
    UnrollsLstm,
)
from benchmarks.lab.corpus.workloads.device_twins.updates import (
    AdamOneByOne,
    AdamTogether,
)

__all__ = [
    "AdamOneByOne",
    "AdamTogether",
    "Compiles",
    "CompilesInPieces",
    "ScalesRowByRow",
    "ScalesTogether",
    "UnrollsLstm",
]
