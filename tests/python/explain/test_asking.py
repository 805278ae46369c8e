# SPDX-License-Identifier: BSD-3-Clause
"""test_asking.py: what goes to an endpoint and what it may answer, each fault played by
a server on this machine.

It has over 400 lines: every fault is a test, and all share one way to play it.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import socket
import sys
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from torchtraceap.data.opinion import Opinion
from torchtraceap.explain.digest import Digest
from torchtraceap.explain.explaining import endpoint_of
from torchtraceap.explain.model.asking import ask, usage_of
from torchtraceap.explain.model.endpoint import Endpoint

from ..model_server import Act, Sent, Server, completion, error, sensible, serving

openai = pytest.importorskip("openai")

KEY = "sk-secret-0123"
DIGEST = Digest(
    subject="f",
    facts="device busy 41 %, k1 12.4 ms",
    told='k1 = "Memcpy"',
    candidates=("sync_stall",),
)
GOOD = completion({"pattern": "sync_stall"})
SOON = {"retry-after": "0.01"}


class Llm:
    """A model behind a server that plays acts, or what a function makes of requests."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.endpoint = Endpoint(url=server.url, model="m", api_key=KEY, timeout_s=5)

    @property
    def sent(self) -> list[Sent]:
        return self.server.sent

    def ask(
        self, acts: Any, count: int = 1, *, advise: bool = True, progress: Any = None,
        **options: Any,
    ) -> list[Opinion]:  # fmt: skip
        """Ask about `count` digests; options replace those of the endpoint."""
        digests = [DIGEST] if count == 1 else [
            replace(DIGEST, subject=f"f{i}", facts=f"{DIGEST.facts} #{i}")
            for i in range(count)
        ]  # fmt: skip
        self.server.acts = acts
        used = replace(self.endpoint, **options)
        opinions = ask(digests, used, advise=advise, progress=progress)
        for one in opinions:
            # The key, which some servers quote, is nowhere.
            assert KEY not in repr(one)
            assert bool(one.failure) == bool(one.why)
        return opinions

    def pattern(self, *acts: Act, **options: Any) -> Opinion:
        """Ask for the pattern of a digest, once."""
        (opinion,) = self.ask(list(acts), advise=False, **{"retries": 0, **options})
        assert bool(opinion.failure) == (opinion.pattern is None)
        return opinion


@pytest.fixture
def llm(model_server: Server) -> Llm:
    return Llm(model_server)


# --- What is sent -----------------------------------------------------------------


def test_headers_hold_what_http_needs_and_the_key(
    llm: Llm, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "OPENAI_ORG_ID": "org-of-env",
        "OPENAI_PROJECT_ID": "project-of-env",
        "OPENAI_ADMIN_KEY": "admin-of-env",
        "OPENAI_CUSTOM_HEADERS": "x-mine: of-env\nauthorization: Bearer of-env",
        "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
        # A proxy that would be asked if one were: nothing listens there.
        **dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://[::1]:1"),
    }.items():
        monkeypatch.setenv(name, value)
    (opinion,) = llm.ask(sensible)
    assert opinion.failure == ""
    assert len(llm.sent) == 2
    for sent in llm.sent:
        assert (sent.method, sent.path) == ("POST", "/v1/chat/completions")
        assert sent.headers == {
            "host": llm.server.url.split("/")[2],
            "accept": "application/json",
            "accept-encoding": sent.headers["accept-encoding"],
            "connection": "keep-alive",
            "content-type": "application/json",
            "content-length": str(len(sent.raw)),
            "user-agent": f"OpenAI/Python {openai.__version__}",
            "authorization": f"Bearer {KEY}",
        }
        bytes_sent = sent.raw.decode() + json.dumps(sent.headers)
        for hidden in (socket.gethostname(), platform.python_version(), "of-env"):
            assert hidden not in bytes_sent


def test_proxy_is_a_tunnel_that_sees_the_host_only(
    llm: Llm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", llm.server.url.removesuffix("/v1"))
    opinion = llm.pattern(Act("", 502), url="https://models.invalid/v1")
    assert opinion.failure == "unreachable"
    (sent,) = llm.sent
    assert (sent.method, sent.path) == ("CONNECT", "models.invalid:443")
    assert (sent.raw, "authorization" in sent.headers) == (b"", False)


@pytest.mark.parametrize("key", [None, ""])
def test_without_a_key_none_is_sent(
    llm: Llm, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-env")
    llm.ask(sensible, api_key=key)
    assert ["authorization" in sent.headers for sent in llm.sent] == [False] * 2


def test_facts_go_first_and_alone(llm: Llm) -> None:
    (opinion,) = llm.ask(sensible)
    assert [sent.user for sent in llm.sent] == [DIGEST.facts, DIGEST.text]
    assert opinion.pattern == "sync_stall"
    assert opinion.explanation == "The host waited."
    assert opinion.advice == "Read it less often."
    assert (opinion.agrees, opinion.problems, opinion.failure) == (None, (), "")
    assert (opinion.model, opinion.key) == ("m", DIGEST.key)


def test_words_are_checked_and_made_safe(llm: Llm) -> None:
    words = {"explanation": "k9 takes 99 ms\x1b[A", "advice": "x" * 5000}
    (opinion,) = llm.ask([GOOD, completion(words)])
    assert opinion.problems == ("k9", "99 ms")
    assert opinion.explanation == "k9 takes 99 ms\\x1b[A"
    assert len(opinion.advice) == 1500


# --- Faults -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "failure", "said"),
    [
        (error(401, f"Incorrect API key: {KEY}"), "key", "key: [key]. Check"),
        (error(403, "no"), "key", "(--key-env)"),
        (error(429, "slow down"), "limit", "slow down. Lower parallel"),
        (error(500, "oops"), "server", "500: oops. Check the server's log"),
        (error(400, "what?"), "server", "answers 400: what?."),
        (completion(None, refusal="I\x1b can't"), "refused", "I\\x1b can't"),
        (completion("", finish="content_filter"), "refused", "filter"),
        (error(400, "bad", code="content_filter"), "refused", "filter"),
        (completion({"pattern": "slow"}), "malformed", "'slow', which is not a"),
        (completion(None), "malformed", "is empty"),
        (Act("<!doctype html>Hello"), "malformed", "an HTML page"),
        (Act(b"\xff\xfe\x00", headers={"content-type": "application/json"}),
         "malformed", "no JSON"),
        (Act("[" * 200_000, 400), "server", "400"),
        (
            error(400, "too long", type="exceed_context_size_error",
                  n_prompt_tokens=9000, n_ctx=4096),
            "overflow", "too long. Make the digest smaller",
        ),
        (
            error(400, "This model's maximum context length is 8192 tokens. However, "
                  "your messages resulted in 9001 tokens.",
                  code="context_length_exceeded"),
            "overflow", "resulted in 9001 tokens. Make the digest smaller",
        ),
        (Act("", 413), "overflow", "--tokens"),
        (Act("", 307, {"location": "http://127.0.0.1:1/v1"}), "unreachable",
         "redirects are not followed"),
    ],
)  # fmt: skip
def test_fault_is_a_kind_and_what_to_do(
    llm: Llm, act: Act, failure: str, said: str
) -> None:
    opinion = llm.pattern(act)
    assert opinion.failure == failure
    assert said in opinion.why


def test_nobody_answers(llm: Llm) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    opinion = llm.pattern(url=url)
    assert opinion.failure == "unreachable" and "Check host and port" in opinion.why


def test_server_without_tls(llm: Llm) -> None:
    opinion = llm.pattern(url=llm.server.url.replace("http:", "https:"))
    assert (opinion.failure, llm.sent) == ("unreachable", [])
    assert "certificate" in opinion.why


@pytest.mark.parametrize(
    ("act", "failure", "said"),
    [
        (error(404, "model not found\x1b"), "model",
         "answers 404: model not found\\x1b. Check the model's"),
        (error(429, "no money", code="insufficient_quota"), "limit", "credit"),
        (error(401, "no"), "key", "Check"),
    ],
)  # fmt: skip
def test_what_would_fail_again_is_asked_once(
    llm: Llm, act: Act, failure: str, said: str
) -> None:
    retries = 0 if failure == "limit" else llm.endpoint.retries
    opinions = llm.ask([act], 3, retries=retries, parallel=1)
    assert [o.failure for o in opinions] == [failure] * 3
    assert said in opinions[0].why
    assert opinions[2].why.startswith("Not asked, as it failed before: ")
    assert [s.method for s in llm.sent] == ["POST"]


def test_path_that_is_not_there(llm: Llm) -> None:
    assert "/v1" in llm.pattern(error(404, "no such path")).why


def test_too_many_requests_are_tried_again(llm: Llm) -> None:
    busy = Act("{}", 429, SOON)
    opinion = llm.pattern(busy, Act("{}", 503, SOON), GOOD, retries=2)
    assert opinion.pattern == "sync_stall" and len(llm.sent) == 3
    assert llm.pattern(busy, retries=2).failure == "limit"
    assert len(llm.sent) == 6


def test_slow_answers(llm: Llm) -> None:
    begin = time.monotonic()
    opinion = llm.pattern(Act(write=lambda handler: time.sleep(2)), timeout_s=0.3)
    assert opinion.failure == "timeout"
    assert "within 0.3 s" in opinion.why
    assert time.monotonic() - begin < 2.5


def test_answer_that_breaks_off(llm: Llm) -> None:
    def write(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"choices"')

    assert llm.pattern(Act(write=write)).failure == "server"
    assert llm.pattern(Act(write=lambda handler: None)).failure == "server"


def test_key_is_not_carried_to_another_host(llm: Llm) -> None:
    with serving() as other:
        llm.pattern(Act("", 308, {"location": f"{other.url}/chat/completions"}))
        assert other.sent == []


# --- What an endpoint does not take -----------------------------------------------


def test_cut_answer_is_asked_for_with_more_room(llm: Llm) -> None:
    cut = completion('{"pattern": "sync', finish="length")
    opinion = llm.pattern(cut, GOOD)
    assert (opinion.pattern, opinion.requests) == ("sync_stall", 2)
    assert (opinion.prompt_tokens, opinion.completion_tokens) == (200, 20)
    assert [s.body["max_tokens"] for s in llm.sent] == [128, 4224]
    assert llm.pattern(cut).failure == "truncated"
    # The larger token limit may itself exceed the context; not the digest's fault.
    too_long = error(400, "maximum context length")
    assert llm.pattern(cut, too_long).failure == "truncated"
    whole = completion({"pattern": "none"}, finish="length")
    assert llm.pattern(whole).pattern == "none"


def test_schema_that_is_refused(llm: Llm) -> None:
    formats = []

    def act(sent: Sent) -> Act:
        form = sent.body.get("response_format", {"type": None})["type"]
        formats.append(form)
        if form is not None:
            return error(400, f"'response_format' of type '{form}' is not supported")
        return completion('Sure!\n```json\n{"pattern": "gc_pause"}\n```')

    opinions = llm.ask(act, 2, parallel=1, advise=False)
    assert [o.pattern for o in opinions] == ["gc_pause"] * 2
    # What was refused once is not sent again.
    assert formats == ["json_schema", "json_object", None, None]


def test_parameters_of_models_that_think(llm: Llm) -> None:
    def act(sent: Sent) -> Act:
        if "max_tokens" in sent.body:
            return error(
                400,
                "Unsupported parameter: 'max_tokens' is not supported with this model. "
                "Use 'max_completion_tokens' instead.",
            )
        for name in ("temperature", "seed"):
            if name in sent.body:
                return error(400, f"Unsupported value: '{name}'")
        return completion('<think>{ hm }</think> {"pattern": "none"}')

    (opinion,) = llm.ask(act, advise=False)
    assert opinion.pattern == "none"
    assert len(llm.sent) == 4
    # The thoughts count as well there.
    assert llm.sent[-1].body["max_completion_tokens"] == 128 + 4096


def test_pattern_stays_where_the_words_fail(llm: Llm) -> None:
    (opinion,) = llm.ask([GOOD, completion("no idea")])
    assert (opinion.pattern, opinion.failure) == ("sync_stall", "malformed")
    assert opinion.explanation == opinion.advice == ""


# --- Several ----------------------------------------------------------------------


def test_several_at_a_time_in_their_order(llm: Llm) -> None:
    now, most, lock = 0, 0, threading.Lock()

    def delayed(sent: Sent) -> Act:
        nonlocal now, most
        index = int(sent.user.partition("#")[2])
        answer = completion({"pattern": ["none", "gc_pause"][index % 2]})
        data = str(answer.body).encode()

        def write(handler: BaseHTTPRequestHandler) -> None:
            nonlocal now, most
            with lock:
                now += 1
                most = max(most, now)
            time.sleep(0.1 - 0.01 * index)
            with lock:
                now -= 1
            handler.send_response(200)
            handler.send_header("content-length", str(len(data)))
            handler.end_headers()
            handler.wfile.write(data)

        return Act(write=write)

    told: list[tuple[int, int]] = []
    progress = lambda *done_and_total: told.append(done_and_total)  # noqa: E731
    opinions = llm.ask(delayed, 8, parallel=3, progress=progress, advise=False)
    assert [o.subject for o in opinions] == [f"f{i}" for i in range(8)]
    assert [o.pattern for o in opinions] == ["none", "gc_pause"] * 4
    assert told == [(i, 8) for i in range(1, 9)]
    assert most == 3


def test_one_that_fails_leaves_the_others(llm: Llm) -> None:
    assert ask([], llm.endpoint) == []
    acts = lambda s: error(500, "x") if "#1" in s.user else sensible(s)  # noqa: E731
    opinions = llm.ask(acts, 3, retries=0)
    assert [o.failure for o in opinions] == ["", "server", ""]
    usage = usage_of(opinions)
    assert (usage.requests, usage.failed) == (4, 1)
    assert (usage.prompt_tokens, usage.completion_tokens) == (400, 40)


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_ctrl_c_ends_it_at_once(llm: Llm) -> None:
    released = threading.Event()

    def write(handler: BaseHTTPRequestHandler) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        released.wait(10)

    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        llm.ask([Act(write=write)])
    assert time.monotonic() - begin < 1
    released.set()


def test_what_progress_raises_comes_out(llm: Llm) -> None:
    def progress(done: int, total: int) -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        llm.ask(sensible, 4, progress=progress)


# --- What is asked for wrongly ----------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"url": "127.0.0.1:8080/v1"}, "is not an http or https URL"),
        ({"url": "ftp://x/v1"}, "is not an http or https URL"),
        ({"url": "http://"}, "is not an http or https URL"),
        ({"url": "http://x:port/v1"}, "is not a URL"),
        ({"url": "http://x /v1"}, "is not a URL"),
        ({"url": "https://me:hidden@x/v1"}, "a user or a password"),
        ({"url": "https://x/v1?key=1"}, "has a query"),
        ({"model": ""}, "model must name a model"),
        ({"model": "a\nb"}, "model must name a model"),
        ({"api_key": "a b"}, "has a blank"),
        ({"api_key": "hidden\n"}, "has a blank, a line break"),
        (
            {"url": "http://example.com/v1", "api_key": "hidden"},
            "in plain text. Use https",
        ),
        ({"url": "http://127.0.0.1.example.com", "api_key": "hidden"}, "in plain text"),
        ({"retries": 11}, "retries must be at most 10"),
        ({"parallel": 0}, "parallel must be at least 1"),
        ({"parallel": 33}, "parallel must be at most 32"),
        ({"timeout_s": 0}, "timeout_s must be more than 0"),
        ({"timeout_s": float("nan")}, "timeout_s must be a number"),
    ],
)
def test_endpoint_that_makes_no_sense(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said) as raised:
        Endpoint(**{"url": "http://127.0.0.1/v1", "model": "m", **wrong})
    assert "hidden" not in str(raised.value)


def test_key_goes_where_nobody_listens_in() -> None:
    for url in (
        "https://example.com/v1",
        "http://localhost:8080/v1",
        "http://127.0.0.1/v1",
        "http://[::1]:8080/v1",
    ):
        assert KEY not in repr(Endpoint(url=url, model="m", api_key=KEY))
    Endpoint(url="http://example.com/v1", model="m")


@pytest.mark.parametrize(
    ("url", "is_sent"),
    [
        ("https://api.openai.com/v1", True),
        ("https://mine.openai.azure.com/openai/v1", True),
        ("http://localhost:8080/v1", True),
        ("http://[::1]:8080/v1", True),
        ("https://models.example.com/v1", False),
        ("https://openai.com.example.com/v1", False),
        ("https://notopenai.com/v1", False),
        ("http://10.0.0.7:8080/v1", False),
    ],
)
def test_key_of_the_environment_goes_to_openai_and_this_machine(
    monkeypatch: pytest.MonkeyPatch, url: str, is_sent: bool
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    endpoint = endpoint_of(url, "m", None)
    assert endpoint is not None and bool(endpoint.api_key) == is_sent
    without = endpoint_of(url, "m", "")
    assert without is not None and not without.api_key
    if url.startswith("https:"):
        given = endpoint_of(url, "m", "mine")
        assert given is not None and given.api_key == "mine"


def test_extra_that_is_not_there(llm: Llm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchtraceap.explain.model.client", None)
    with pytest.raises(ImportError, match=r"pip install 'torchtraceap\[llm\]'"):
        llm.ask(sensible)
