# SPDX-License-Identifier: BSD-3-Clause
"""gpus.py: the GPUs that a dry run can stand for, by their makers' data sheets.

Rates are those that the sheets promise for dense matrices at boost clock; what a kernel
reaches of them is said in kernel_time.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_GIB = 2**30
_GB = 1e9
_TERA = 1e12


@dataclass(frozen=True)
class Gpu:
    """A GPU as its data sheet describes it."""

    name: str
    memory_bytes: int  #: All of it; a driver keeps about 1 % for itself.
    bandwidth_bytes_per_s: float  #: Of its memory.
    #: Peak FLOP/s by data type as torch names it, and "tf32"; with tensor cores where
    #: they are used without being asked for: "float32" is without.
    flops: Mapping[str, float]
    multiprocessors: int
    clock_hz: float  #: Boost.
    compute_capability: tuple[int, int]
    l2_bytes: int
    threads_per_multiprocessor: int
    #: To and from the host, one way, by the generation of PCIe with 16 lanes.
    link_bytes_per_s: float

    def peak(self, dtype: str) -> float:
        """Return the peak FLOP/s for a data type.

        TF32 and bfloat16 run as float32 where there is no hardware for them; so is
        counted whatever the table does not name.
        """
        return self.flops.get(dtype, self.flops["float32"])


def _rates(**tera: float) -> dict[str, float]:
    rates = {name: rate * _TERA for name, rate in tera.items()}
    if "float8" in rates:
        fast = rates.pop("float8")
        rates |= dict.fromkeys(("float8_e4m3fn", "float8_e5m2"), fast)
    return rates


_PCIE3 = 15.75 * _GB  # 16 lanes of 8 GT/s, 128 of 130 bits: PCI Express Base 3.0.
_PCIE4 = 2 * _PCIE3
_PCIE5 = 4 * _PCIE3

_ROWS = (
    # NVIDIA T4 Tensor Core GPU data sheet; multiprocessors and cache: NVIDIA Turing
    # architecture white paper.
    Gpu(
        "T4", 16 * _GIB, 320 * _GB,
        _rates(float64=0.25, float32=8.1, float16=65, int8=130),
        40, 1.59e9, (7, 5), 4 * 2**20, 1024, _PCIE3,
    ),
    # NVIDIA V100 data sheet (SXM2, 32 GB); cache: NVIDIA Tesla V100 architecture
    # white paper.
    Gpu(
        "V100", 32 * _GIB, 900 * _GB,
        _rates(float64=7.8, float32=15.7, float16=125),
        80, 1.53e9, (7, 0), 6 * 2**20, 2048, _PCIE3,
    ),
    # NVIDIA RTX A6000 data sheet; rates without sparsity: NVIDIA Ampere GA102
    # architecture white paper.
    Gpu(
        "RTX A6000", 48 * _GIB, 768 * _GB,
        _rates(
            float64=0.6, float32=38.7, tf32=77.4, float16=154.8, bfloat16=154.8,
            int8=309.7,
        ),
        84, 1.80e9, (8, 6), 6 * 2**20, 1536, _PCIE4,
    ),
    # NVIDIA Ada GPU architecture white paper, appendix A; sums in float32.
    Gpu(
        "RTX 4090", 24 * _GIB, 1008 * _GB,
        _rates(
            float64=1.3, float32=82.6, tf32=82.6, float16=165.2, bfloat16=165.2,
            float8=330.3, int8=660.6,
        ),
        128, 2.52e9, (8, 9), 72 * 2**20, 1536, _PCIE4,
    ),
    # NVIDIA A100 data sheet (80 GB, SXM); cache: NVIDIA A100 architecture white paper.
    Gpu(
        "A100", 80 * _GIB, 2039 * _GB,
        _rates(
            float64=19.5, float32=19.5, tf32=156, float16=312, bfloat16=312, int8=624,
        ),
        108, 1.41e9, (8, 0), 40 * 2**20, 2048, _PCIE4,
    ),
    # NVIDIA A100 data sheet (40 GB, SXM).
    Gpu(
        "A100 40GB", 40 * _GIB, 1555 * _GB,
        _rates(
            float64=19.5, float32=19.5, tf32=156, float16=312, bfloat16=312, int8=624,
        ),
        108, 1.41e9, (8, 0), 40 * 2**20, 2048, _PCIE4,
    ),
    # NVIDIA H100 data sheet (SXM), halved where it counts sparsity; multiprocessors
    # and cache: NVIDIA H100 architecture white paper.
    Gpu(
        "H100 SXM", 80 * _GIB, 3350 * _GB,
        _rates(
            float64=67, float32=67, tf32=494.5, float16=989.5, bfloat16=989.5,
            float8=1979, int8=1979,
        ),
        132, 1.98e9, (9, 0), 50 * 2**20, 2048, _PCIE5,
    ),
    # NVIDIA H200 data sheet (SXM), halved where it counts sparsity: the processor of
    # the H100 with other memory.
    Gpu(
        "H200", 141 * _GIB, 4800 * _GB,
        _rates(
            float64=67, float32=67, tf32=494.5, float16=989.5, bfloat16=989.5,
            float8=1979, int8=1979,
        ),
        132, 1.98e9, (9, 0), 50 * 2**20, 2048, _PCIE5,
    ),
)  # fmt: skip

#: All of them by name.
GPUS: Mapping[str, Gpu] = {row.name: row for row in _ROWS}


def gpu(name: str) -> Gpu:
    """Return a GPU by its name, in any case; "H100" means "H100 SXM".

    Raises:
        ValueError: None is called so; names those that are known.
        TypeError: It is no text.
    """
    if not isinstance(name, str):
        raise TypeError(f"gpu must be a name such as 'H100', but is {name!r}")
    wanted = " ".join(name.casefold().split())
    for row in _ROWS:
        known = row.name.casefold()
        if wanted in (known, known.removesuffix(" sxm"), known.removeprefix("rtx ")):
            return row
    raise ValueError(f"no GPU {name!r}; known are {', '.join(GPUS)}")
