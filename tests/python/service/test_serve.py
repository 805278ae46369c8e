# SPDX-License-Identifier: BSD-3-Clause
"""test_serve.py: what a server answers, and what it refuses."""

from __future__ import annotations

import gzip
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.service.uploads import safe_name

from ..conftest import Cli
from ..fleets.conftest import traces as traces
from ..pages import page
from .conftest import Server, serving

pytest.importorskip("duckdb")
TRACE = "kineto2021-v100-resnet50-workers0-memory.json.gz"
TINY = "mi250-rocm62-tiny.json.gz"
#: A form of one field and no file.
FIELD = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n'
#: A form of one file.
FILE = FIELD.replace(b'"a"', b'"a"; filename="a.json"')
FORM = {"content-type": "multipart/form-data; boundary=x"}
FORM_LONG = {"content-type": f"multipart/form-data; boundary={'x' * 5000}"}
FORM_WITHOUT = {"content-type": "multipart/form-data"}
TOKEN = "correct-horse-battery-staple"


def forms(answer: Any) -> dict[str, Any]:
    """A report without what only an analysis by hand has."""
    form = answer if isinstance(answer, dict) else json.loads(answer)
    own = ("tool", "detector", "second_opinion", "windows")
    return {name: value for name, value in form.items() if name not in own}


@pytest.mark.parametrize("how", ["form", "raw", "chunked", "path"])
def test_a_report_is_that_of_analyze(server: Server, data: Path, how: str) -> None:
    sent = (data / TRACE).read_bytes()
    if how == "form":
        answer = server.send((TRACE, sent))
    elif how == "path":
        answer = server.client.get("/v1/reports", params={"path": TRACE})
    else:
        body = sent if how == "raw" else iter([sent[:70_000], sent[70_000:]])
        kind = {"content-type": "application/gzip"}
        answer = server.client.post("/v1/reports", content=body, headers=kind)
    assert answer.headers["content-type"] == "application/json"
    report = torchtraceap.analyze(data / TRACE, detector="off")
    report.name_trace("trace" if how in ("raw", "chunked") else TRACE)
    assert forms(answer.json()) == forms(json.loads(report.to_json()))


def test_text_page_and_parts(server: Server, data: Path) -> None:
    sent = (TRACE, (data / TRACE).read_bytes())
    report = torchtraceap.analyze(data / TRACE, detector="off", steps=(6, 7))
    report.name_trace(TRACE)
    part = {"step": 6, "last_step": 7}
    text = server.send(sent, params={"form": "text", **part})
    assert text.text == report.summary()
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    page = server.send(sent, params={"form": "html"})
    assert page.text.startswith("<!DOCTYPE html>") and f"<h1>{TRACE}" in page.text
    # A page that is opened here has an origin of its own.
    assert page.headers["content-security-policy"].startswith("sandbox allow-scripts ")
    cut = TINY, gzip.decompress((data / TINY).read_bytes())[:-500]
    assert server.send(cut).status_code == 422
    assert server.send(cut, params={"recover": True}).status_code == 200


@pytest.mark.parametrize("how", ["form", "path"])
def test_a_job(server: Server, slow_job: Path, how: str) -> None:
    if how == "form":
        files = [(f.name, f.read_bytes()) for f in slow_job.glob("*.json")]
        ask = {"url": "/v1/jobs", "files": [("trace", file) for file in files]}
        kind, source = "POST", "upload"
    else:
        ask = {"url": "/v1/jobs", "params": {"path": str(slow_job)}}
        kind, source = "GET", str(slow_job)
    job = torchtraceap.analyze([slow_job])
    form = server.client.request(kind, **ask).raise_for_status().json()
    assert form["job"]["source"] == source
    assert form["late_ranks"] == [row.to_dict() for row in job.late_ranks]
    assert str(server.scratch) not in json.dumps(form)
    ask["params"] = ask.get("params", {}) | {"form": "text"}
    text = server.client.request(kind, **ask).text
    by_hand = job.summary()
    if how == "form":  # Without the folder, which the client did not name.
        by_hand = by_hand.replace(f"{slow_job}/", "")
    assert text.splitlines()[1:] == by_hand.splitlines()[1:]
    ask["params"] |= {"form": "html"}
    assert "rank 2" in server.client.request(kind, **ask).text


def test_the_text_of_a_job_is_limited_together(slow_job: Path, tmp_path: Path) -> None:
    files = [(f.name, f.read_bytes()) for f in slow_job.glob("*.json")]
    total = sum(len(data) for _, data in files)
    # The name of a file tells nothing about its size.
    files = [(name, gzip.compress(data)) for name, data in files]
    for most, status in ((total, 200), (total - 1, 413)):
        with serving(tmp_path, "--max-text-bytes", most) as server:
            answer = server.send(*files, job=True)
            assert answer.status_code == status, answer.text
            if status == 413:
                assert answer.json()["kind"] == "too_large"


def bomb() -> bytes:
    return gzip.compress(b'{"traceEvents": [' + b" " * 100_000_000)


@pytest.mark.parametrize(
    ("status", "kind", "ask"),
    [
        (422, "truncated", {"files": [("trace", ("a.json", b'{"traceEvents": ['))]}),
        (422, "empty", {"files": [("trace", ("a.json", b""))]}),
        (413, "gzip_bomb", {"files": [("trace", ("a.json.gz", bomb()))]}),
        (413, "upload_limit", {"content": b" " * 4_000_001}),
        (413, "upload_limit", {"content": iter([b" " * 3_000_000] * 2)}),
        (413, "upload_limit", {"files": [("t", ("a.json", b" " * 4_000_000))]}),
        (415, "media_type", {"content": b"{}", "headers": {"content-type": "a/b"}}),
        (400, "invalid", {"content": FILE, "headers": FORM_WITHOUT}),
        (400, "invalid", {"content": FILE, "headers": FORM_LONG}),
        (400, "invalid", {"content": FILE[:-8], "headers": FORM}),
        (400, "invalid", {"content": b"nothing", "headers": FORM}),
        (422, "invalid", {"content": FIELD, "headers": FORM}),
        (422, "invalid", {"content": b"--x--\r\n", "headers": FORM}),
        (422, "invalid", {"files": [("t", ("a.json", b"1")), ("t", ("b.json", b"1"))]}),
        (422, "invalid", {"content": b"{}", "params": {"form": "pdf"}}),
        (422, "invalid", {"content": b"{}", "params": {"last_step": 3}}),
        (422, "invalid", {"content": b"{}", "params": {"steps": 3}}),
        (404, "no_such_file", {"path": "nothing.json"}),
        (404, "no_such_file", {"path": "../conftest.py"}),
        (404, "no_such_file", {"path": "/etc/passwd"}),
        (404, "no_such_file", {"path": "a\0b"}),
        (422, "invalid", {"path": "."}),
        (422, "not_json", {"path": "README.md"}),
        (404, "http", {"url": "/v1/nothing"}),
        (404, "http", {"url": "/v1/jobs/"}),
        (405, "http", {"method": "DELETE", "url": "/v1/jobs"}),
        (404, "no_fleet", {"method": "GET", "url": "/v1/fleet"}),
        (422, "invalid", {"method": "GET", "url": "/v1/fleet/nothing"}),
        (403, "host", {"headers": {"host": "rebound.example"}}),
        (403, "host", {"headers": {"host": "a@localhost"}}),
        (403, "origin", {"headers": {"sec-fetch-site": "cross-site"}}),
        (403, "origin", {"headers": {"origin": "http://localhost:1"}}),
        (403, "origin", {"headers": {"origin": "null"}}),
    ],
)  # fmt: skip
def test_a_problem(server: Server, status: int, kind: str, ask: dict[str, Any]) -> None:
    ask = {"method": "POST", "url": "/v1/reports", **ask}
    if path := ask.pop("path", None):
        ask |= {"method": "GET", "params": {"path": path}}
    answer = server.client.request(**ask)
    problem = answer.json()
    assert (answer.status_code, problem["kind"]) == (status, kind), problem
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["status"] == status and problem["type"] == "about:blank"
    assert len(problem["detail"]) > 20 and "Traceback" not in problem["detail"]
    assert str(server.scratch) not in problem["detail"]
    assert "--recover" not in problem["detail"]
    assert kind != "http" or "GET /openapi.json lists" in problem["detail"]


def test_uploads_stay_in_their_folder() -> None:
    for given, name in {
        "../../etc/passwd": "etc/passwd",
        "/a.json": "a.json",
        "C:\\runs\\rank0.json": "C:/runs/rank0.json",
        "..": "trace",
        "": "trace",
        "a\0b": "ab",
        "x" * 300 + ".json": "x" * 250 + ".json",
    }.items():
        assert safe_name(given) == name


def test_no_other_site_reads_an_answer(server: Server) -> None:
    ask = {"origin": "https://other.example", "access-control-request-method": "GET"}
    for method in ("OPTIONS", "GET"):
        answer = server.client.request(method, "/healthz", headers=ask)
        assert not [name for name in answer.headers if "access-control" in name]
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_what_a_server_says_of_itself(server: Server) -> None:
    assert server.client.get("/healthz").json() == {"status": "ok"}
    assert server.client.get("/readyz").json() == {"status": "ok"}
    before = server.metric("torchtraceap_serve_requests_total")
    received = server.metric("torchtraceap_serve_received_bytes_total")
    server.client.request("ANY", "/healthz")
    server.client.post("/v1/reports", content=b"x" * 1000)
    assert server.metric("torchtraceap_serve_requests_total") == before + 4
    assert server.metric("torchtraceap_serve_received_bytes_total") == received + 1000
    assert server.metric("torchtraceap_serve_running") == 0
    assert 'method="ANY"' not in server.client.get("/metrics").text


def test_openapi_has_examples(server: Server) -> None:
    form = server.client.get("/openapi.json").json()
    for path, routes in form["paths"].items():
        for route in routes.values():
            for kind, content in route["responses"].items():
                for one in content["content"].values():
                    assert "example" in one, (path, kind)


def test_the_page_lists_every_route(server: Server) -> None:
    form = server.client.get("/openapi.json").json()
    routes = {
        f"{method.upper()} {path}"
        for path, methods in form["paths"].items()
        for method in methods
    }
    listed = re.findall(r"`((?:GET|POST) /[^`?]*)", page("serve").partition("```")[0])
    assert {*listed} == routes | {"GET /openapi.json"}


# --- A fleet --------------------------------------------------------------------------


@pytest.fixture
def with_fleet(traces: Path, tmp_path: Path) -> Iterator[Server]:
    torchtraceap.fleet(traces, tmp_path / "out")
    (tmp_path / "scratch").mkdir()
    with serving(tmp_path / "scratch", "--fleet", tmp_path / "out") as server:
        yield server


def test_questions_over_a_fleet(with_fleet: Server, tmp_path: Path, cli: Cli) -> None:
    from torchtraceap.fleets import queries

    def rows(question: str, **params: Any) -> Any:
        answer = with_fleet.client.get(f"/v1/fleet/{question}", params=params)
        return answer.raise_for_status().json()["rows"]

    data = queries.connected(str(tmp_path / "out"))
    assert rows("facts") == [queries.facts(data)]
    programs = queries.worst_programs(data)
    assert [r["program"] for r in rows("programs")] == [r["program"] for r in programs]
    assert len(programs) == 2 and len(rows("programs", rows=1)) == 1
    for key in queries.KEYS:
        by_key = [
            (row["name"], row["lost_us"]) for row in queries.findings_by(data, key)
        ]
        assert [(row["name"], row["lost_us"]) for row in rows(key)] == by_key
    for question in ("new", "regressions", "failures"):
        assert rows(question) == []
    text = with_fleet.client.get("/v1/fleet", params={"form": "text"}).text
    assert text == cli("fleet", "report", tmp_path / "out").fine().rstrip("\n")
    for form, begins in (("html", "<!DOCTYPE html>"), ("markdown", "### ")):
        answer = with_fleet.client.get("/v1/fleet", params={"form": form})
        assert answer.text.startswith(begins)
    (tmp_path / "out").rename(tmp_path / "gone")
    assert with_fleet.client.get("/readyz").status_code == 503
    answer = with_fleet.client.get("/v1/fleet")
    assert (answer.status_code, answer.json()["kind"]) == (503, "fleet_unavailable")
    assert str(tmp_path) not in answer.text and str(tmp_path) in with_fleet.stderr()


# --- The token ------------------------------------------------------------------------


def test_a_token(tmp_path: Path, data: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    (tmp_path / "token").chmod(0o600)
    arguments = ("--root", data, "--host", "0.0.0.0", "--token-file")
    with serving(tmp_path, *arguments, tmp_path / "token") as server:
        ask = server.client.get
        for path in ("/", "/healthz", "/readyz", "/openapi.json"):
            assert ask(path).status_code == 200, path
        for path in (f"/v1/reports?path={TINY}", "/metrics", "/v1/fleet"):
            for given in ("", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer é"):
                answer = ask(path, headers={"authorization": given.encode()})
                assert answer.status_code == 401, (path, given)
                assert answer.headers["www-authenticate"] == "Bearer"
        # Not a byte of a body is read before.
        assert server.send(("a.json", b"{}")).json()["kind"] == "token"
        good = {"authorization": f"Bearer {TOKEN}", "host": "traces.example"}
        answer = ask(f"/v1/reports?path={TINY}&form=text", headers=good)
        assert answer.text.startswith(TINY)
        assert server.stderr() == ""
    (tmp_path / "token").chmod(0o640)
    with serving(tmp_path, *arguments, tmp_path / "token") as server:
        assert "other users can read the token" in server.stderr()


def test_children_do_not_have_the_token(tmp_path: Path) -> None:
    with serving(tmp_path, token=TOKEN) as server:
        bearer = {"authorization": f"Bearer {TOKEN}"}
        answer = server.send(("a.json", b'{"traceEvents": []}'), headers=bearer)
        assert answer.status_code != 401
        (child,) = server.children()
        assert TOKEN.encode() not in Path(f"/proc/{child}/environ").read_bytes()


def test_what_does_not_start(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TORCHTRACEAP_TOKEN", raising=False)
    (tmp_path / "short").write_text("secret")
    (tmp_path / "bytes").write_bytes(b"\xff" * 40)
    taken = socket.create_server(("127.0.0.1", 0))
    for arguments, why in (
        (("--host", "0.0.0.0"), "torchtraceap: 0.0.0.0: others reach this address"),
        (("--host", "::"), "others reach this address"),
        (("--token-file", tmp_path / "short"), "a token has 16 or more"),
        (("--token-file", tmp_path / "bytes"), "it is not ASCII"),
        (("--token-file", tmp_path / "none"), "No such file"),
        (("--root", tmp_path / "none"), "is not a folder"),
        (("--fleet", tmp_path), "something other than the results"),
        (("--port", taken.getsockname()[1]), "cannot listen on 127.0.0.1"),
        (("--host", "no.such.host.invalid"), "cannot listen on no.such.host"),
        (("--host", "x" * 64), "cannot listen on xxx"),
        (("--host", "a..b"), "cannot listen on a..b"),
    ):
        done = cli("serve", *arguments)
        assert done.code == 2 and why in done.err, (arguments, done)
        assert done.err.startswith("torchtraceap: ") and "Traceback" not in done.err
    taken.close()
    monkeypatch.setenv("TORCHTRACEAP_TOKEN", "")
    assert "a token has 16 or more" in cli("serve", "--host", "0.0.0.0").err
