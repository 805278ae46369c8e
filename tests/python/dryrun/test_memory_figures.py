# SPDX-License-Identifier: BSD-3-Clause
"""test_memory_figures.py: what torch.cuda.memory_* answer in a dry run."""

from __future__ import annotations

import torch
from torch.cuda import memory_allocated  # bound before any run

from torchtraceap.dryrun.waits.sync_ops import BY_OPERATOR

from .told import Told

_MIB = 2**20


def test_memory_is_that_of_the_tensors(told: Told) -> None:
    told.use(3 * _MIB)
    told.use(1 * _MIB)
    assert memory_allocated() == _MIB == torch.accelerator.memory_allocated()
    assert torch.cuda.max_memory_allocated() == 3 * _MIB
    assert torch.cuda.memory_reserved() == 3 * _MIB  # kept for later
    assert torch.cuda.mem_get_info() == (80 * 2**30 - 3 * _MIB, 80 * 2**30)
    assert torch.accelerator.get_memory_info() == torch.cuda.mem_get_info()
    assert " 3072 KiB |" in torch.cuda.memory_summary()
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == _MIB
    assert torch.cuda.memory_stats()["num_ooms"] == 0
    assert torch.cuda.memory_snapshot() == []


def test_cache_is_emptied_with_a_wait_if_it_holds_something(told: Told) -> None:
    torch.cuda.empty_cache()
    assert not told.waits
    told.use(3 * _MIB)
    told.use(_MIB)
    torch.cuda.empty_cache()
    assert told.waits == ["torch.cuda.empty_cache"]
    assert told.waits[0] in BY_OPERATOR
    assert torch.cuda.memory_reserved() == _MIB
    torch.cuda.empty_cache()
    assert len(told.waits) == 1
    told.use(2 * _MIB)
    assert torch.cuda.memory_reserved() == 2 * _MIB


def test_limits_of_the_allocator(told: Told) -> None:
    torch.cuda.set_per_process_memory_fraction(0.5)
    assert torch.cuda.get_per_process_memory_fraction() == 0.5
    with torch.cuda.memory.caching_allocator_disabled():
        pass
    assert torch.cuda.get_allocator_backend() == "native"
    torch.cuda.ipc_collect()
    torch.cuda.reset_accumulated_memory_stats()
