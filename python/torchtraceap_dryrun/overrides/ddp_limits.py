# SPDX-License-Identifier: BSD-3-Clause
"""ddp_limits.py: what of DistributedDataParallel cannot be run dry. Loads torch."""

from __future__ import annotations

from typing import Any

import torch

from torchtraceap.base.errors import DryRunError


def refuse_sparse(expected: list[bool]) -> None:
    """Raise DryRunError if a parameter is to have sparse gradients."""
    if any(expected):
        raise DryRunError(
            "DistributedDataParallel of layers with sparse gradients (nn.Embedding "
            "with sparse=True) cannot be run dry: make them dense for the dry run"
        )


def refuse_join(*_: Any) -> None:
    """Raise DryRunError for `DistributedDataParallel.join`."""
    raise DryRunError(
        "DistributedDataParallel.join() cannot be run dry: which ranks run out of "
        "inputs is not known. Take join(enable=False) for the dry run"
    )


def refuse_mixed_precision(_: Any, dtype: torch.dtype) -> None:
    """Raise DryRunError for parameters that DDP itself keeps in another type."""
    raise DryRunError(
        "DistributedDataParallel(mixed_precision=...) cannot be run dry: leave it out "
        f"for the dry run, with torch.autocast if products are to be in {dtype}"
    )
