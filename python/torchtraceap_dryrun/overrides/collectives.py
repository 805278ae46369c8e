# SPDX-License-Identifier: BSD-3-Clause
"""collectives.py: `torch.distributed` in one process, without NCCL. Loads torch.

`init_process_group` makes a group of as many ranks as the program, its environment or
the run says, of which only one is there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.cuda.nccl
import torch.distributed as dist
from torch.distributed import distributed_c10d

from torchtraceap_dryrun.device.dispatch import Dispatch
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.overrides.process_group import Group
from torchtraceap_dryrun.private_names import private

BACKEND = "torchtraceap"

# What torch 2.13 comes with; it goes into the log of collectives that failed.
NCCL_VERSION = 2, 29, 3

# What torch knows of backends.
_TABLES = (
    "backend_list",
    "backend_capability",
    "backend_type_map",
    "default_device_backend_map",
    "_plugins",
)


def _timeout(_: Any) -> timedelta:
    return timedelta(minutes=10)  # NCCL's; nothing here takes time


def _size(named: int, variable: str, default: int) -> int:
    return named if named >= 0 else int(os.environ.get(variable, default))


@contextmanager
def installed(run: Dispatch, world_size: int) -> Iterator[None]:
    """Let process groups be made, of ``world_size`` ranks if the program and the
    environment (``WORLD_SIZE``) say nothing; groups made inside end with the block."""
    helper = private("torch.distributed.distributed_c10d._new_process_group_helper")
    world = private("torch.distributed.distributed_c10d._world")
    backend = dist.Backend

    def rendezvous(url: str, rank: int = -1, world_size_: int = -1, **_: Any) -> Any:
        there = _size(rank, "RANK", 0), _size(world_size_, "WORLD_SIZE", world_size)
        yield dist.HashStore(), *there

    def make(
        size: int, rank: int, ranks: Any, named: Any, *args: Any, **rest: Any
    ) -> Any:
        rest.pop("device_id", None)
        group, store = helper(size, rank, ranks, backend(BACKEND), *args, **rest)
        if isinstance(group, Group):
            if str(named) != "undefined":
                group.backend = str(named)
            world.pg_map[group] = (group.backend, store)
        return group, store

    def create(_: Any, rank: int, size: int, __: Any) -> Group:
        return Group(run, rank, size)

    before = dist.is_initialized()
    with Replacements() as replaced:
        replaced.set(sys, "excepthook", sys.excepthook)  # a new group changes it
        for table in _TABLES:
            former = getattr(backend, table)
            replaced.set(backend, table, type(former)(former))
        replaced.set(backend, BACKEND.upper(), BACKEND, new=True)
        backend.register_backend(BACKEND, create, devices=["cpu", "cuda"])
        replaced.set(distributed_c10d, "rendezvous", rendezvous)
        replaced.set(distributed_c10d, "_get_default_timeout", _timeout)
        replaced.set(torch.cuda.nccl, "version", lambda: NCCL_VERSION)
        replaced.set(distributed_c10d, "_new_process_group_helper", make)
        try:
            yield
        finally:
            if dist.is_initialized() and not before:
                dist.destroy_process_group()
