# SPDX-License-Identifier: BSD-3-Clause
"""host_twins_ranks.py: twins that share their gradients with another rank.

The other rank (peer.py) adds zeros, so that the training stays the same. For the
comments ``# cause: NAME`` see host_twins.py.
"""

from __future__ import annotations

import functools

import torch
import torch.distributed as dist
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.families import Batch
from benchmarks.lab.corpus.workloads.peer import PEER
from benchmarks.lab.corpus.workloads.training import Lab, Training

BUCKET_BYTES = 100_000


def flat(tensors: list[Tensor]) -> Tensor:
    return torch.cat([tensor.flatten() for tensor in tensors])


def put_back(whole: Tensor, tensors: list[Tensor]) -> None:
    """Write what ``flat`` made into the tensors that it was made of."""
    parts = whole.split([tensor.numel() for tensor in tensors])
    for tensor, part in zip(tensors, parts, strict=True):
        tensor.copy_(part.view_as(tensor))


class Ranked(Training):
    """Trains beside another rank."""

    def __init__(self, lab: Lab) -> None:
        PEER.join()
        super().__init__(lab)

    def close(self) -> None:
        PEER.leave()

    def gradients(self) -> list[Tensor]:
        """Return the gradients, the last parameter's first, as backward has them."""
        return [p.grad for p in reversed(list(self.model.parameters()))]


class SumsTogether(Ranked):
    """Sums all gradients in one collective."""

    def adjust(self) -> None:
        self.sum_together(self.gradients())

    def sum_together(self, tensors: list[Tensor]) -> None:
        if tensors:
            PEER.ask("sum", whole := flat(tensors))
            dist.all_reduce(whole)
            put_back(whole, tensors)


class SumsSingly(SumsTogether):
    """Sums gradient after gradient; its places are the parameters."""

    def adjust(self) -> None:
        gradients = self.gradients()
        count = self.lab.share(len(gradients))
        for grad in gradients[:count]:
            PEER.ask("sum", grad)
            dist.all_reduce(grad)  # cause: sums_singly
        self.sum_together(gradients[count:])


class SumsInFlight(SumsTogether):
    """Starts a sum for each gradient, then waits for all; its places likewise."""

    def adjust(self) -> None:
        gradients = self.gradients()
        count = self.lab.share(len(gradients))
        works = []
        for grad in gradients[:count]:
            PEER.ask("sum", grad)
            works.append(dist.all_reduce(grad, async_op=True))  # cause: sums_in_flight
        for work in works:
            work.wait()
        self.sum_together(gradients[count:])


class SpreadsTogether(Ranked):
    """Sends its parameters to the other rank before each step, in one collective."""

    def fetch(self) -> Batch:
        self.spread([p.detach() for p in self.model.parameters()])
        return super().fetch()

    def spread(self, tensors: list[Tensor]) -> None:
        if tensors:
            PEER.ask("copy", whole := flat(tensors))
            dist.broadcast(whole, src=0)


class SpreadsSingly(SpreadsTogether):
    """Sends one after the other; its places are the parameters."""

    def spread(self, tensors: list[Tensor]) -> None:
        count = self.lab.share(len(tensors))
        for tensor in tensors[:count]:
            PEER.ask("copy", tensor)
            dist.broadcast(tensor, src=0)  # cause: spreads_singly
        super().spread(tensors[count:])


class SumsBeside(Ranked):
    """Sums each bucket as soon as backward has filled it, beside the rest of it."""

    late = False

    def make_model(self) -> nn.Module:
        model = super().make_model()
        self.buckets = buckets_of(list(model.parameters()))
        for i, bucket in enumerate(self.buckets):
            for p in bucket:
                p.register_post_accumulate_grad_hook(functools.partial(self.take, i))
        self.begin()
        return model

    def begin(self) -> None:
        self.missing = list(map(len, self.buckets))
        self.sums: dict[int, tuple[Tensor, dist.Work]] = {}

    def take(self, bucket: int, _: Tensor) -> None:
        self.missing[bucket] -= 1
        if not self.missing[bucket] and not (self.late and self.lab.takes(bucket)):
            self.send(bucket)

    def send(self, bucket: int) -> None:
        PEER.ask("sum", whole := flat([p.grad for p in self.buckets[bucket]]))
        self.sums[bucket] = whole, dist.all_reduce(whole, async_op=True)

    def adjust(self) -> None:
        for i, bucket in enumerate(self.buckets):
            if i not in self.sums:
                self.send(i)
            whole, work = self.sums[i]
            work.wait()  # cause: sums_after_backward
            put_back(whole, [p.grad for p in bucket])
        self.begin()


class SumsAfter(SumsBeside):
    """Sums buckets when backward has ended; its places are the buckets."""

    late = True


class SumsOnTheWay(SumsBeside):
    """Waits in backward for the sum of each bucket; its places are the buckets."""

    def send(self, bucket: int) -> None:
        super().send(bucket)
        if self.lab.takes(bucket):
            self.sums[bucket][1].wait()  # cause: sums_in_backward


class LossesBeside(Ranked):
    """Sums the losses of all ranks for a log while backward runs."""

    words = 2_000  # What else is logged of a sample.

    def reduce(self, losses: Tensor, source: Tensor) -> Tensor:
        self.log = losses.detach().repeat(self.words)
        PEER.ask("sum", self.log)
        self.work = dist.all_reduce(self.log, async_op=True)
        self.look()
        return losses.mean()

    def look(self) -> None:
        """Do what has to be done before backward."""

    def finish(self, losses: Tensor) -> Tensor:
        self.work.wait()
        return losses.detach()


class LossesFirst(LossesBeside):
    """Waits for the sum before backward; its places are the steps."""

    def look(self) -> None:
        if self.lab.takes(self.taken - 1):
            self.work.wait()  # cause: losses_before_backward


def buckets_of(parameters: list[nn.Parameter]) -> list[list[nn.Parameter]]:
    """Put parameters together, the last first, until a bucket has BUCKET_BYTES."""
    out: list[list[nn.Parameter]] = [[]]
    for p in reversed(parameters):
        if sum(q.nbytes for q in out[-1]) >= BUCKET_BYTES:
            out.append([])
        out[-1].append(p)
    return out
