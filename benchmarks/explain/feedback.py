#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""feedback.py CORPUS: whether answers of a second stage make the detector better.

    python benchmarks/explain/feedback.py CORPUS             # trains and judges
    python benchmarks/explain/feedback.py CORPUS --page      # and writes the page

For each of some folds of S1: a network that has seen no program of a task flags windows
of one half of the task's groups; a teacher names the pattern of each; the network is
trained further on these answers as `torchtraceap train --from` does, and judged on the
other half, before and after. What was judged is kept in a folder, to go on from there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from answering import GRAPH, answers_of_model, opened, shown
from asked_windows import HERE, NONE, Asked
from baselines.task import Task
from baselines.transformer import Recipe, all_traces, plan_of, said_of_runs, traces_of
from benchmark_results import made_now
from choose import flagged
from compact_corpus import SIDES, Corpus, CorpusError, read_corpus
from folds import Fold
from judging.figures import judge
from judging.judged import Scores
from local_model import NAME, local_model
from results_kept import load, path_of
from splits import folds_of, rows_to_test
from window_labels import POSITIVE, UNSCORED, Labels, label_windows

from torchtraceap import _core
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap.explain.endpoint import Endpoint
from torchtraceap_train.recipe import plan_for
from torchtraceap_train.stacked import train_model
from torchtraceap_train.traces import OWN, LearningTrace

RESULTS = HERE.parent / "results" / "explain_feedback.json"
#: Of S1: the tasks with most groups.
TASKS = ("classification", "generation", "detection")
RULES, TRUTH, RANDOM, ALL = "rules, then detector", "truth", "random", "all labels"
#: The old traces again, and no answer.
NOBODY = "nobody"
#: A language model; it is named beside.
MODEL = "model"
BEFORE = "before"
#: Who answers, and whether the network learns from its old traces beside the answers.
RUNS = (
    (RULES, False),
    (TRUTH, False),
    (RULES, True),
    (TRUTH, True),
    (ALL, True),
    (RANDOM, True),
    (NOBODY, True),
    (MODEL, True),
)
#: A model is asked about so many windows of a fold.
ASKED = 60
#: What is judged: the network by itself, and the stack that ships.
VOICES = ("network", "probability")
#: No pattern and no answer, where a pattern's number stands.
_NONE, _SILENT = -1, -2
_KNOWN_MODELS = 12


class Half:
    """One fold of S1, its groups halved: A gets feedback, B is judged."""

    def __init__(self, corpus: Corpus, labels: Labels, fold: Fold, seed: int) -> None:
        self.corpus, self.labels, self.fold, self.seed = corpus, labels, fold, seed
        rows = np.flatnonzero((fold.test >= 0).any(axis=0))
        lines = np.unique(corpus.run[rows])
        group, source = corpus.of_runs("group"), corpus.of_runs("source")
        random = np.random.default_rng([seed, 22])
        asked: set[str] = set()
        for one in np.unique(source[lines]):
            names = np.unique(group[lines[source[lines] == one]])
            asked |= set(random.permutation(names)[: len(names) // 2].tolist())
        in_a = np.isin(group[lines], list(asked))
        self.a, self.b = lines[in_a], lines[~in_a & ~np.isin(group[lines], list(asked))]
        in_b = np.isin(corpus.run, self.b)
        test = np.where(in_b, fold.test, UNSCORED)
        self.judged = Fold(fold.split, fold.item, fold.trained, fold.train, test)
        self.rows = rows_to_test(corpus, self.judged)

    def judge(self, model: Any) -> dict[str, dict[str, Any]]:
        """Return areas on B, with resamples of groups, by voice and side."""
        said = said_of_runs(model, self.corpus, np.unique(self.corpus.run[self.rows]))
        where = np.searchsorted(said["at"], self.rows)
        out: dict[str, dict[str, Any]] = {}
        for voice in VOICES:
            scores = Scores(said[voice][where].T.astype(float))
            found = judge(self.corpus, self.labels, self.judged, self.rows, scores)
            out[voice] = {
                side: [found.figures[name], *found.resampled[name].tolist()]
                for side in SIDES
                if (name := f"{side}_auroc") in found.figures
            }
        return out

    def answers(self, teacher: str, said: dict[str, np.ndarray]) -> np.ndarray:
        """Return int [n]: a pattern's number for each flagged row of A, or _NONE."""
        at, corpus = said["flagged"], self.corpus
        if teacher == RANDOM:
            known = {p.name for p in _core.patterns() if p.user_finding}
            numbers = [k for k, name in enumerate(corpus.patterns) if name in known]
            return np.random.default_rng([self.seed, 3]).choice(numbers, len(at))
        if teacher == TRUTH:
            without = (self.labels.heads[:, at] == 0).all(axis=0)
            kind = self.labels.kind[at]
            return np.where(kind >= 0, kind, np.where(without, _NONE, _SILENT))
        rules = np.nan_to_num(corpus.rules[at])
        return np.where(rules.max(axis=1) > 0, rules.argmax(axis=1), said["guess"])

    def flagged_in_a(self, model: Any) -> dict[str, np.ndarray]:
        """Return A's rows that rules or the model flag, and the model's guesses."""
        corpus, said = self.corpus, said_of_runs(model, self.corpus, self.a)
        at = said["at"]
        rules = np.nan_to_num(corpus.rules[at]).max(axis=1) >= POSITIVE
        some = rules | flagged(model, said, corpus.run[at], corpus.device[at])
        side = said["probability"].argmax(axis=1)
        mine = corpus.sides[None, :] == side[:, None]
        guess = np.where(mine, said["types"], -np.inf).argmax(axis=1)
        return {"flagged": at[some], "guess": guess[some]}

    def learned_from(
        self, rows: np.ndarray, answers: np.ndarray
    ) -> list[LearningTrace]:
        """Return A's traces with what answers tell, as `--labels` would read them: a
        pattern makes a window positive on its side, none negative on both."""
        corpus = self.corpus
        begin = np.searchsorted(corpus.run, np.arange(len(corpus.runs) + 1))
        every, out = all_traces(corpus.folder), []
        any_ = np.full((len(corpus.run), 2), UNSCORED, np.int8)
        types = np.full((len(corpus.run), len(corpus.patterns)), UNSCORED, np.int8)
        named = answers >= 0
        at, what = rows[named], answers[named]
        any_[at, corpus.sides[what]] = types[at, what] = 1
        any_[rows[answers == _NONE]] = 0
        kind = np.full(len(corpus.run), -1, np.int16)
        kind[at] = what
        for line in np.unique(corpus.run[rows[answers != _SILENT]]):
            here = slice(begin[line], begin[line + 1])
            trace = every[corpus.runs[line].name]
            out.append(
                replace(
                    trace,
                    group=trace.name,
                    source=OWN,
                    any=any_[here],
                    types=types[here],
                    kind=kind[here],
                    recoverable=np.full(len(trace), np.nan, np.float32),
                    bad=None,
                    twin="",
                )
            )
        return out

    def all_labels(self) -> list[LearningTrace]:
        """Return A's traces with all labels that the corpus has: the most that any
        teacher could tell."""
        every = all_traces(self.corpus.folder)
        names = [self.corpus.runs[line].name for line in self.a]
        return [replace(every[name], source=OWN, group=name) for name in names]


def base_of(task: Task, folder: Path) -> Path:
    """Return the fold's network: of those of the benchmark the one that judges the fold
    as the benchmark says, or else one that is trained here."""
    own = folder / f"{task.fold.name}.safetensors"
    if own.exists():
        return own
    module = load_torch_module()
    evaluated = task.corpus.folder.parent / "evaluated"
    kept = [p.parent for p in evaluated.glob(f"*/{task.fold.name}~transformer~0.npz")]
    for results in sorted(kept, key=lambda path: -path.stat().st_mtime)[:1]:
        told = load(path_of(results, task.fold.name, "transformer", 0)).judged.figures
        models = sorted(
            (evaluated / "models").glob("*"), key=lambda p: p.stat().st_mtime
        )
        for path in models[:_KNOWN_MODELS]:
            model = module.Model.load(str(path))
            said = said_of_runs(
                model, task.corpus, np.unique(task.corpus.run[task.rows])
            )
            where = np.searchsorted(said["at"], task.rows)
            scores = Scores(said["network"][where].T.astype(float))
            found = judge(
                task.corpus, task.labels, task.fold, task.rows, scores
            ).figures
            if all(abs(found[f"{s}_auroc"] - told[f"{s}_auroc"]) < 1e-6 for s in SIDES):
                own.write_bytes(path.read_bytes())
                return own
    model = train_model(traces_of(task, Recipe()), plan_of(Recipe(), False), seed=0)
    model.save(str(own))
    return own


def answers_of(half: Half, rows: np.ndarray, endpoint: Any, folder: Path) -> np.ndarray:
    """Ask a model about some of the flagged rows; of the others it is silent."""
    corpus = half.corpus
    random = np.random.default_rng([half.seed, 4])
    some = np.sort(random.choice(len(rows), min(ASKED, len(rows)), replace=False))
    begin = np.searchsorted(corpus.run, corpus.run[rows])
    begin_ns = np.load(corpus.folder / "windows.npz")["begin_ns"]
    windows = {
        int(at): Asked(
            run.name, int(rows[at] - begin[at]), int(begin_ns[rows[at]]), run.group,
            run.source, "", "", (),
        )
        for at in some for run in [corpus.runs[corpus.run[rows[at]]]]
    }  # fmt: skip
    traces = corpus.folder.parent / "traces"
    digests: dict[str, Any] = {}
    for trace in dict.fromkeys(w.trace for w in windows.values()):
        mine = [w for w in windows.values() if w.trace == trace]
        digests |= shown(opened(mine, lambda of: traces / f"{of}.json.gz"), GRAPH)
    said: dict[str, str | None] = {}

    def keep(key: str, answers: list[str | None]) -> None:
        said[key] = answers[0]

    answers_of_model(digests, endpoint, 1, 0, keep)
    out = np.full(len(rows), _SILENT)
    for at, window in windows.items():
        name = said[window.key]
        if name in corpus.patterns:
            out[at] = corpus.patterns.index(name)
        elif name == NONE:
            out[at] = _NONE
    path = folder / f"answers-{half.fold.item}-{half.seed}.json"
    path.write_text(json.dumps(said), "utf-8")
    return out


def measure(
    corpus: Corpus,
    folder: Path,
    seeds: int,
    tasks: tuple[str, ...],
    teachers: tuple[str, ...],
    steps: int | None,
    endpoint: Any,
) -> None:
    """Train and judge all that is not kept yet."""
    labels = label_windows(corpus)
    folds, _ = folds_of(corpus, labels)
    for seed, item in product(range(seeds), tasks):
        fold = next(f for f in folds if f.split == "S1" and f.item == item)
        task = Task(corpus, labels, fold, rows_to_test(corpus, fold), 0)
        base = base_of(task, folder)
        half = Half(corpus, labels, fold, seed)
        model = load_torch_module().Model.load(str(base))
        said = half.flagged_in_a(model)
        keep = kept_in(folder, item, seed)
        keep(BEFORE, partial(_before, half, model, said))
        for teacher, mixed in RUNS:
            named = teacher
            if teacher == MODEL:
                if endpoint is None:
                    continue
                named = endpoint.model
            if teacher in teachers:
                learn = partial(_after, task, half, said, base, teacher, mixed, steps,
                                endpoint, folder)  # fmt: skip
                keep(f"{named}, {'mixed' if mixed else 'alone'}", learn)


def _before(half: Half, model: Any, said: dict[str, np.ndarray]) -> dict[str, Any]:
    return half.judge(model) | sizes(half, said)


def _after(
    task: Task,
    half: Half,
    said: dict[str, np.ndarray],
    base: Path,
    teacher: str,
    mixed: bool,
    steps: int | None,
    endpoint: Any,
    folder: Path,
) -> dict[str, Any]:
    """Train on a teacher's answers, and judge."""
    traces: list[LearningTrace] = []
    facts: dict[str, Any] = {}
    if teacher == ALL:
        traces = half.all_labels()
    elif teacher != NOBODY:
        if teacher == MODEL:
            answers = answers_of(half, said["flagged"], endpoint, folder)
        else:
            answers = half.answers(teacher, said)
        traces = half.learned_from(said["flagged"], answers)
        facts = judged_answers(half, said["flagged"], answers)
    if mixed:
        traces = [*traces_of(task, Recipe()), *traces]
    plan = plan_for(traces, steps, base, trees=False)
    after = train_model(traces, plan, seed=half.seed, begin=base)
    return half.judge(after) | facts


def sizes(half: Half, said: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return how much there is of both halves."""
    group = half.corpus.of_runs("group")
    return {
        "groups": [len(np.unique(group[lines])) for lines in (half.a, half.b)],
        "flagged": len(said["flagged"]),
        "judged": len(half.rows),
    }


def judged_answers(
    half: Half, rows: np.ndarray, answers: np.ndarray
) -> dict[str, float]:
    """Return how many answers there are, and of those of which it is known how many are
    right: by pattern, and by side alone, which is all that the heads learn."""
    labels, corpus = half.labels, half.corpus
    told = answers != _SILENT
    named = told & (answers >= 0)
    right = labels.right[rows[named], answers[named]]
    known = labels.kind[rows[named]] >= 0
    side = labels.heads[corpus.sides[answers[named]], rows[named]]
    return {
        "answers": int(told.sum()),
        "none": int((told & (answers == _NONE)).sum()),
        "right": float(right[known].mean()),
        "side_right": float((side[side >= 0] == 1).mean()),
        "side_known": int((side >= 0).sum()),
    }


def kept_in(folder: Path, item: str, seed: int) -> Callable[..., None]:
    """Return what keeps a result in a file of the folder, unless it is there."""

    def keep(name: str, make: Callable[[], dict[str, Any]]) -> None:
        path = folder / f"{item}~{name}~{seed}.json".replace(" ", "_")
        if not path.exists():
            path.write_text(json.dumps(make()), "utf-8")
            print(path.name, flush=True)

    return keep


def gathered(folder: Path) -> dict[str, Any]:
    """Return all results of the folder: by seed, task and run."""
    out: dict[str, Any] = {}
    for path in sorted(folder.glob("*~*~*.json")):
        item, name, seed = path.stem.split("~")
        of_seed = out.setdefault(seed, {}).setdefault(item, {})
        of_seed[name.replace("_", " ")] = json.loads(path.read_text("utf-8"))
    return out


def main() -> int:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus", type=Path, help="folder of a corpus")
    parser.add_argument("--seeds", type=int, default=1, help="halves and trainings")
    parser.add_argument("--tasks", default=",".join(TASKS), help="folds of S1")
    parser.add_argument(
        "--teachers", default=";".join(dict.fromkeys(name for name, _ in RUNS))
    )
    parser.add_argument("--steps", type=int, help="default: as `torchtraceap train`")
    parser.add_argument("--local", action="store_true", help="ask the local model too")
    parser.add_argument("--keep", type=Path, default=Path("build/explain"))
    parser.add_argument("--page", action="store_true", help="write results and page")
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    try:
        corpus = read_corpus(options.corpus)
    except CorpusError as error:
        print(f"feedback.py: {error}", file=sys.stderr)
        return 2
    tasks = tuple(options.tasks.split(","))
    with ExitStack() as stack:
        endpoint = None
        if options.local:
            url, key = stack.enter_context(local_model())
            endpoint = Endpoint(
                url=url, model=NAME, api_key=key, timeout_s=120, parallel=1
            )
        measure(
            corpus,
            options.keep,
            options.seeds,
            tasks,
            tuple(options.teachers.split(";")),
            options.steps,
            endpoint,
        )
    from feedback_page import page_text, summed

    results = summed(gathered(options.keep)) | {
        "made": made_now(),
        "corpus": corpus.digest,
    }
    print(text := page_text(results))
    if options.page:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        RESULTS.with_suffix(".md").write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
