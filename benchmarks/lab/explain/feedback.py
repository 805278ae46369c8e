#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""feedback.py CORPUS: whether answers of a second stage make the detector better.

    python -m benchmarks.lab.explain.feedback CORPUS             # trains and judges
    python -m benchmarks.lab.explain.feedback CORPUS --page      # and writes the page

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
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import RESULTS
from benchmarks.lab.detector.baselines.task import Task
from benchmarks.lab.detector.baselines.transformer import (
    Recipe,
    plan_of,
    said_of_runs,
    traces_of,
)
from benchmarks.lab.detector.benchmark_results import made_now
from benchmarks.lab.detector.compact_corpus import (
    SIDES,
    Corpus,
    CorpusError,
    read_corpus,
)
from benchmarks.lab.detector.judging.figures import judge
from benchmarks.lab.detector.judging.judged import Scores
from benchmarks.lab.detector.results_kept import load, path_of
from benchmarks.lab.detector.splits import folds_of, rows_to_test
from benchmarks.lab.detector.window_labels import label_windows
from benchmarks.lab.explain.answering import FACTS, answers_of_model, opened, shown
from benchmarks.lab.explain.asked_windows import NONE, Asked
from benchmarks.lab.explain.halves import (
    ALL,
    RANDOM,
    RULES,
    SAID_NONE,
    SILENT,
    TRUTH,
    Half,
)
from benchmarks.lab.explain.local_model import NAME, local_model
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap.explain.model.endpoint import Endpoint
from torchtraceap_train.recipe import plan_for
from torchtraceap_train.stacked import train_model
from torchtraceap_train.traces import LearningTrace

KEPT = RESULTS / "explain_feedback.json"
#: Of S1: the tasks with most groups.
TASKS = ("classification", "generation", "detection")
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
_KNOWN_MODELS = 12


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
        digests |= shown(opened(mine, lambda of: traces / f"{of}.json.gz"), FACTS)
    said: dict[str, str | None] = {}

    def keep(key: str, answers: list[str | None]) -> None:
        said[key] = answers[0]

    answers_of_model(digests, endpoint, 1, 0, keep)
    out = np.full(len(rows), SILENT)
    for at, window in windows.items():
        name = said[window.key]
        if name in corpus.patterns:
            out[at] = corpus.patterns.index(name)
        elif name == NONE:
            out[at] = SAID_NONE
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
    told = answers != SILENT
    named = told & (answers >= 0)
    right = labels.right[rows[named], answers[named]]
    known = labels.kind[rows[named]] >= 0
    side = labels.heads[corpus.sides[answers[named]], rows[named]]
    return {
        "answers": int(told.sum()),
        "none": int((told & (answers == SAID_NONE)).sum()),
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
    from benchmarks.lab.explain.feedback_page import page_text, summed

    results = summed(gathered(options.keep)) | {
        "made": made_now(),
        "corpus": corpus.digest,
    }
    print(text := page_text(results))
    if options.page:
        KEPT.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        KEPT.with_suffix(".md").write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
