# SPDX-License-Identifier: BSD-3-Clause
"""test_fleet_urls.py: traces behind URLs: of a web server, and of a bucket."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap.fleets.rows import TABLES

from ..ranks.rank_folder import put
from .conftest import read, starved

pytest.importorskip("fsspec")


class _Ranges(SimpleHTTPRequestHandler):
    """A web server that knows ranges of bytes, and keeps what was sent."""

    sent = 0

    def do_GET(self) -> None:
        """Answer with a part of a file, or as usual."""
        path = Path(self.translate_path(self.path))
        if not (asked := self.headers["Range"]) or not path.is_file():
            return super().do_GET()
        data = path.read_bytes()
        first, _, last = asked.removeprefix("bytes=").partition("-")
        part = data[int(first) : int(last or len(data)) + 1]
        type(self).sent += len(part)
        self.send_response(206)
        self.send_header("Content-Length", str(len(part)))
        end = int(first) + len(part) - 1
        self.send_header("Content-Range", f"bytes {first}-{end}/{len(data)}")
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The URL of a server of the folder of this test."""
    handler = partial(_Ranges, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of an empty bucket of a server on this machine."""
    pytest.importorskip("s3fs")
    moto = pytest.importorskip("moto.server")
    server = moto.ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().mkdir("traces")
    yield "s3://traces"
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


def test_a_web_server_gives_the_rows_of_the_folder(
    slow_job: Path, traces: Path, server: str, tmp_path: Path
) -> None:
    """Of a job, whose names and beginnings tell the ranks, and a damaged file."""
    for path in slow_job.iterdir():
        put(traces / "job" / path.name, path.read_bytes())
    cut = put(traces / "cut.json", starved()[:-200])
    os.utime(cut, (1e9, 1e9))  # A web server tells whole seconds.
    here = torchtraceap.fleet(traces, tmp_path / "here")
    there = torchtraceap.fleet(f"{server}/nightly/", tmp_path / "there")
    assert here.found == there.found and _Ranges.sent > 0
    (failure,) = there.failures
    assert failure.why.startswith(f"{server}/nightly/cut.json: the text ends")
    of_the_place = {"trace", "job", "url", "error"}
    for table in TABLES:
        local, remote = (
            sorted(
                str([v for k, v in row.items() if k not in of_the_place])
                for row in read(tmp_path / name, table)
            )
            for name in ("here", "there")
        )
        assert local == remote, table
    assert torchtraceap.fleet(f"{server}/nightly/", tmp_path / "there").done == 0


def test_a_url_that_cannot_be_read_is_a_row(
    traces: Path, server: str, tmp_path: Path
) -> None:
    """Without what gives access, and beside others."""
    gone = f"{server.replace('//', '//user:secret@')}/none.json?sig=secret%2Fx"
    ran = torchtraceap.fleet([gone, str(traces)], tmp_path / "out")
    (failure,) = ran.failures
    assert (ran.done, failure.kind) == (4, "unreachable")
    assert failure.url == f"{server}/none.json" and "secret" not in failure.why
    for row in read(tmp_path / "out"):
        assert "secret" not in str(row)


def test_an_address_of_ipv6_is_no_chain() -> None:
    from torchtraceap.fleets.urls import system_and_path

    assert system_and_path("http://[::1]:8/a.json")[1] == "http://[::1]:8/a.json"
    with pytest.raises(torchtraceap.TraceError, match="a file in another one"):
        system_and_path("simplecache::http://h/a.json")


def test_what_gives_access_to_a_url_is_not_kept(
    traces: Path, server: str, tmp_path: Path
) -> None:
    """Nor does it make another trace of the same."""
    put(traces / "cut.json", starved()[:-200])
    out = tmp_path / "out"
    with_user = server.replace("//", "//user:secret-1@")
    good, bad = "2026-09-15/serve/trace.json?version=1&sig=", "cut.json?sig="
    for name, done in ((good, (1, 0)), (bad, (1, 1))):
        ran = torchtraceap.fleet(f"{with_user}/nightly/{name}secret-2", out)
        assert (ran.done, len(ran.failures)) == done
        assert torchtraceap.fleet(f"{server}/nightly/{name}secret-3", out).done == 0
    assert {row["url"] for row in read(out)} == {
        f"{server}/nightly/2026-09-15/serve/trace.json?version=1",
        f"{server}/nightly/cut.json",
    }
    for path in out.rglob("*"):
        assert path.is_dir() or b"secret-" not in path.read_bytes(), path


def test_a_bucket_is_read_again_where_an_object_changed(
    bucket: str, tmp_path: Path
) -> None:
    """By the etag: an object of the same size is another one."""
    import s3fs

    store = s3fs.S3FileSystem()
    out = tmp_path / "out"
    for name in ("a/trace.json", "b/trace.json.gz"):
        store.pipe_file(f"{bucket}/ci/{name}", starved(model="first"))
    assert torchtraceap.fleet(f"{bucket}/ci", out).done == 2
    # Of another client: what this process knows of the bucket is old.
    other = s3fs.S3FileSystem(skip_instance_cache=True)
    other.pipe_file(f"{bucket}/ci/a/trace.json", starved(model="other"))
    assert torchtraceap.fleet(f"{bucket}/ci/*/*.json*", out).done == 1
    found = [(row["url"], row["model"], row["bytes"]) for row in read(out)]
    size = len(starved(model="first"))
    assert found == [
        (f"{bucket}/ci/a/trace.json", "other", size),
        (f"{bucket}/ci/b/trace.json.gz", "first", size),
    ]
    with pytest.raises(torchtraceap.TraceError, match="s3://none: it cannot be listed"):
        torchtraceap.fleet("s3://none", out)
