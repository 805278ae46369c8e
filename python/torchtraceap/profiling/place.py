# SPDX-License-Identifier: BSD-3-Clause
"""place.py: which of a program's processes this is."""

from __future__ import annotations

import os
import sys


def rank() -> int | None:
    """Returns the rank of this process among several, None if it is alone."""
    distributed = sys.modules.get("torch.distributed")
    if distributed and distributed.is_available() and distributed.is_initialized():
        alone = distributed.get_world_size() == 1
        return None if alone else int(distributed.get_rank())
    number = os.environ.get("RANK", "")  # as torchrun sets it
    alone = os.environ.get("WORLD_SIZE", "1") == "1"
    return int(number) if number.isdecimal() and not alone else None


def file_stem(name: str, step: int) -> str:
    """Returns the name of a cycle's files, as in "report-rank1-step5"."""
    parts = [name]
    if (number := rank()) is not None:
        parts.append(f"rank{number}")
    if (worker := _loader_worker()) is not None:
        parts.append(f"worker{worker}")
    if step:
        parts.append(f"step{step}")
    return "-".join(parts)


def _loader_worker() -> int | None:
    data = sys.modules.get("torch.utils.data")
    info = data.get_worker_info() if data else None
    return None if info is None else int(info.id)
