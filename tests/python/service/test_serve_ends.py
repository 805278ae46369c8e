# SPDX-License-Identifier: BSD-3-Clause
"""test_serve_ends.py: crashes, limits of time, full queues, lost clients, SIGTERM."""

from __future__ import annotations

import errno
import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

from torchtraceap.service import pool
from torchtraceap.service.app import make_app
from torchtraceap.service.settings import Settings

from ..trace_builder import op, trace_of
from .conftest import Server, serving

GOOD = ("good.json", trace_of(op("aten::mm", 5, 9)))
CRASH, HANG = ("crash.json", b"{}"), ("hang.json", b"{}")
LOST = 'torchtraceap_serve_children_lost{why="'


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def test_a_crash_costs_one_request(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", 1, poisoned=True) as server:
        for _ in range(2):
            assert server.send(GOOD).status_code == 200
            answer = server.send(CRASH)
            assert (answer.status_code, answer.json()["kind"]) == (500, "crashed")
        assert server.metric(f'{LOST}crashed"') == 2
        answer = server.send(("large.json", b"{}"))
        assert (answer.status_code, answer.json()["kind"]) == (413, "memory")
        assert server.metric(f'{LOST}crashed"') == 2
        server.send(CRASH)  # A child that has only such answers left.
        # So does one that the system ends while it is idle.
        server.send(GOOD)
        (child,) = server.children()
        os.kill(child, signal.SIGKILL)
        server.until(lambda: server.children() != [child])
        assert server.send(GOOD).status_code == 200
        assert not server.uploads()


def test_a_failure_of_the_server_itself(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", 1, poisoned=True) as server:
        answer = server.send(("odd.json", b"{}"))
        assert (answer.status_code, answer.json()["kind"]) == (500, "internal")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert server.metric("torchtraceap_serve_requests_total{") >= 1
        assert 'status="500"' in server.client.get("/metrics").text
        log = server.stderr()
        assert "a request failed" in log and str(tmp_path) not in answer.text


def test_a_child_that_cannot_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(pool, "Child", refuse)
    app = make_app(Settings(), str(tmp_path))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        for _ in range(2):
            answer = client.post("/v1/reports", files=[("trace", GOOD)])
            assert (answer.status_code, answer.json()["kind"]) == (503, "no_process")
        assert "serve_running 0.0" in client.get("/metrics").text
    assert not [*tmp_path.iterdir()]


def test_an_analysis_that_takes_too_long(tmp_path: Path) -> None:
    limit = ("--max-seconds", 0.3)
    with serving(tmp_path, "--workers", 1, *limit, poisoned=True) as server:
        answer = server.send(HANG)
        assert (answer.status_code, answer.json()["kind"]) == (504, "time_limit")
        assert server.metric(f'{LOST}time"') == 1
        assert server.load() == (0, 0)
        # So does a body that never ends.
        with socket.create_connection(("127.0.0.1", int(server.url[-5:]))) as slow:
            slow.sendall(
                b"POST /v1/reports HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
            )
            assert slow.recv(100).startswith(b"HTTP/1.1 408 ")
        assert not server.uploads()


@pytest.mark.verify
def test_connections_without_a_request_end(tmp_path: Path) -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with serving(tmp_path, poisoned=True) as server:
        for sent, answers in ((b"", 0), (request[:30], 0), (request + request[:30], 1)):
            with socket.create_connection(("127.0.0.1", int(server.url[-5:]))) as one:
                one.settimeout(30)
                one.sendall(sent)
                got = b"".join(iter(lambda: one.recv(4096), b""))
                assert got.count(b"HTTP/1.1 200") == answers
        # Nor does one last whose body was not read; its client reads why.
        answer = server.client.post("/v1/reports", content=b"x" * 600_000_000)
        assert answer.status_code == 413 and answer.headers["connection"] == "close"


def test_more_connections_than_allowed(tmp_path: Path) -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with serving(tmp_path, poisoned=True) as server, ExitStack() as idle:

        def connected() -> socket.socket:
            return socket.create_connection(("127.0.0.1", int(server.url[-5:])))

        def answer() -> bytes:
            with connected() as one, suppress(ConnectionError):
                one.sendall(request)
                return one.recv(100)
            return b""

        assert server.client.get("/healthz").status_code == 200
        for _ in range(19):  # The client's is kept.
            idle.enter_context(connected())
        assert answer() == b""
        assert server.client.get("/healthz").status_code == 200
        server.until(lambda: answer().startswith(b"HTTP/1.1 200 "))
        server.process.terminate()
        assert server.process.wait(60) == 0 and server.stderr() == ""


def test_a_full_queue(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    mark = tmp_path / "mark"
    wait = ("wait.json", str(mark).encode())
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    arguments = ("--workers", 1, "--queue", 1)
    with serving(scratch, *arguments, poisoned=True) as server:
        sent = [threads.submit(server.send, wait) for _ in range(2)]
        server.until(lambda: server.load() == (1, 1))
        answer = server.send(GOOD)
        assert (answer.status_code, answer.json()["kind"]) == (429, "busy")
        assert int(answer.headers["retry-after"]) > 0
        assert server.client.get("/healthz").status_code == 200
        mark.touch()
        assert [one.result().text for one in sent] == ["done", "done"]
        assert server.send(GOOD).status_code == 200


def test_a_client_that_goes(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    with serving(tmp_path, "--workers", 1, poisoned=True) as server:
        for number in (1, 2):
            with httpx.Client(base_url=server.url, timeout=0.5) as client:
                files = [("trace", HANG)]
                sent = threads.submit(client.post, "/v1/reports", files=files)
                with pytest.raises(httpx.ReadTimeout):
                    sent.result()
            server.until(
                lambda n=number: server.metric(f'{LOST}canceled"') == n  # type: ignore[misc]
            )
        server.until(lambda: not server.uploads())
        assert server.send(GOOD).status_code == 200
        # In the middle of a body, too.
        with socket.create_connection(("127.0.0.1", int(server.url[-5:]))) as gone:
            gone.sendall(
                b"POST /v1/reports HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
            )
            server.until(lambda: server.load() == (0, 1))
        server.until(lambda: server.load() == (0, 0))
        assert not server.uploads()


def test_sigterm_finishes_what_was_begun(
    tmp_path: Path, threads: ThreadPoolExecutor
) -> None:
    mark = tmp_path / "mark"
    wait = ("wait.json", str(mark).encode())
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with serving(scratch, "--workers", 1, poisoned=True) as server:
        sent = [threads.submit(server.send, wait) for _ in range(2)]
        server.until(lambda: server.load() == (1, 1))
        ended = threads.submit(server.end)
        server.until(lambda: not answers(server))
        mark.touch()
        assert [one.result().text for one in sent] == ["done", "done"]
        assert ended.result() == 0
        assert server.stderr() == "" and not [*scratch.iterdir()]


def test_uploads_of_a_killed_server(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        (own,) = tmp_path.iterdir()
        (own / "upload").touch()
        with serving(tmp_path):
            assert server.uploads()  # Those of one that runs are left.
        server.process.kill()
        server.process.wait()
        with serving(tmp_path) as third:
            assert not own.exists()
            (own,) = tmp_path.iterdir()
            own.rmdir()
            assert third.client.get("/readyz").status_code == 503
            answer = third.send(GOOD)
            assert (answer.status_code, answer.json()["kind"]) == (507, "storage")
            assert str(tmp_path) not in answer.text


def test_sigterm_as_soon_as_it_serves(tmp_path: Path) -> None:
    for _ in range(3):
        with serving(tmp_path) as server:
            assert server.end() == 0
            assert server.stderr() == "" and not [*tmp_path.iterdir()]


def test_sigterm_does_not_wait_for_ever(
    tmp_path: Path, threads: ThreadPoolExecutor
) -> None:
    with serving(tmp_path, "--workers", 1, "--end-seconds", 1, poisoned=True) as server:
        sent = threads.submit(server.send, HANG)
        server.until(lambda: server.load() == (1, 0))
        assert server.end() == 0
        with pytest.raises(httpx.HTTPError):  # 503, unless it is closed before.
            sent.result().raise_for_status()
        assert "Traceback" not in server.stderr() and not [*tmp_path.iterdir()]


def answers(server: Server) -> bool:
    """Whether a new connection is accepted."""
    try:
        socket.create_connection(("127.0.0.1", int(server.url[-5:]))).close()
    except OSError:
        return False
    return True
