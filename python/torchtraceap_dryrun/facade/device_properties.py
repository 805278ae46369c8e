# SPDX-License-Identifier: BSD-3-Clause
"""device_properties.py: what torch.cuda tells of the one GPU that there seems to be."""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from torchtraceap.base.errors import DryRunError

if TYPE_CHECKING:
    from torchtraceap_dryrun.estimate.gpus import Gpu

#: What CUDA, cuDNN and NCCL say of themselves if this torch was built without them.
CUDA_VERSION, CUDNN_VERSION, NCCL_VERSION = "13.0", 91900, (2, 28, 9)


@dataclass(frozen=True)
class DeviceProperties:
    """As torch.cuda.get_device_properties gives them.

    What the data sheet does not say is what all GPUs since Volta have in common.
    """

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    max_threads_per_multi_processor: int
    L2_cache_size: int
    warp_size: int = 32
    regs_per_multiprocessor: int = 65536
    shared_memory_per_block: int = 49152
    max_threads_per_block: int = 1024
    is_integrated: int = 0
    is_multi_gpu_board: int = 0
    pci_bus_id: int = 0
    pci_device_id: int = 0
    pci_domain_id: int = 0
    uuid: uuid.UUID = uuid.UUID(int=0)  # noqa: RUF009

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"a dry run knows no {name} of {self.name}: it is on no data sheet"
        )


def properties_of(gpu: Gpu) -> DeviceProperties:
    """Return what a driver would tell of a GPU."""
    return DeviceProperties(
        name=gpu.driver_name,
        major=gpu.compute_capability[0],
        minor=gpu.compute_capability[1],
        total_memory=gpu.memory_bytes,
        multi_processor_count=gpu.multiprocessors,
        max_threads_per_multi_processor=gpu.threads_per_multiprocessor,
        L2_cache_size=gpu.l2_bytes,
    )


def check_device(index: int) -> None:
    """Raise what CUDA raises for a device that a machine with one GPU has not."""
    if index > 0:
        import torch

        raise torch.AcceleratorError(
            "CUDA error: invalid device ordinal\n"
            f"GPU device may be out of range: cuda:{index} was asked for, and a dry "
            "run has one GPU, cuda:0"
        )


def refuse(what: str, instead: str) -> Any:
    """Return a function that raises DryRunError for what a dry run cannot do."""

    def refused(*_: object, **__: object) -> NoReturn:
        raise DryRunError(f"{what} cannot be had in a dry run: {instead}")

    return refused


class Device:
    """The functions of torch._C that choose a device and tell of it."""

    def __init__(self, gpu: Gpu) -> None:
        self._properties = properties_of(gpu)
        self._process = os.getpid()
        self._sync_debug_mode = 0
        self._benchmark_limit = 10  # as torch sets it
        self._workspace = 0

    def one(self, *_: object) -> int:
        """Say how many devices there are."""
        return 1

    def index(self) -> int:
        """Say which device is current."""
        return 0

    def select(self, index: int) -> None:
        """Make a device the current one."""
        check_device(index)

    def exchange(self, index: int) -> int:
        """Make a device the current one, and return the one that was."""
        check_device(index)
        return -1 if index < 0 else 0

    def yes(self, *_: object) -> bool:
        """Say yes."""
        return True

    def no(self, *_: object) -> bool:
        """Say no."""
        return False

    def nothing(self, *_: object, **__: object) -> None:
        """Do nothing, where a GPU would have nothing to show for it either."""

    def is_forked(self) -> bool:
        """Say that this is a child process, which cannot use its parent's GPU."""
        return os.getpid() != self._process

    def properties(self, index: int) -> DeviceProperties:
        """Return what is known of the device."""
        check_device(index)
        return self._properties

    def architectures(self) -> str:
        """Name what this torch was compiled for: the device, at least."""
        return f"sm_{self._properties.major}{self._properties.minor}"

    def accelerator(self) -> Any:
        """Return the device that torch.accelerator stands for; it has no index."""
        import torch

        return torch.device("cuda")

    def capability(self, _: int) -> dict[str, Any]:
        """Return which data types the device holds: all of them."""
        import torch

        types = {kind for kind in vars(torch).values() if isinstance(kind, torch.dtype)}
        return {"supported_dtypes": types}

    def compiled_version(self) -> int:
        """Return the version of CUDA as one number, such as 13000."""
        major, minor = CUDA_VERSION.split(".")
        return 1000 * int(major) + 10 * int(minor)

    def set_sync_debug_mode(self, mode: int) -> None:
        """Remember the mode; a dry run lists waits in any case, and raises for none."""
        self._sync_debug_mode = mode

    def sync_debug_mode(self) -> int:
        """Return the mode last set."""
        return self._sync_debug_mode

    def set_benchmark_limit(self, limit: int) -> None:
        """Remember how many algorithms cuDNN is to try; it tries none."""
        self._benchmark_limit = limit

    def benchmark_limit(self) -> int:
        """Return what was last set."""
        return self._benchmark_limit

    def set_workspace(self, size: int) -> None:
        """Remember the size of a workspace of cuBLAS; there is none."""
        self._workspace = size

    def workspace(self) -> int:
        """Return what was last set."""
        return self._workspace

    def nccl_version(self) -> int:
        """Return the version of NCCL, in three numbers of 16 bits."""
        major, minor, patch = NCCL_VERSION
        return major << 32 | minor << 16 | patch

    def nccl_suffix(self) -> bytes:
        """Return what follows the version of NCCL."""
        return b""
