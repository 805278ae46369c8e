# SPDX-License-Identifier: BSD-3-Clause
"""test_local_model.py: a real server and a small real model: what goes over the wire,
and never whether the model is right, which it seldom is."""

from __future__ import annotations

import json
import urllib.request
from dataclasses import replace
from typing import Any

import pytest

import torchtraceap
from torchtraceap import _core
from torchtraceap.explain.digest import Digest, make_digests, tokens_of
from torchtraceap.explain.model.asking import ask, usage_of
from torchtraceap.explain.model.endpoint import Endpoint
from torchtraceap.explain.model.messages import Request

pytest.importorskip("openai")

DIGEST = Digest(
    subject="f",
    facts="device busy 41 %\nhost waited for it 52 %\nk1 to_host 12.4 ms\n"
    "sync_stall: The host waited for the device.\nnone: nothing costs time",
    told='k1 = "Memcpy DtoH"',
    candidates=("sync_stall",),
)


@pytest.fixture
def endpoint(llm_url: str) -> Endpoint:
    return Endpoint(url=llm_url, model="smollm2", api_key="k", timeout_s=120, retries=0)


def test_schema_is_forced_on_the_model(endpoint: Endpoint) -> None:
    digests = [DIGEST, replace(DIGEST, subject="g", facts=f"{DIGEST.facts} at all")]
    opinions = ask(digests, replace(endpoint, parallel=2), advise=False)
    known = {p.name for p in _core.patterns() if p.user_finding} | {"none"}
    assert [(o.failure, o.pattern in known) for o in opinions] == [("", True)] * 2
    assert all(o.prompt_tokens > 50 and o.completion_tokens > 0 for o in opinions)
    assert usage_of(opinions).requests == 2


def test_digest_that_is_too_long_says_how_long(endpoint: Endpoint) -> None:
    long = replace(DIGEST, facts="12.4 ms " * 2000)
    (opinion,) = ask([long], endpoint)
    assert opinion.failure == "overflow"
    assert "2048" in opinion.why  # as the server says it
    assert "--tokens" in opinion.why


def test_answer_that_does_not_fit_its_room(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = Request.body

    def with_little_room(self: Request, model: str, more: int = 0) -> dict[str, Any]:
        return body(self, model, more) | {"max_tokens": 3}

    monkeypatch.setattr(Request, "body", with_little_room)
    (opinion,) = ask([DIGEST], endpoint)
    assert (opinion.failure, opinion.pattern) == ("truncated", None)
    assert (opinion.requests, opinion.completion_tokens) == (2, 6)


def test_a_real_tokenizer_counts_no_more_tokens_than_are_estimated(
    llm_url: str, slow_loader: torchtraceap.Report
) -> None:
    digests = make_digests(
        slow_loader, slow_loader.findings[:3], slow_loader.windows[:3]
    )
    for text in [part for d in digests for part in (d.facts, d.told)]:
        request = urllib.request.Request(
            llm_url.removesuffix("/v1") + "/tokenize",
            json.dumps({"content": text}).encode(),
            {"Content-Type": "application/json", "Authorization": "Bearer k"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            counted = len(json.load(answer)["tokens"])
        assert counted <= tokens_of(text) <= 1.3 * counted
