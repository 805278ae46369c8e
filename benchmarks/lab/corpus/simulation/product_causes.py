# SPDX-License-Identifier: BSD-3-Clause
"""product_causes.py: matrix products that a device does more slowly than it could: in
full fp32, or of odd sizes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from benchmarks.lab.corpus.simulation.device_causes import device_us
from benchmarks.lab.corpus.simulation.host_causes import MAIN
from benchmarks.lab.corpus.simulation.inserting import evenly
from benchmarks.lab.corpus.simulation.items import Item, Steps
from benchmarks.lab.corpus.simulation.making import kernel_item
from benchmarks.lab.corpus.simulation.operator_rows import shapes_text
from benchmarks.lab.corpus.simulation.place import Place
from torchtraceap_dryrun.estimate.kernel_time import CLASSES
from torchtraceap_dryrun.estimate.launch import Launch

_PRODUCTS = ("gemm", "bmm", "conv")
_BATCH = 256
#: How much more these products are than what causes usually add: a third of their time
#: is all that padding saves.
_LARGE = 2.5


def _products(step: list[Item]) -> list[int]:
    """Return the places of products and convolutions."""
    return [i for i, item in enumerate(step) if _flops(item)]


def _flops(item: Item) -> float:
    works = (one for one, _ in item.launches if one.work.split("_")[0] in _PRODUCTS)
    return sum(one.flops for one in works)


def _precise(step: list[Item], places: Iterable[int]) -> None:
    for i in places:
        step[i] = replace(step[i], precise=True)


def _chosen(step: list[Item], share: float, place: Place) -> list[int]:
    """Return the largest products, such a share of them; null: the smallest alone."""
    found = sorted(_products(step), key=lambda i: (-_flops(step[i]), i))
    if place.null:
        return found[-1:]
    return found[: max(1, round(len(found) * share))]


def compute_in_fp32(steps: Steps, strength: float, place: Place) -> None:
    """Nobody allowed tensor cores: the larger the products, the sooner they say so."""
    for step in steps.steps:
        _precise(step, _chosen(step, 0.2 + 0.8 * strength, place))


def compute_block_in_fp32(steps: Steps, strength: float, place: Place) -> None:
    """A stretch of the program opted out, for the sake of a few digits."""
    begin = place.rng.random()
    for step in steps.steps:
        found = _products(step)
        many = max(1, round(len(found) * (0.1 + 0.6 * strength)))
        first = int(begin * (len(found) - many + 1))
        chosen = found[first : first + many]
        _precise(step, _chosen(step, 0.0, place) if place.null else chosen)


def cast_to_fp32(steps: Steps, strength: float, place: Place) -> None:
    """Inputs of products are cast to fp32 before them, results back after them."""
    for step in steps.steps:
        chosen = _chosen(step, 0.1 + 0.5 * strength, place)
        _precise(step, chosen)
        for i in sorted(chosen, reverse=True):
            before, after = (_cast(place, step[i], side) for side in ("in", "out"))
            step[i : i + 1] = [before, step[i], after]


def _cast(place: Place, product: Item, side: str) -> Item:
    moved = sum(launch.nbytes for launch, _ in product.launches)
    elements = 256 if place.null else max(256, int(moved / 12))
    return kernel_item(
        f"{place.tag}{product.key}{side}", "aten::copy_", "copy", elements,
        outer=product.outer[:2] if product.phase == "backward" else ("aten::to",
                                                                     "aten::_to_copy"),
        phase=product.phase, frames=product.frames,
    )  # fmt: skip


def _odd(steps: Steps, strength: float, place: Place, name: str, work: str, many: int,
         *, function: str, line: int, backward: bool = False) -> None:  # fmt: skip
    """Put products of odd sizes in; the fix pads them."""
    slow, fast = CLASSES[f"{work}_unaligned"], CLASSES[work]
    odd = not (place.fixed or place.null)
    work_us = device_us(strength, place) * (1.0 if place.null else _LARGE)
    us = max(3.0, work_us / (many * (3 if backward else 1)))
    us *= 1.0 if odd else slow.ef / fast.ef
    inner = 8 * place.rng.randrange(64, 256)
    # Drawn always: the fix draws what follows as the pattern does.
    columns = 8 * place.rng.randrange(64, 512)
    off = place.rng.randrange(1, 8)
    columns += off if odd else 0
    batch = [16] if work == "bmm" else []
    dims = [[*batch, _BATCH, inner], [*batch, inner, columns]]
    size = (16 if batch else 1) * 2.0
    launch = Launch(
        name, f"{work}_unaligned" if odd else work, "float16",
        size * _BATCH * inner * columns,
        size * (_BATCH * inner + inner * columns + _BATCH * columns),
        max(1, (_BATCH // 128) * columns // 128),
    )  # fmt: skip
    node = f"{name[6].upper()}{name[7:]}Backward0"
    engine = (f"autograd::engine::evaluate_function: {node}", node)
    args = shapes_text(dims, "c10::Half")

    def make(side: str, phase: str) -> Item:
        back = phase == "backward"
        frames = () if back else (MAIN, f"model.py({line}): {function}")
        return Item(
            f"{place.tag}{side}", "op", name, phase,
            engine if back else ("aten::matmul",), args, frames,
            launches=((launch, us),), line=f"model.py:{line + 2}", grows=False,
        )  # fmt: skip

    evenly(steps, many, lambda n, k: [make(f"{k}", "forward")])
    if backward and any(it.phase == "backward" for step in steps.steps for it in step):
        evenly(
            steps,
            many,
            lambda n, k: [make(f"{k}{side}", "backward") for side in "ab"],
            ("backward",),
        )


def odd_vocabulary(steps: Steps, strength: float, place: Place) -> None:
    """A vocabulary of 50,257: the head's product and both of its backward pass."""
    _odd(steps, strength, place, "aten::mm", "gemm", 1, function="head", line=61,
         backward=True)  # fmt: skip


def odd_hidden_size(steps: Steps, strength: float, place: Place) -> None:
    """Layers whose width is no multiple of 8."""
    _odd(steps, strength, place, "aten::mm", "gemm", 8, function="widen", line=67)


def odd_sequence(steps: Steps, strength: float, place: Place) -> None:
    """Batched products over sequences of odd length."""
    _odd(steps, strength, place, "aten::bmm", "bmm", 6, function="mix", line=73)
