# SPDX-License-Identifier: BSD-3-Clause
"""load.py: what many clients of `torchtraceap serve` wait, and what it takes.

    python -m benchmarks.serve.load TRACE... [--clients 32] [--requests 512]

Server and clients are on this machine, so they share its processors. Each client sends
the traces in turn, one request after the other. Prints times and memory as ratios of
one analysis: of a request to an idle server, of a process `torchtraceap analyze`.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import os
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_ALONE = 5  # Requests of one client, for each trace.
_HEADERS = {"Content-Type": "application/gzip"}


class Asked(NamedTuple):
    """A request that was answered."""

    status: int
    seconds: float


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[int, int]]:
    """Start a server; give its process and its port."""
    command = [sys.executable, "-m", "torchtraceap", "serve", "--port", "0"]
    with subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            yield process.pid, int(line.split()[2].rstrip("/").rpartition(":")[2])
        finally:
            process.terminate()


def ask(client: http.client.HTTPConnection, body: bytes) -> Asked:
    """Send a trace, and read its report."""
    begin = time.monotonic()
    client.request("POST", "/v1/reports", body, _HEADERS)
    answer = client.getresponse()
    answer.read()
    return Asked(answer.status, time.monotonic() - begin)


def ask_all(port: int, bodies: Sequence[bytes], clients: int, most: int) -> list[Asked]:
    """Have clients send traces until there were as many requests."""
    left = iter(range(most))
    lock = threading.Lock()

    def work(number: int) -> list[Asked]:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        own = itertools.islice(itertools.cycle(bodies), number, None)
        made = []
        while True:
            with lock:
                if next(left, None) is None:
                    return made
            made.append(ask(client, next(own)))

    with ThreadPoolExecutor(clients) as pool:
        return [one for made in pool.map(work, range(clients)) for one in made]


def peak_mb(pid: int) -> float:
    """Return the most memory that a process has taken so far."""
    text = Path(f"/proc/{pid}/status").read_text()
    (line,) = (line for line in text.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def children_of(pid: int) -> list[int]:
    """Return the processes that a process started."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    own = [int(one) for one in text.split()]
    # Threads start them, too.
    for task in Path(f"/proc/{pid}/task").iterdir():
        own += [int(one) for one in (task / "children").read_text().split()]
    return sorted({*own})


def analyzed_mb(traces: Sequence[str]) -> float:
    """Return the most memory that `torchtraceap analyze` takes for a trace."""
    peaks = []
    for trace in traces:
        command = [sys.executable, "-m", "torchtraceap", "analyze", trace]
        command += ["--json", os.devnull, "--quiet", "--detector", "off"]
        process = subprocess.Popen(command)
        peaks.append(os.wait4(process.pid, 0)[2].ru_maxrss / 1024)
    return max(peaks)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("traces", nargs="+")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--requests", type=int, default=512)
    options = parser.parse_args()
    bodies = [Path(trace).read_bytes() for trace in options.traces]
    one_mb = analyzed_mb(options.traces)
    with serving("--queue", str(options.clients)) as (pid, port):
        ask_all(port, bodies, 2, 2 * len(bodies))  # Starts the children.
        begun_mb = peak_mb(pid)
        alone = [a.seconds for a in ask_all(port, bodies, 1, _ALONE * len(bodies))]
        begin = time.monotonic()
        asked = ask_all(port, bodies, options.clients, options.requests)
        seconds = time.monotonic() - begin
        server_mb = peak_mb(pid)
        children = [peak_mb(child) for child in children_of(pid)]
    one = statistics.mean(alone)
    good = sorted(a.seconds for a in asked if a.status == 200)
    p50, p95 = good[len(good) // 2], good[int(len(good) * 0.95)]
    rate, child_mb = len(good) / seconds, max(children)
    print(
        f"statuses: {dict(Counter(a.status for a in asked))}",
        f"one request alone: {one:.3f} s; {options.clients} clients:",
        f"  p50 {p50:.2f} s, {p50 / one:.1f} times; p95 {p95:.2f} s, {p95 / one:.1f}",
        f"  {rate:.1f} reports/s, {rate * one:.2f} times those of one client",
        f"one analysis: {one_mb:.0f} MB",
        f"{len(children)} children: {child_mb:.0f} MB at most, "
        f"{child_mb / one_mb:.2f} times each",
        f"server: {begun_mb:.0f} MB at first, {server_mb:.0f} MB at most, "
        f"{server_mb / one_mb:.2f} times",
        sep="\n",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
