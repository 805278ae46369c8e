# SPDX-License-Identifier: BSD-3-Clause
"""ddp.py: DistributedDataParallel and DataParallel in a dry run. Loads torch.

The Python part of both is torch's own; the C++ functions that it calls are replaced.
The reducer puts gradients into buckets while backward makes them, and sums each over
all ranks, on NCCL's stream, as soon as it is full, in the order of buckets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import comm

from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.device.tensors import CUDA, mark_pinned
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.private_names import private
from torchtraceap_dryrun.record_writer import RecordWriter


@contextmanager
def installed(recorder: RecordWriter) -> Iterator[None]:
    """Let modules be wrapped for several ranks, or GPUs; ``recorder`` of the run."""
    with Replacements() as replaced:
        replaced.set(dist, "Reducer", partial(Reducer, recorder))
        replaced.set(dist, "Logger", Logger)
        replaced.set(dist, "_broadcast_coalesced", _broadcast)
        replaced.set(dist, "_verify_params_across_processes", _verify)
        replaced.set(dist, "_register_comm_hook", Reducer.register_hook)
        replaced.set(dist, "_register_builtin_comm_hook", lambda *_: None)
        replaced.set(comm, "scatter", _scatter)
        yield


class Logger:
    """Replaces `torch.distributed.Logger`, which reports DDP's own figures."""

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


def _refuse(what: str, instead: str) -> Callable[..., NoReturn]:
    """Return what raises DryRunError for a part of DDP."""

    def refused(*_: Any) -> NoReturn:
        raise DryRunError(
            f"DistributedDataParallel{what} cannot be run dry: for it, {instead}"
        )

    return refused


_refuse_sparse = _refuse(
    " of layers with sparse gradients (nn.Embedding with sparse=True)",
    "make them dense",
)
_refuse_join = _refuse(
    ".join(), of ranks that run out of inputs,", "take join(enable=False)"
)
_refuse_mixed_precision = _refuse(
    "(mixed_precision=...)", "leave it out, and take torch.autocast if need be"
)


@dataclass
class Bucket:
    """Gradients that are summed at once; the argument of a communication hook."""

    number: int
    params: list[Tensor]
    indices: list[int]
    memory: Tensor
    views: list[Tensor]
    pending: set[int]
    last: bool
    work: Any = None

    def index(self) -> int:
        return self.number

    def buffer(self) -> Tensor:
        return self.memory

    def gradients(self) -> list[Tensor]:
        return self.views

    def parameters(self) -> list[Tensor]:
        return self.params

    def is_last(self) -> bool:
        return self.last

    def set_buffer(self, buffer: Tensor) -> None:
        self.memory.copy_(buffer)


def buckets_of(params: Sequence[Tensor], places: list[list[int]]) -> list[Bucket]:
    """Make buckets, with memory for the gradients: ``places`` has those of the
    parameters in each bucket, in the order in which buckets are summed."""
    buckets = []
    for number, indices in enumerate(places):
        inside = [params[index] for index in indices]
        sizes = [one.numel() for one in inside]
        memory = inside[0].new_empty(sum(sizes), requires_grad=False)
        pieces = zip(inside, memory.split(sizes), strict=True)
        views = [piece.view(one.shape) for one, piece in pieces]
        last = number == len(places) - 1
        buckets.append(Bucket(number, inside, indices, memory, views, set(), last))
    return buckets


def unreached(params: Sequence[Tensor], outputs: Sequence[Tensor]) -> set[int]:
    """Return the places of parameters that had no part in making ``outputs``."""
    reached, seen = set(), set()
    nodes = [one.grad_fn for one in outputs if one.grad_fn is not None]
    while nodes:
        node = nodes.pop()
        if node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            reached.add(id(node.variable))
        nodes += [one for one, _ in node.next_functions if one is not None]
    return {at for at, one in enumerate(params) if id(one) not in reached}


def agree(group: Any, like: Tensor, size: int) -> None:
    """Send ``size`` numbers from the first rank to all, and read them."""
    numbers = like.new_empty(size, dtype=torch.int32, requires_grad=False)
    numbers.copy_(torch.zeros(size, dtype=torch.int32), non_blocking=True)
    group.broadcast([numbers], dist.BroadcastOptions()).wait()
    numbers.cpu()


Hook = Callable[[Any, Any], torch.futures.Future[Any]]


class Reducer:
    """Replaces `torch.distributed.Reducer`; its arguments follow ``recorder``."""

    def __init__(
        self,
        recorder: RecordWriter,
        parameters: Sequence[Tensor],
        bucket_indices: list[list[int]],
        _limits: Any,
        group: Any,
        expect_sparse: list[bool],
        bucket_bytes: int,
        find_unused: bool,
        as_view: bool,
        _names: Any = None,
        first_bytes: int = 1 << 20,
        *rest: Any,
    ) -> None:
        if any(expect_sparse):
            _refuse_sparse()
        self._recorder = recorder
        self._params, self._group = list(parameters), group
        self._find_unused, self._as_view = find_unused, as_view
        # An empty or missing list means these.
        said = rest[2] if len(rest) > 2 else None
        self._limits = said or [first_bytes, bucket_bytes]
        self._hook: Hook | None = None
        self._hook_state: Any = None
        self._static = self._expected = self._rebuilt = False
        self._order: list[int] = []
        self._unused: set[int] = set()
        self._make_buckets(bucket_indices)
        self._handles = [
            one.register_post_accumulate_grad_hook(partial(self._on_grad, index))
            for index, one in enumerate(self._params)
        ]

    def _make_buckets(self, bucket_indices: list[list[int]]) -> None:
        self._buckets = buckets_of(self._params, bucket_indices)
        self._place = {
            index: (bucket, view)
            for bucket in self._buckets
            for index, view in zip(bucket.indices, bucket.views, strict=True)
        }

    def prepare_for_backward(self, outputs: list[Tensor]) -> None:
        """Expect gradients: of all parameters, or of those that ``outputs`` need."""
        self._expected, self._next = True, 0
        for bucket in self._buckets:
            bucket.pending = set(bucket.indices)
        self._unused = set()
        if self._find_unused and outputs:
            self._unused = unreached(self._params, outputs)
        if not self._rebuilt:
            self._order = []

    def _on_grad(self, index: int, _: Tensor) -> None:
        if not self._expected:
            return
        self._order.append(index)
        if self._static and not self._rebuilt:
            return  # All are summed at the end of the first backward.
        self._mark({index} | self._unused)

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def _mark(self, indices: set[int]) -> None:
        for index in sorted(indices):
            bucket, view = self._place[index]
            if index in bucket.pending:
                self._to_bucket(self._params[index], view)
                bucket.pending.discard(index)
        while self._next < len(self._buckets) and not self._buckets[self._next].pending:
            self._reduce(self._buckets[self._next])
            self._next += 1
            if self._next == len(self._buckets):
                if self._find_unused and not self._static:
                    self._reduce_used()
                engine = private("torch.autograd.Variable._execution_engine")
                engine.queue_callback(self._finish)

    def _to_bucket(self, param: Tensor, view: Tensor) -> None:
        grad, share = param.grad, 1 / self._group.size()
        if grad is None:
            view.zero_()
        elif grad.untyped_storage()._cdata == view.untyped_storage()._cdata:
            if self._hook is None:
                view.div_(self._group.size())
        elif self._hook is None:
            torch.mul(grad, share, out=view)
        else:
            view.copy_(grad)
        if self._as_view and grad is not None:
            param.grad = view

    def _reduce(self, bucket: Bucket) -> None:
        if self._hook is None:
            bucket.work = self._group.allreduce(
                [bucket.memory], dist.AllreduceOptions()
            )
        else:
            bucket.work = self._hook(self._hook_state, bucket)

    def _reduce_used(self) -> None:
        used = torch.ones(len(self._params), dtype=torch.int32)
        self._used = self._params[0].new_empty(used.shape, dtype=torch.int32)
        self._used.copy_(mark_pinned(used), non_blocking=True)
        self._used_work = self._group.allreduce([self._used], dist.AllreduceOptions())

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def _finish(self) -> None:
        self._expected = False
        with self._recorder.in_backward():
            self._take_back()

    def _take_back(self) -> None:
        if self._unused:
            self._used_work.wait()  # Was it used on another rank?
            self._used.cpu()
        for bucket in self._buckets:
            result = bucket.work.wait()
            if isinstance(result, Tensor) and result is not bucket.memory:
                bucket.memory.copy_(result)
            for param, view in zip(bucket.params, bucket.views, strict=True):
                if not self._as_view and param.grad is not None:
                    param.grad.copy_(view)

    def _delay_all_reduce(self) -> None:
        with self._recorder.in_backward():
            self._mark(set(range(len(self._params))))

    def _rebuild_buckets(self) -> bool:
        """Put gradients into buckets in the order in which they came, once."""
        dynamic = self._find_unused and not self._static
        if self._rebuilt or dynamic or not self._order:
            return False
        self._rebuilt = True
        assign = private("torch.distributed._compute_bucket_assignment_by_size")
        ordered = [self._params[index] for index in self._order]
        indices, _ = assign(ordered, self._limits, [False] * len(ordered), self._order)
        for _ in ("indices", "sizes"):
            agree(self._group, self._params[0], len(self._params))
        self._make_buckets(indices)
        return True

    def register_hook(self, state: Any, hook: Hook) -> None:
        self._hook, self._hook_state = hook, state

    def _set_static_graph(self) -> None:
        self._static = True

    def _remove_autograd_hooks(self) -> None:
        for handle in self._handles:
            handle.remove()

    def _ignore(self, *_: Any) -> None:
        """Replace functions without an effect on the work of a GPU."""

    _set_forward_pass_work_handle = _refuse_join
    _set_mixed_precision_param_dtype = _refuse_mixed_precision
    set_logger = prepare_for_forward = _set_optimizer_in_backward = _ignore
    _check_reducer_finalized = _set_ddp_runtime_logging_sample_rate = _ignore
