# SPDX-License-Identifier: BSD-3-Clause
"""gpus.py: the GPUs that a dry run can simulate: the core's table of them.

Rates are those that data sheets promise for dense matrices at boost clock;
kernel_time.py has the share that a kernel reaches. The rules judge by the same table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torchtraceap import _core


@dataclass(frozen=True)
class Gpu:
    """A GPU as its data sheet describes it."""

    name: str
    driver_name: str  #: As torch.cuda.get_device_name says it.
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


# A PCIe 3.0 link of 16 lanes of 8 GT/s, 128 of 130 bits: PCI Express Base 3.0. Each
# generation doubles it.
_PCIE3 = 15.75e9


def _row(core: _core.Gpu) -> Gpu:
    return Gpu(
        core.name,
        core.driver_name,
        core.memory_bytes,
        core.bandwidth_gb_s * 1e9,
        {name: rate * 1e12 for name, rate in core.peak_teraflops.items()},
        core.multiprocessors,
        core.clock_ghz * 1e9,
        core.compute_capability,
        core.l2_bytes,
        core.threads_per_multiprocessor,
        _PCIE3 * 2 ** (core.pcie_generation - 3),
    )


_ROWS = tuple(_row(core) for core in _core.gpus() if core.name)

#: All of them by name.
GPUS: Mapping[str, Gpu] = {row.name: row for row in _ROWS}


def gpu(name: str) -> Gpu:
    """Return a GPU by its name, in any case; "H100" means "H100 SXM".

    Raises:
        ValueError: Unknown name; the message lists the known ones.
        TypeError: It is not a string.
    """
    if not isinstance(name, str):
        raise TypeError(f"gpu must be a name such as 'H100', but is {name!r}")
    wanted = " ".join(name.casefold().split())
    for row in _ROWS:
        known = row.name.casefold()
        if wanted in (known, known.removesuffix(" sxm"), known.removeprefix("rtx ")):
            return row
    raise ValueError(f"no GPU {name!r}; known are {', '.join(GPUS)}")
