# SPDX-License-Identifier: BSD-3-Clause
"""waiting_twins.py: twins whose difference shows without a GPU.

Added to those of lab/corpus, which have the common step and its hooks: a twin
replaces one of them. Each computes what its fixed form does.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import time
import warnings
from pathlib import Path
from tempfile import mkdtemp

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from benchmarks.lab.corpus.workloads.families import Batch
from benchmarks.lab.corpus.workloads.host_twins import LoadsInStep, PackedSamples
from benchmarks.lab.corpus.workloads.training import Training

WORKERS = 4  # As the public pair of traces has.
LINK_BYTES_A_SECOND = 15e6  # A slow network: communication takes long, but no work.
BUCKET_BYTES = 60_000
ENLARGED = 10  # Stored images are 10 times as high and wide as those trained on.


class Images(PackedSamples):
    """Images stored compressed and large: each is unpacked, then made smaller."""

    def __init__(self, batches: list[Batch]) -> None:
        large = [
            (functional.interpolate(images, scale_factor=ENLARGED), *rest)
            for images, *rest in batches
        ]
        super().__init__(large)

    def __getitem__(self, index: int) -> Batch:
        image, *rest = super().__getitem__(index)
        return functional.avg_pool2d(image, ENLARGED), *rest


class FarImages(Dataset[Batch]):
    """Images that come from far: to fetch one is to wait, hardly to work."""

    delay_s = 0.001

    def __init__(self, batches: list[Batch]) -> None:
        self.samples = [row for batch in batches for row in zip(*batch, strict=True)]

    def __len__(self) -> int:
        return len(self.samples) * 100_000

    def __getitem__(self, index: int) -> Batch:
        time.sleep(self.delay_s)
        return self.samples[index % len(self.samples)]


class UnpacksInStep(LoadsInStep):
    """Unpacks each batch of images in the training process, between two steps."""

    samples: type[Dataset[Batch]] = Images

    def hold(self, batches: list[Batch]) -> list[Batch]:
        with warnings.catch_warnings():  # That there are more workers than processors.
            warnings.simplefilter("ignore")
            loader = DataLoader(
                self.samples(batches),
                batch_size=self.lab.config["batch"],
                num_workers=self.workers,
                persistent_workers=self.workers > 0,
            )
            self.loaded = iter(loader)
        return []


class UnpacksAhead(UnpacksInStep):
    """Unpacks in worker processes."""

    workers = WORKERS


class FetchesInStep(UnpacksInStep):
    """Fetches images from far, one after the other, between two steps."""

    samples = FarImages


class FetchesAhead(FetchesInStep):
    """Lets worker processes wait for them."""

    workers = WORKERS


class AdamFused(Training):
    """Updates all parameters in one call."""

    def make_optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.model.parameters(), fused=True)


class CastsGradients(Training):
    """Takes every gradient to float64 and back, which changes no bit of it."""

    def adjust(self) -> None:
        for p in self.model.parameters():
            p.grad = p.grad.to(torch.float64).to(torch.float32)


class TokenizesInStep(Training):
    """Works in Python alone before each step, as a tokenizer would."""

    def fetch(self) -> Batch:
        pick_words(60_000)
        return super().fetch()


def pick_words(count: int) -> int:
    """Work in Python alone."""
    total = 0
    for i in range(count):
        total += (i * 2654435761) % 97
    return total


class ReducesAfter(Training):
    """Sums its gradients with another rank's when the backward pass has ended.

    In buckets, in the order in which the pass has them, as DDP does.
    """

    beside = False

    def hold(self, batches: list[Batch]) -> list[Batch]:
        self.buckets = buckets_of(list(self.model.parameters()))
        sizes = [str(sum(p.numel() for p in bucket)) for bucket in self.buckets]
        store = Path(mkdtemp(), "store").as_uri()
        script = Path(__file__).with_name("far_rank.py")
        self.other = subprocess.Popen(
            [sys.executable, str(script), store, str(LINK_BYTES_A_SECOND), *sizes],
            stdin=subprocess.PIPE,
            bufsize=0,
        )
        dist.init_process_group("gloo", init_method=store, rank=0, world_size=2)
        for p, i in ((p, i) for i, bucket in enumerate(self.buckets) for p in bucket):
            p.register_post_accumulate_grad_hook(functools.partial(self.take, i))
        self.begin()
        return super().hold(batches)

    def begin(self) -> None:
        self.missing = [len(bucket) for bucket in self.buckets]
        self.sums: list[tuple[Tensor, dist.Work]] = []

    def take(self, bucket: int, _: Tensor) -> None:
        self.missing[bucket] -= 1
        if self.beside and not self.missing[bucket]:
            self.sums.append(self.send(bucket))

    def send(self, bucket: int) -> tuple[Tensor, dist.Work]:
        flat = torch.cat([p.grad.flatten() for p in self.buckets[bucket]])
        self.other.stdin.write(bytes([bucket]))
        return flat, dist.all_reduce(flat, async_op=True)

    def adjust(self) -> None:
        for i, bucket in enumerate(self.buckets):
            flat, work = self.sums[i] if self.beside else self.send(i)
            work.wait()  # cause: reduces_after_backward
            parts = flat.split([p.numel() for p in bucket])
            for p, part in zip(bucket, parts, strict=True):
                p.grad = part.view_as(p)
        self.begin()

    def close(self) -> None:
        self.other.stdin.close()
        self.other.wait()
        dist.destroy_process_group()


class ReducesBeside(ReducesAfter):
    """Sums each bucket as soon as it is full, beside the rest of the pass."""

    beside = True


def buckets_of(parameters: list[nn.Parameter]) -> list[list[nn.Parameter]]:
    """Put parameters together, the last first, until a bucket has BUCKET_BYTES."""
    out: list[list[nn.Parameter]] = [[]]
    for p in reversed(parameters):
        if sum(q.nbytes for q in out[-1]) >= BUCKET_BYTES:
            out.append([])
        out[-1].append(p)
    return out
