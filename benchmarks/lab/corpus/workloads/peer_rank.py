# SPDX-License-Identifier: BSD-3-Clause
"""peer_rank.py STORE: rank 1 of 2, behind a slow network.

Each line on standard input asks for a collective: its kind (``sum`` or ``copy``), its
number of elements, and how long its bytes are on their way, in seconds. This rank takes
part once they have had time to arrive, one after the other, and adds zeros. It waits
without working, so that it leaves the processor to rank 0 as a rank on another machine
would.
"""

from __future__ import annotations

import sys
import time

import torch
import torch.distributed as dist


def main() -> None:
    """Serve until standard input ends."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=sys.argv[1], rank=1, world_size=2)
    for line in sys.stdin:
        kind, count, seconds = line.split()
        time.sleep(float(seconds))
        part = torch.zeros(int(count))
        if kind == "sum":
            dist.all_reduce(part)
        else:
            dist.broadcast(part, src=0)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
