# SPDX-License-Identifier: BSD-3-Clause
"""ddp.py: DistributedDataParallel and DataParallel in a dry run. Loads torch.

The Python part of both is torch's own; what it calls in C++ is stood in for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import comm

from torchtraceap_dryrun.device.tensors import CUDA
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.overrides.reducer import Reducer, agree
from torchtraceap_dryrun.private_names import private
from torchtraceap_dryrun.record_writer import RecordWriter


class Logger:
    """Stands for `torch.distributed.Logger`, which tells of DDP's own figures."""

    def __init__(self, _: Reducer) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: None


def _broadcast(
    group: Any, tensors: Sequence[Tensor], size: int, source: int = 0
) -> None:
    """Send tensors to all ranks, as many at once as ``size`` bytes hold."""
    assign = private("torch.distributed._compute_bucket_assignment_by_size")
    options = dist.BroadcastOptions()
    options.rootRank = source
    sent = []
    with torch.no_grad():
        for indices in assign(list(tensors), [size])[0]:
            parts = [tensors[index] for index in indices]
            flat = [one.contiguous().view(-1) for one in parts]
            whole = flat[0] if len(flat) == 1 else torch.cat(flat)
            sent.append((parts, whole, group.broadcast([whole], options)))
        for parts, whole, work in sent:
            work.wait()
            pieces = whole.split([one.numel() for one in parts])
            for one, piece in zip(parts, pieces, strict=True):
                one.copy_(piece.view(one.shape), non_blocking=True)


def _verify(group: Any, params: Sequence[Tensor], _: Any = None) -> None:
    """Compare the sizes of parameters with those of the first rank."""
    agree(group, params[0], sum(one.dim() for one in params))


def _scatter(tensor: Tensor, *_: Any, **__: Any) -> tuple[Tensor, ...]:
    return (tensor.to(CUDA, non_blocking=True),)


def _hook(reducer: Reducer, state: Any, hook: Any) -> None:
    reducer.register_hook(state, hook)


@contextmanager
def installed(recorder: RecordWriter) -> Iterator[None]:
    """Let modules be wrapped for several ranks, or GPUs; ``recorder`` of the run."""
    with Replacements() as replaced:
        replaced.set(dist, "Reducer", partial(Reducer, recorder))
        replaced.set(dist, "Logger", Logger)
        replaced.set(dist, "_broadcast_coalesced", _broadcast)
        replaced.set(dist, "_verify_params_across_processes", _verify)
        replaced.set(dist, "_register_comm_hook", _hook)
        replaced.set(dist, "_register_builtin_comm_hook", lambda *_: None)
        replaced.set(comm, "scatter", _scatter)
        yield
