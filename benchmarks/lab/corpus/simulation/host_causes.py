# SPDX-License-Identifier: BSD-3-Clause
"""host_causes.py: loading, pauses, compiling: mechanisms that cost host time."""

from __future__ import annotations

from benchmarks.lab.corpus.simulation.inserting import (
    at_begin,
    at_end,
    evenly,
    some_steps,
)
from benchmarks.lab.corpus.simulation.items import Item, Place, RuntimeCall, Steps

MAIN = "train.py(31): main"
_LOADER = "enumerate(DataLoader)#_{}DataLoaderIter.__next__"


def places(strength: float, most: int) -> int:
    """Return how many places a mechanism of a strength takes in a step."""
    return max(1, round(most**strength))


def _loading(place: Place, us: float, kind: str, iterator: str) -> Item:
    rows = (f"@{_LOADER.format(iterator)}",
            "#torch/utils/data/dataloader.py(728): __next__",
            "#torch/utils/data/_utils/fetch.py(45): fetch")  # fmt: skip
    return Item(f"{place.tag}load", kind, "", us=us, frames=(MAIN,), rows=rows,
                captured=False, line="train.py:44")  # fmt: skip


def _load_us(strength: float, place: Place) -> float:
    if place.natural:
        return place.step_us * (0.003 + 0.08 * strength**3)
    return place.step_us * (0.02 if place.null else 0.05 + 1.5 * strength**2)


def load_in_step(steps: Steps, strength: float, place: Place) -> None:
    """Samples are read and decoded by the training process itself."""
    us = _load_us(strength, place)
    at_begin(steps, lambda n, k: [_loading(place, us, "pause", "SingleProcess")])


def load_slowly(steps: Steps, strength: float, place: Place) -> None:
    """Worker processes that need longer for a batch than a step takes."""
    us = place.step_us * (0.6 if place.null else 1.05 + 1.6 * strength**2)
    at_begin(steps, lambda n, k: [_loading(place, us, "join", "MultiProcessing")])


def collate_in_step(steps: Steps, strength: float, place: Place) -> None:
    """Samples are there, but put together one by one in the training process."""
    us = _load_us(strength, place)
    many = 16

    def make(number: int, k: int) -> list[Item]:
        first = _loading(place, us / 2, "pause", "SingleProcess")
        rest = [
            Item(f"{place.tag}stack{i}", "pause", "", us=us / 2 / many, frames=(MAIN,),
                 rows=("aten::stack", "aten::cat"), captured=False)
            for i in range(many)
        ]  # fmt: skip
        return [first, *rest]

    at_begin(steps, make)


def _collect(place: Place, us: float, k: int) -> Item:
    return Item(f"{place.tag}gc{k}", "pause", "", us=us, captured=False,
                rows=("#Python GC",), line="")  # fmt: skip


def collect_often(steps: Steps, strength: float, place: Place) -> None:
    """The collector runs in every step; null: for a moment, behind a full queue."""
    us = place.step_us * (0.004 if place.null else 0.06 + strength**2)
    evenly(steps, 1, lambda n, k: [_collect(place, us, k)])


def collect_once(steps: Steps, strength: float, place: Place) -> None:
    """A full collection in one step."""
    us = place.step_us * (0.004 if place.null else 0.3 + 4 * strength**2)
    chosen = [place.rng.randrange(len(steps.steps))]
    at_end(steps, lambda n, k: [_collect(place, us, k)], chosen)


def collect_twice(steps: Steps, strength: float, place: Place) -> None:
    """Young generations within a step, as objects are made."""
    us = place.step_us * (0.002 if place.null else 0.02 + 0.25 * strength**2)
    evenly(steps, 3, lambda n, k: [_collect(place, us, k)])


def _python(place: Place, us: float, function: str, line: int, k: int) -> Item:
    rows = (f"#train.py({line}): {function}",)
    return Item(f"{place.tag}{k}", "pause", "", us=us, frames=(MAIN,), rows=rows,
                captured=False, line=f"train.py:{line + 2}")  # fmt: skip


def loop_in_python(steps: Steps, strength: float, place: Place) -> None:
    """A loop over lists at the end of each step."""
    us = place.step_us * (0.004 if place.null else 0.06 + strength**2)
    at_end(steps, lambda n, k: [_python(place, us, "track_history", 88, k)])


def log_metrics(steps: Steps, strength: float, place: Place) -> None:
    """Metrics are formatted and written several times a step."""
    us = place.step_us * (0.002 if place.null else 0.02 + 0.3 * strength**2)
    make = lambda n, k: [_python(place, us, "write_metrics", 95, k)]  # noqa: E731
    evenly(steps, 3, make, ("forward", "optimizer"))


def run_hooks(steps: Steps, strength: float, place: Place) -> None:
    """A hook of Python runs after many modules."""
    many = 20
    us = place.step_us / many * (0.02 if place.null else 0.06 + strength**2)
    evenly(steps, many, lambda n, k: [_python(place, us, "hook", 102, k)])


def _once(steps: Steps, place: Place) -> list[int]:
    return [place.rng.randrange(len(steps.steps))]


def load_modules(steps: Steps, strength: float, place: Place) -> None:
    """Kernels that are called for the first time have to be loaded."""
    us = place.step_us * (0.003 if place.null else 0.1 + 2 * strength**2) / 4
    calls = tuple(RuntimeCall("cuLibraryLoadData", us) for _ in range(4))
    item = lambda n, k: [Item(f"{place.tag}{k}", "call", "", calls=calls,  # noqa: E731
                              frames=(MAIN,), captured=False)]  # fmt: skip
    at_begin(steps, item, [0] if place.rng.random() < 0.6 else _once(steps, place))


def compile_again(steps: Steps, strength: float, place: Place) -> None:
    """A function is compiled for another shape."""
    us = place.step_us * (0.004 if place.null else 0.3 + 5 * strength**2)
    rows = ("#torch/_dynamo/convert_frame.py(1100): __call__",
            "_compile.compile_inner (dynamo_timed)")  # fmt: skip
    at_begin(
        steps,
        lambda n, k: [Item(f"{place.tag}{k}", "pause", "", us=us, rows=rows,
                           frames=(MAIN,), captured=False)],
        _once(steps, place),
    )  # fmt: skip


def tune_convolutions(steps: Steps, strength: float, place: Place) -> None:
    """cuDNN tries algorithms, taking and freeing memory for each."""
    us = place.step_us * (0.002 if place.null else 0.1 + 2 * strength**2) / 12
    calls = tuple(
        RuntimeCall(name, us, drains=name == "cudaFree" and not place.null)
        for _ in range(4)
        for name in ("cudaMalloc", "cudaFuncGetAttributes", "cudaFree")
    )
    at_begin(
        steps,
        lambda n, k: [Item(f"{place.tag}{k}", "call", "", calls=calls,
                           rows=("aten::cudnn_convolution",), frames=(MAIN,),
                           captured=False)],
        some_steps(steps, place.rng, 0.3),
    )  # fmt: skip


def load_ahead(steps: Steps, strength: float, place: Place) -> None:
    """Workers that are done in less than a step: the wait is for a moment."""
    us = place.step_us * (0.2 + 0.6 * strength)
    at_begin(steps, lambda n, k: [_loading(place, us, "join", "MultiProcessing")])
