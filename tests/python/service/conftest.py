# SPDX-License-Identifier: BSD-3-Clause
"""conftest.py: servers as processes of their own, and what asks them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ..conftest import ROOT
from ..ranks.conftest import slow_job as slow_job

for needed in ("fastapi", "uvicorn", "python_multipart", "prometheus_client"):
    pytest.importorskip(needed, reason="the extra server is not installed")


def has_ended(pid: int) -> bool:
    """Tell whether all threads of a child are gone, which has not been waited for."""
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state == "Z" and len(os.listdir(f"/proc/{pid}/task")) == 1


class Server:
    """A server that runs, and its client."""

    def __init__(self, process: subprocess.Popen[str], scratch: Path) -> None:
        assert process.stdout is not None
        self.process = process
        self.scratch = scratch  #: Where it keeps uploads.
        self.line = process.stdout.readline()
        assert self.line.startswith("Serving on http://"), self.stderr()
        self.url = self.line.split()[2].rstrip("/")
        import httpx

        self.client = httpx.Client(base_url=self.url, timeout=60)

    def send(self, *files: tuple[str, bytes], job: bool = False, **more: Any) -> Any:
        """Post files as a form does."""
        route = "/v1/jobs" if job else "/v1/reports"
        parts = [("trace", file) for file in files]
        return self.client.post(route, files=parts, **more)

    def metric(self, name: str) -> float:
        """Return a metric, of all its labels together."""
        text = self.client.get("/metrics").text
        rows = [row for row in text.splitlines() if row.startswith(name)]
        return sum(float(row.rpartition(" ")[2]) for row in rows)

    def load(self) -> tuple[float, float]:
        """Return how many requests run, and how many wait."""
        running, waiting = (f"torchtraceap_serve_{x}" for x in ("running", "waiting"))
        return self.metric(running), self.metric(waiting)

    def children(self) -> list[int]:
        """Return its processes that run."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        pids = [int(pid) for task in tasks for pid in task.read_text().split()]
        return [pid for pid in pids if not has_ended(pid)]

    def uploads(self) -> list[Path]:
        """Return what clients sent and is still there."""
        return [*self.scratch.glob("*/*")]

    def until(self, met: Callable[[], bool]) -> None:
        """Wait for something."""
        end = time.monotonic() + 60
        while not met():
            assert time.monotonic() < end, self.client.get("/metrics").text
            time.sleep(0.02)

    def end(self) -> int:
        """Have it end as a container's does, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def stderr(self) -> str:
        assert self.process.stderr is not None
        self.process.kill()
        return self.process.stderr.read()


@contextmanager
def serving(
    scratch: Path, *arguments: object, poisoned: bool = False, token: str = ""
) -> Iterator[Server]:
    """Start a server on a free port; with ``poisoned`` its children are those of
    poisoned.py."""
    run = ("-m", "tests.python.service.poisoned" if poisoned else "torchtraceap")
    environment = {**os.environ, "TMPDIR": str(scratch)}
    environment |= {"TORCHTRACEAP_TOKEN": token} if token else {}
    process = subprocess.Popen(
        [sys.executable, *run, "serve", "--port", "0", *map(str, arguments)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            server = Server(process, scratch)
            with server.client:
                yield server
        finally:
            process.kill()


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, data: Path, slow_job: Path
) -> Iterator[Server]:
    """A server whose roots are the small traces and a job."""
    scratch = tmp_path_factory.mktemp("scratch")
    arguments = (
        "--root",
        data,
        "--root",
        slow_job.parent,
        "--max-upload-bytes",
        4_000_000,
    )
    with serving(scratch, *arguments, "--workers", 2) as one:
        yield one
        assert one.end() == 0
        assert not [*scratch.iterdir()]
