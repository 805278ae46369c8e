# SPDX-License-Identifier: BSD-3-Clause
"""worker.py: a process that reduces one trace after another, for reducing.py.

What is read and written are pickles between a process and its own child, each behind
its length in eight bytes: first the options, then paths, each answered with its records
or an exception. It ends when its parent does, however that ended.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from typing import IO, Any


def send(stream: IO[bytes], what: object) -> None:
    """Write an object whole."""
    data = pickle.dumps(what)
    stream.write(len(data).to_bytes(8, "little") + data)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read an object; EOFError at the end, or where it is cut off."""
    head = stream.read(8)
    size = int.from_bytes(head, "little")
    data = stream.read(size) if len(head) == 8 else b""
    if len(head) < 8 or len(data) < size:
        raise EOFError
    return pickle.loads(data)


def watch_parent() -> None:
    """Have this process end within a second of the one that started it, whatever
    ended that and whatever is being read."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    watch_parent()
    from torchtraceap.ranks.analyzed_ranks import analyzed_ranks
    from torchtraceap.ranks.rank_record import record_of

    # The parent says when it is over, also on Ctrl-C, which reaches the whole group.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # what a library prints is no answer
    loading, plan = receive(requests)
    while True:
        try:
            path = receive(requests)
        except EOFError:
            return
        try:
            reports = analyzed_ranks(path, loading, plan)
            answer: object = [record_of(report) for report in reports]
        except Exception as error:
            answer = error
        send(answers, answer)
