# SPDX-License-Identifier: BSD-3-Clause
"""train_ranks.py: a job of a few gloo ranks on this machine, each of which records
itself: python train_ranks.py FOLDER WORLD_SIZE SLOW_RANK MILLISECONDS."""

from __future__ import annotations

import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import profile, schedule
from torch.utils.data import DataLoader, Dataset

BATCH = 16
STEPS = 9  # Of which the last six are recorded.


class Samples(Dataset):
    def __init__(self, delay_s):
        self.delay_s = delay_s

    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, index):
        if self.delay_s and index % BATCH == 0:
            slow_read(self.delay_s)
        return torch.ones(64), index % 10


def slow_read(delay_s):
    time.sleep(delay_s)


def train(rank, folder, world_size, slow_rank, milliseconds):
    torch.set_num_threads(1)
    store = dist.FileStore(f"{folder}.store", world_size)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world_size)
    model = DistributedDataParallel(torch.nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    delay_s = milliseconds / 1000 if rank == slow_rank else 0
    with profile(
        schedule=schedule(wait=1, warmup=2, active=6),
        with_stack=True,
        on_trace_ready=lambda prof: prof.export_chrome_trace(
            f"{folder}/rank{rank}.json"
        ),
    ) as prof:
        for inputs, labels in DataLoader(Samples(delay_s), batch_size=BATCH):
            loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            prof.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    folder, *numbers = sys.argv[1:]
    world_size, slow_rank, milliseconds = map(int, numbers)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    # Forked, so that torch is imported once.
    torch.multiprocessing.start_processes(
        train,
        (folder, world_size, slow_rank, milliseconds),
        nprocs=world_size,
        start_method="fork",
    )
