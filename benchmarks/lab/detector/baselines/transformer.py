# SPDX-License-Identifier: BSD-3-Clause
"""baselines/transformer.py: the detector, trained again on each fold.

Trains the same as `torchtraceap train`, by the same code, except for fewer steps, so
that the table takes an hour.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lab.detector.baselines.task import NotHere, Task
from benchmarks.lab.detector.compact_corpus import Corpus
from benchmarks.lab.detector.judging.judged import Scores
from benchmarks.lab.detector.training_set import types_to_learn
from torchtraceap_train.stacked import claimed

#: Of the table. The shipped detector has many times more.
STEPS = 500
_QUICK = 10
#: Of a quick one: to see that all works.
_TINY = {"width": 16, "heads": 2, "layers": 1, "hidden": 16, "max_tokens": 32}


@dataclass(frozen=True)
class Recipe:
    """How a network is trained; the defaults are those of what is shipped.

    Attributes:
        losses: Losses of the main phase; None: those of labeled windows.
        config: Fields of the network that are not as shipped.
        steps: Steps of the main phase.
        before: Steps that first learn to tell hidden events, on unlabeled windows.
        known: Share of the runs whose windows' labels are used.
        draws: Fields of DrawSettings that are not as shipped.
        sources: Learns from these alone; "": all.
        trees: Grow trees and mix them in.
    """

    losses: dict[str, float] | None = None
    config: dict[str, Any] = field(default_factory=dict)
    steps: int = STEPS
    before: int = 0
    known: float = 1
    draws: dict[str, Any] = field(default_factory=dict)
    sources: str = ""
    trees: bool = True


def transformer(task: Task) -> Scores:
    """Score by the network alone."""
    said = _said(task)
    return Scores(said["network"].T, said["types"], said["recoverable"], True)


def stack(task: Task) -> Scores:
    """Score by what is shipped: network, trees and rules, calibrated."""
    said = _said(task)
    return Scores(said["probability"].T, said["types"], said["recoverable"], True)


def _said(task: Task) -> dict[str, np.ndarray]:
    return task.once("detector", lambda: said_of(task, model_of(task, Recipe())))


def model_of(task: Task, recipe: Recipe) -> Any:
    """Return a model trained on the fold, kept in the corpus' folder once it is made.

    Raises:
        NotHere: There is no torch, or nothing to train on.
    """
    try:
        from torchtraceap.base.torch_module import load_torch_module
        from torchtraceap_train.stacked import train_model

        module = load_torch_module()
    except ImportError as error:
        raise NotHere(str(error)) from error
    if not (task.corpus.folder / "tokens").is_dir():
        raise NotHere("the corpus has no tokens: build it with --tokens")
    path = task.corpus.folder.parent / "evaluated" / "models" / _name(task, recipe)
    if path.exists():
        return module.Model.load(str(path))
    traces = traces_of(task, recipe)
    if not traces:
        raise NotHere("nothing to train on")
    model = train_model(traces, plan_of(recipe, task.quick), seed=task.seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    model.save(str(path))
    return model


def plan_of(recipe: Recipe, quick: bool) -> Any:
    """Return the plan of a recipe."""
    from torchtraceap_train.checkpoint import Phase
    from torchtraceap_train.draws import DrawSettings
    from torchtraceap_train.recipe import LABELS, NETWORK
    from torchtraceap_train.stacked import Plan

    draws = DrawSettings(**recipe.draws)
    losses = LABELS if recipe.losses is None else recipe.losses
    phases = [Phase(_QUICK if quick else recipe.steps, losses, draws)]
    if recipe.before:
        steps = _QUICK if quick else recipe.before
        phases.insert(0, Phase(steps, {"masked": 1.0}, DrawSettings(sought=0.0)))
    config = {**NETWORK, **(_TINY if quick else {}), **recipe.config}
    return Plan(tuple(phases), config, recipe.trees)


def traces_of(task: Task, recipe: Recipe) -> list[Any]:
    """Return the fold's traces with the labels that the fold gives."""
    corpus, fold = task.corpus, task.fold
    types = types_to_learn(corpus, task.labels.patterns, task.labels.heads)
    begin = np.searchsorted(corpus.run, np.arange(len(corpus.runs) + 1))
    told = task.random(11).random(len(corpus.runs)) < recipe.known
    goodness = corpus.goodness
    every = all_traces(corpus.folder)
    out = []
    for line, run in enumerate(corpus.runs):
        here = slice(begin[line], begin[line + 1])
        if not fold.trained[here].any():
            continue
        if recipe.sources and run.source not in recipe.sources:
            continue
        mine = fold.trained[here] & told[line]
        saved = corpus.saved_all[here].clip(0, 1)
        out.append(
            replace(
                every[run.name],
                any=np.where(mine, fold.train[:, here], -1).T.astype(np.int8).copy(),
                types=np.where(mine[:, None], types[here], -1).astype(np.int8),
                kind=np.where(mine, task.labels.kind[here], -1).astype(np.int16),
                recoverable=np.where(mine, saved, np.nan).astype(np.float32),
                bad=None if goodness[line] < 0 else bool(goodness[line] == 0),
            )
        )
    return out


def said_of(task: Task, model: Any) -> dict[str, np.ndarray]:
    """Return a model's output for the windows to test, by name as `Model.say` does."""
    rows = task.rows
    lines = np.unique(task.corpus.run[rows])
    said = said_of_runs(model, task.corpus, lines)
    where = np.searchsorted(said.pop("at"), rows)
    return {name: values[where].astype(float) for name, values in said.items()}


def said_of_runs(
    model: Any, corpus: Corpus, lines: Sequence[int] | np.ndarray
) -> dict[str, np.ndarray]:
    """Return a model's output for all windows of some runs, and `at`: their rows."""
    begin = np.searchsorted(corpus.run, np.arange(len(corpus.runs) + 1))
    every = all_traces(corpus.folder)
    parts: dict[str, list[np.ndarray]] = {}
    for line in lines:
        trace = every[corpus.runs[line].name]
        shares = claimed(trace)
        said = model.say(trace.arrays, threads=1, claimed=shares)
        for name, values in said.items():
            parts.setdefault(name, []).append(values)
        parts.setdefault("at", []).append(np.arange(begin[line], begin[line + 1]))
    return {name: np.concatenate(values) for name, values in parts.items()}


@lru_cache(1)
def all_traces(folder: Path) -> dict[str, Any]:
    """Return every trace of the corpus by name, read once a process."""
    from benchmarks.lab.detector.training_set import write_set
    from torchtraceap_train.traces import read_set

    if not (folder / "set.json").exists():
        write_set(folder)
    told = json.loads((folder / "set.json").read_text("utf-8"))
    names = [row["name"] for row in told["traces"]]
    return {trace.name: trace for trace in read_set(folder, names)}


def _name(task: Task, recipe: Recipe) -> str:
    """Return the file of a model: by all that decides about it."""
    import torchtraceap_train

    digest = hashlib.sha256(task.corpus.digest.encode())
    for text in (recipe, task.seed, task.quick):
        digest.update(repr(text).encode())
    digest.update(task.fold.train.tobytes() + task.fold.trained.tobytes())
    code = Path(torchtraceap_train.__file__).parent
    for path in (*sorted(code.glob("*.py")), Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16] + ".safetensors"
