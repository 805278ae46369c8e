# SPDX-License-Identifier: BSD-3-Clause
"""device_properties.py: the properties of the simulated GPU in torch.cuda."""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass
from typing import Any, NoReturn

from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.estimate.gpus import Gpu

#: The versions of CUDA, cuDNN and NCCL if this torch was built without them.
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
    """Return the properties that a driver would report for a GPU."""
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
    """Raise CUDA's error for a device that a machine with one GPU does not have."""
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


def _returning(value: Any) -> Any:
    return lambda *_, **__: value


class Remembered:
    """What a program sets, and asks for again; it changes nothing."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def set(self, value: Any) -> None:
        self._value = value

    def get(self) -> Any:
        return self._value


class Device:
    """The functions of torch._C that choose a device and describe it."""

    one = staticmethod(_returning(1))
    index = staticmethod(_returning(0))
    yes = staticmethod(_returning(True))
    no = staticmethod(_returning(False))
    #: For that of which a GPU would have nothing to show either.
    nothing = staticmethod(_returning(None))
    nccl_suffix = staticmethod(_returning(b""))

    def __init__(self, gpu: Gpu) -> None:
        self._properties = properties_of(gpu)
        self._process = os.getpid()
        #: Waits are listed in any case, and none raises.
        self.sync_debug_mode = Remembered(0)
        self.benchmark_limit = Remembered(10)  # As torch sets it.
        self.workspace = Remembered(0)

    def select(self, index: int) -> None:
        check_device(index)

    def exchange(self, index: int) -> int:
        check_device(index)
        return -1 if index < 0 else 0

    def is_forked(self) -> bool:
        """Say that this is a child process, which cannot use its parent's GPU."""
        return os.getpid() != self._process

    def properties(self, index: int) -> DeviceProperties:
        check_device(index)
        return self._properties

    def architectures(self) -> str:
        """Name what this torch was compiled for: the device, at least."""
        return f"sm_{self._properties.major}{self._properties.minor}"

    def accelerator(self) -> Any:
        """Return the device of torch.accelerator; it has no index."""
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

    def nccl_version(self) -> int:
        """Return the version of NCCL, in three numbers of 16 bits."""
        major, minor, patch = NCCL_VERSION
        return major << 32 | minor << 16 | patch
