# SPDX-License-Identifier: BSD-3-Clause
"""loading.py: where a step's batch comes from, and how it gets to the device."""

from __future__ import annotations

import random

from benchmarks.lab.blame.case import Case
from benchmarks.lab.blame.instructions import Workers
from benchmarks.lab.blame.script import COMPUTE, PINNED, Script

_WORKERS = 4
_FETCH = "enumerate(DataLoader)#_{}DataLoaderIter.__next__"
_COPIES = (0, 14)


def workers(s: Script, case: Case) -> Workers:
    """Return the loader's processes: fast enough, or behind by the fault's strength."""
    rng = random.Random(f"{case.seed}loader")
    behind = s.has("dataloader_bound:workers")
    each = 1 + behind if behind else rng.uniform(0.3, 0.8)
    mean = each * case.step_us * _WORKERS
    times = [mean * rng.lognormvariate(0, 0.05) for _ in range(case.steps)]
    return Workers(_WORKERS, times, behind=behind > 0)


def batch(s: Script, case: Case, i: int) -> None:
    """Fetch a batch and copy it."""
    with s.part("loader"), s.frame("train.py(47): next_batch"):
        if own := s.has("dataloader_bound:main"):
            _in_the_process(s, own * case.step_us)
        elif case.loader:
            with (
                s.uncaptured(),
                s.range(_FETCH.format("MultiProcessing")),
                s.frame("torch/utils/data/dataloader.py(628): __next__"),
            ):
                s.host(20)
                s.take(i, 60)
    with s.part("input"), s.frame("train.py(49): to_device"):
        _to_device(s, case, i)


def _in_the_process(s: Script, us: float) -> None:
    with (
        s.uncaptured(),
        s.range(_FETCH.format("SingleProcess")),
        s.frame("torch/utils/data/dataloader.py(628): __next__"),
        s.frame("torch/utils/data/_utils/fetch.py(47): fetch"),
    ):
        for _ in range(6):
            with s.frame("dataset.py(31): __getitem__"):
                s.host(us / 7)
        with s.op("aten::stack"):
            s.host(us / 7)


def _to_device(s: Script, case: Case, i: int) -> None:
    gpu = s.gpu
    if number := s.has("frequent_memcpy"):
        with s.part("small"):
            _small_copies(s, number)
    elif number := s.has("frequent_memcpy~"):
        with s.part("packed"), s.op("aten::to", "aten::_to_copy", "aten::copy_"):
            s.copy("HtoD", 8 * number, PINNED)
    if share := s.has("pageable_copy"):
        size = max(share * case.step_us * gpu.pageable * 1000, 1e6)
        with s.op("aten::to", "aten::_to_copy", "aten::copy_"):
            s.blocking_copy("HtoD", size)
    elif size := s.has("pageable_copy~"):
        with s.op("aten::to", "aten::_to_copy", "aten::copy_"):
            s.copy("HtoD", max(size * case.step_us * gpu.pageable * 1000, 1e6), PINNED)
    _large_copy(s, case, i)
    with s.op("aten::to", "aten::_to_copy", "aten::copy_"):
        s.copy("HtoD", 32_000, PINNED)


def _large_copy(s: Script, case: Case, i: int) -> None:
    """Copy the batch before the step, or the next one beside it."""
    exposed = s.has("exposed_copy")
    share = exposed or s.has("exposed_copy~")
    if not share:
        return
    size = share * case.device_us * s.gpu.pinned * 1000
    numbers = [i] if exposed else [i + 1] if i else [0, 1]
    if not exposed and i:
        s.hold(f"batch{i}", COMPUTE)
    for number in numbers:
        if number >= case.steps:
            continue
        with (
            s.part(f"/batch{number}"),
            s.op("aten::to", "aten::_to_copy", "aten::copy_"),
        ):
            s.copy("HtoD", size, PINNED, COMPUTE if exposed else _COPIES)
        if not exposed:
            s.event(f"batch{number}", _COPIES)
            if number == 0:
                s.hold("batch0", COMPUTE)


def _small_copies(s: Script, number: float) -> None:
    """Values copied one by one, each with a wait."""
    for _ in range(round(number)):
        with s.op("aten::to", "aten::_to_copy", "aten::copy_"):
            s.blocking_copy("HtoD", 8)
        s.host(s.gpu.dispatch * s.slow)
