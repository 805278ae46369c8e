# SPDX-License-Identifier: BSD-3-Clause
"""peer.py: the other rank, as this process sees it.

A process of its own (peer_rank.py), behind a link that takes ``LATENCY_S`` for a
message and has ``BYTES_A_SECOND``. It is one for all runs of this process, as there can
be one default group.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import torch.distributed as dist
from torch import Tensor

LATENCY_S = 50e-6
BYTES_A_SECOND = 100e6
PATIENCE_S = 20


class Peer:
    """The other rank: started by the first that joins, ended by the last to leave."""

    def __init__(self) -> None:
        self.users = 0

    def join(self) -> None:
        if self.users:
            self.users += 1
            return
        self.folder = TemporaryDirectory()
        store = Path(self.folder.name, "store").as_uri()
        script = Path(__file__).with_name("peer_rank.py")
        command = [sys.executable, str(script), store]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)
        dist.init_process_group("gloo", init_method=store, rank=0, world_size=2)
        self.users = 1

    def leave(self) -> None:
        self.users -= 1
        if self.users:
            return
        self.process.stdin.close()
        try:
            self.process.wait(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:  # A run broke, and it waits for a collective.
            self.process.kill()
            self.process.wait()
        dist.destroy_process_group()
        self.folder.cleanup()

    def ask(self, kind: str, part: Tensor) -> None:
        """Have the other rank take part in a collective over ``part``."""
        seconds = LATENCY_S + part.nbytes / BYTES_A_SECOND
        self.process.stdin.write(f"{kind} {part.numel()} {seconds:.9f}\n")
        self.process.stdin.flush()


PEER = Peer()
