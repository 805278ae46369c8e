# SPDX-License-Identifier: BSD-3-Clause
"""cuda_runtime.py: stands for torch.cuda.cudart() and torch.cuda.nvtx's module in C."""

from __future__ import annotations

import enum
from typing import Any

from torchtraceap_dryrun.facade.host import Host
from torchtraceap_dryrun.facade.memory_figures import MemoryFigures


class CudaError(enum.IntEnum):
    """Results of calls; all of a dry run succeed."""

    success = 0


class Cudart:
    """The functions of the CUDA runtime that torch.cuda.cudart() has."""

    cudaError = CudaError

    def __init__(self, host: Host, memory: MemoryFigures) -> None:
        self._host = host
        self.cudaMemGetInfo = memory.info

    def cudaGetErrorString(self, error: CudaError) -> str:
        """Say what a result means."""
        return "no error" if error == CudaError.success else "unknown error"

    def cudaProfilerStart(self) -> CudaError:
        """Do nothing: no profiler of CUDA can be attached."""
        return CudaError.success

    cudaProfilerStop = cudaProfilerStart

    def cudaHostRegister(self, *_: int) -> CudaError:
        """Say that memory is pinned now; copies do not see that."""
        self._host.note("memory that cudaHostRegister() pins counts as not pinned")
        return CudaError.success

    def cudaHostUnregister(self, *_: int) -> CudaError:
        """Say that memory is not pinned any more."""
        return CudaError.success


class Nvtx:
    """Ranges that no profiler sees."""

    def __init__(self) -> None:
        self._depth = 0
        self._ranges = 0

    def rangePushA(self, _: str) -> int:
        """Return how deep the range lies, from 0."""
        self._depth += 1
        return self._depth - 1

    def rangePop(self) -> int:
        """Return how deep the range that ends lies; -1: there was none."""
        self._depth = max(-1, self._depth - 1)
        depth, self._depth = self._depth, max(0, self._depth)
        return depth

    def rangeStartA(self, _: str) -> int:
        """Return the number of a range that begins."""
        self._ranges += 1
        return self._ranges

    def rangeEnd(self, _: int) -> None:
        """End a range."""

    def markA(self, _: str) -> None:
        """Mark a moment."""

    def deviceRangeStart(self, *_: Any) -> object:
        """Return what `deviceRangeEnd` takes."""
        return object()

    def deviceRangeEnd(self, *_: Any) -> None:
        """End a range on the device."""
