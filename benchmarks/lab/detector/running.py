# SPDX-License-Identifier: BSD-3-Clause
"""running.py: trains and judges the baselines, fold by fold, in several processes."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any, ClassVar

from threadpoolctl import threadpool_limits
from tqdm import tqdm

from benchmarks.lab.detector.asked import Asked, Job, seeds_of
from benchmarks.lab.detector.baselines.table import BASELINES
from benchmarks.lab.detector.baselines.task import NotHere, Task
from benchmarks.lab.detector.compact_corpus import Corpus, read_corpus
from benchmarks.lab.detector.folds import Fold, Skipped
from benchmarks.lab.detector.judging.figures import judge
from benchmarks.lab.detector.judging.judged import Judged
from benchmarks.lab.detector.results_kept import Result, folder_of, keep, load, path_of
from benchmarks.lab.detector.splits import folds_of, rows_to_test
from benchmarks.lab.detector.window_labels import label_windows

#: Seconds between two looks at what is done.
_GLANCE = 2.0


def evaluate(asked: Asked) -> tuple[list[Result], list[Skipped]]:
    """Evaluate what has not been evaluated before; return all results.

    Shows progress. Keeps each result at once (results_kept.py): a stopped run
    resumes.
    """
    corpus = read_corpus(asked.folder)
    folds, skipped = _folds(asked, corpus)
    kept = folder_of(corpus, asked.quick)
    jobs, results = [], []
    for seed in range(asked.seeds):
        for number, fold in enumerate(folds):
            missing: list[str] = []
            if seed >= seeds_of(fold, folds, asked.seeds):
                continue
            for baseline in asked.chosen():
                path = path_of(kept, fold.name, baseline.name, seed)
                if path.exists():
                    results.append(load(path))
                elif baseline.seeded or seed == 0:
                    missing.append(baseline.name)
            if missing:
                jobs.append(Job(number, seed, tuple(missing), kept))
    total = sum(len(job.baselines) for job in jobs)
    with tqdm(total=total, desc="evaluating", unit="fit", disable=not total) as bar:
        results += _run(asked, jobs, bar)
    return results, skipped


def _folds(asked: Asked, corpus: Corpus) -> tuple[list[Fold], list[Skipped]]:
    folds, skipped = folds_of(corpus, label_windows(corpus))
    wanted = asked.splits
    if wanted:
        folds = [f for f in folds if f.split in wanted]
    if not asked.gold:
        if any(f.split == "S7" for f in folds):
            skipped.append(Skipped("S7", "", "not opened (--open-gold)"))
        folds = [f for f in folds if f.split != "S7"]
    return folds, [s for s in skipped if not wanted or s.split in wanted]


def _run(asked: Asked, jobs: Sequence[Job], bar: Any) -> Iterator[Result]:
    if asked.jobs == 1:
        for job in jobs:
            with threadpool_limits(1):
                for result in _fold_results(asked, job):
                    bar.update()
                    yield result
        return
    context = multiprocessing.get_context()
    done = context.SimpleQueue()
    with ProcessPoolExecutor(
        asked.jobs, context, initializer=_Read.tell, initargs=(done,)
    ) as pool:
        waiting = {pool.submit(_all_of, asked, job) for job in jobs}
        try:
            while waiting:
                ready, waiting = wait(waiting, _GLANCE, FIRST_COMPLETED)
                while not done.empty():
                    bar.set_postfix_str(done.get(), refresh=False)
                    bar.update()
                for one in ready:
                    yield from one.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _all_of(asked: Asked, job: Job) -> list[Result]:
    results = []
    with threadpool_limits(1):
        for result in _fold_results(asked, job):
            results.append(result)
            _Read.done.put(f"{result.split} {result.baseline}")
    return results


class _Read:
    """What a process has: the corpus and its folds, and whom to tell what is done."""

    of: ClassVar[tuple[Path, Corpus, list[Fold]] | None] = None
    done: ClassVar[Any] = None

    @classmethod
    def tell(cls, done: Any) -> None:
        """Say what is done into a queue."""
        cls.done = done

    @classmethod
    def get(cls, asked: Asked) -> tuple[Corpus, list[Fold]]:
        """Return them."""
        if cls.of is None or cls.of[0] != asked.folder:
            import torch

            torch.set_num_threads(1)
            corpus = read_corpus(asked.folder)
            cls.of = asked.folder, corpus, folds_of(corpus, label_windows(corpus))[0]
        folds = cls.of[2]
        if asked.splits:
            folds = [f for f in folds if f.split in asked.splits]
        if not asked.gold:
            folds = [f for f in folds if f.split != "S7"]
        return cls.of[1], folds


def _fold_results(asked: Asked, job: Job) -> Iterator[Result]:
    corpus, folds = _Read.get(asked)
    fold, seed, labels = folds[job.fold], job.seed, label_windows(corpus)
    rows = rows_to_test(corpus, fold)
    task = Task(corpus, labels, fold, rows, seed, asked.quick, asked.tabicl)
    for baseline in BASELINES:
        if baseline.name not in job.baselines:
            continue
        began, why, judged = time.process_time(), "", Judged()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores = baseline.score(task)
            seconds = time.process_time() - began
            judged = judge(corpus, labels, fold, rows, scores)
        except NotHere as error:
            seconds, why = 0.0, str(error)
        result = Result(
            fold.split, fold.item, baseline.name, seed, judged, why, seconds
        )
        if not why:  # What could not run may be able to next time.
            keep(path_of(job.kept, fold.name, baseline.name, seed), result)
        yield result
