#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""run.py CORPUS: how often rules, detector and models name a window's pattern right.

    python -m benchmarks.lab.explain.run CORPUS                   # without a model
    python -m benchmarks.lab.explain.run CORPUS --local --most 5  # and a local one
    python -m benchmarks.lab.explain.run CORPUS --llm URL --model NAME [--key-env V]

The last line asks any OpenAI-compatible endpoint. All models get the
windows of corpus_windows.jsonl and trace_windows.jsonl. Their answers are kept in a
folder, so that a stopped run resumes. `--page` writes the results and the page, in
which models that were asked before stay.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks import RESULTS
from benchmarks import TRACES as PUBLIC_TRACES
from benchmarks.lab import pages
from benchmarks.lab.explain.answering import (
    FACTS,
    NAME,
    SHOWN,
    WITHOUT_MODEL,
    Opened,
    answers_of_model,
    answers_without_model,
    local_model,
    opened,
    shown,
)
from benchmarks.lab.explain.asked_windows import CORPUS, NONE, TRACES, Asked, read

KEPT = RESULTS / "explain_accuracy.json"


def few(windows: Sequence[Asked], most: int) -> list[Asked]:
    """Return at most `most` windows of each pattern, twice as many without any."""
    count: dict[str, int] = {}
    out = []
    for window in windows:
        count[window.truth] = count.get(window.truth, 0) + 1
        if count[window.truth] <= most * (1 + (window.truth == NONE)):
            out.append(window)
    return out


def ask_model(
    traces: Sequence[Opened], windows: Sequence[Asked], options: Any, endpoint: Any
) -> dict[str, dict[str, list[str | None]]]:
    """Return the answers by what was shown and window; each is asked but once."""
    name = re.sub(r"[^A-Za-z0-9.-]+", "_", endpoint.model)
    path: Path = options.keep / f"answers-{name}.json"
    kept = json.loads(path.read_text("utf-8")) if path.exists() else {}
    for form in SHOWN:
        own = kept.setdefault(form, {})
        some = windows if form == FACTS else windows[:: max(1, options.every)]
        digests = shown(traces, form)
        todo = {w.key: digests[w.key] for w in some if w.key not in own}
        repeats = options.repeats if form == FACTS else 1

        def keep(
            key: str, said: list[str | None], own: Any = own, form: str = form
        ) -> None:
            own[key] = said
            path.write_text(json.dumps(kept), "utf-8")
            print(f"\r{form}: {len(own)}", end="", file=sys.stderr, flush=True)

        answers_of_model(todo, endpoint, repeats, options.temperature, keep)
        print(file=sys.stderr)
    return kept


def main() -> int:
    """Ask as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus", type=Path, help="folder of a corpus")
    parser.add_argument(
        "--traces", type=Path, default=PUBLIC_TRACES, help="public ones"
    )
    parser.add_argument("--llm", metavar="URL", help="an endpoint, up to /v1")
    parser.add_argument("--model", metavar="NAME")
    parser.add_argument("--key-env", default="OPENAI_API_KEY", metavar="VARIABLE")
    parser.add_argument(
        "--local", action="store_true", help="ask the small local model"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--temperature", type=float, default=0.7, help="of repeats")
    parser.add_argument("--parallel", type=int, default=4)
    parser.add_argument("--most", type=int, default=10, help="windows of a pattern")
    parser.add_argument(
        "--every", type=int, default=1, help="window is shown otherwise"
    )
    parser.add_argument("--keep", type=Path, default=Path("build/explain"))
    parser.add_argument("--page", action="store_true", help="write results and page")
    options = parser.parse_args()
    if bool(options.llm) != bool(options.model) or (options.llm and options.local):
        parser.error("give --llm with --model, or --local")
    options.keep.mkdir(parents=True, exist_ok=True)
    sets = {"corpus": read(CORPUS)}
    folders = {"corpus": options.corpus / "traces", "public": options.traces}
    if options.traces.is_dir():
        sets["public"] = read(TRACES)
    traces = {
        name: opened(windows, lambda of, name=name: folders[name] / f"{of}.json.gz")
        for name, windows in sets.items()
    }
    results = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    answers = results.setdefault("answers", {name: {} for name in sets})
    for name in sets:
        answers.setdefault(name, {}).update(
            {who: {FACTS: {k: [a] for k, a in said.items()}}
             for who, said in answers_without_model(traces[name]).items()}
        )  # fmt: skip
    with ExitStack() as stack:
        if options.local:
            options.model = NAME
            options.llm, key = stack.enter_context(local_model())
            options.parallel = 1
        elif options.llm:
            key = os.environ.get(options.key_env, "")
        if options.llm:
            from torchtraceap.explain.model.endpoint import Endpoint

            endpoint = Endpoint(
                url=options.llm, model=options.model, api_key=key, timeout_s=120,
                parallel=options.parallel,
            )  # fmt: skip
            every = [trace for name in sets for trace in traces[name]]
            some = [w for name in sets for w in few(sets[name], options.most)]
            said = ask_model(every, some, options, endpoint)
            for name, windows in sets.items():
                keys = {window.key for window in windows}
                answers[name][options.model] = {
                    form: {k: v for k, v in of.items() if k in keys}
                    for form, of in said.items()
                }
            results.setdefault("models", {})[options.model] = {
                **pages.machine(), "where": "local" if options.local else options.llm,
                "temperature": options.temperature, "repeats": options.repeats,
            }  # fmt: skip
    results["machine"] = pages.machine()
    results["without_model"] = list(WITHOUT_MODEL)
    if options.page:
        print(pages.write("explain_accuracy", results))
    else:
        print(pages.render(pages.page("explain_accuracy"), results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
