# SPDX-License-Identifier: BSD-3-Clause
"""far_rank.py STORE BYTES_A_SECOND SIZE...: rank 1 of 2, behind a slow network.

Each byte on standard input asks for a reduction: its value is a place in SIZE, the
numbers of elements. This rank takes part once the bytes have had time to arrive, one
reduction after the other, and adds zeros. It waits without working, so that it leaves
the processor to rank 0 as a rank on another machine would.
"""

from __future__ import annotations

import sys
import time

import torch
import torch.distributed as dist


def main() -> None:
    """Serve until standard input ends."""
    store, rate, *sizes = sys.argv[1:]
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=store, rank=1, world_size=2)
    zeros = [torch.zeros(int(size)) for size in sizes]
    while request := sys.stdin.buffer.read(1):
        part = zeros[request[0]]
        time.sleep(part.nbytes / float(rate))
        dist.all_reduce(part)
        part.zero_()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
