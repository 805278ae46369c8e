# SPDX-License-Identifier: BSD-3-Clause
"""product_causes.py: matrix products that a device does more slowly than it could: in
full fp32, of odd sizes, or as attention written out, whose fix is one kernel."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from benchmarks.lab.corpus.simulation.device_causes import device_us
from benchmarks.lab.corpus.simulation.host_causes import MAIN
from benchmarks.lab.corpus.simulation.inserting import evenly, kernel_item
from benchmarks.lab.corpus.simulation.items import Item, Place, Steps
from benchmarks.lab.corpus.simulation.operator_rows import shapes_text
from torchtraceap_dryrun.estimate.kernel_time import CLASSES
from torchtraceap_dryrun.estimate.launch import Launch

_LAYERS = 4
_HEADS, _LENGTH, _SIZE = 64, 256, 64

#: An operator, the class of its kernel, and its share of all the time: products write
#: and read the scores once each, what is between them both reads and writes them.
Part = tuple[str, str, float]
_FORWARD: tuple[Part, ...] = (
    ("aten::bmm", "bmm", 0.22),
    ("aten::div", "elementwise", 0.18),
    ("aten::_softmax", "norm", 0.24),
    ("aten::bmm", "bmm", 0.2),
)
_MASKED: tuple[Part, ...] = (
    *_FORWARD[:2],
    ("aten::masked_fill_", "elementwise", 0.18),
    _FORWARD[2],
    ("aten::native_dropout", "elementwise", 0.2),
    _FORWARD[3],
)
_BACKWARD: tuple[tuple[str, Part], ...] = (
    ("BmmBackward0", ("aten::bmm", "bmm", 0.22)),
    ("BmmBackward0", ("aten::bmm", "bmm", 0.22)),
    ("SoftmaxBackward0", ("aten::_softmax_backward_data", "norm", 0.26)),
    ("DivBackward0", ("aten::div", "elementwise", 0.18)),
    ("BmmBackward0", ("aten::bmm", "bmm", 0.2)),
    ("BmmBackward0", ("aten::bmm", "bmm", 0.2)),
)
#: What a fused kernel takes, over the products of the one it replaces.
_FUSED = 0.7


def attend_forward(steps: Steps, strength: float, place: Place) -> None:
    """Product, scale, softmax, product; nothing of it in the backward pass."""
    _attend(steps, strength, place, _FORWARD, backward=False)


def attend_and_back(steps: Steps, strength: float, place: Place) -> None:
    """The same in both passes."""
    _attend(steps, strength, place, _FORWARD, backward=True)


def attend_with_mask(steps: Steps, strength: float, place: Place) -> None:
    """The same with a mask and dropout, each a pass over the scores."""
    _attend(steps, strength, place, _MASKED, backward=False)


def _attend(
    steps: Steps, strength: float, place: Place, parts: tuple[Part, ...], backward: bool
) -> None:
    us = device_us(strength, place) / _LAYERS
    fused = place.fixed or place.null
    trains = any(item.phase == "backward" for step in steps.steps for item in step)

    def forward(number: int, k: int) -> list[Item]:
        if fused:
            return [_fused_item(place, k, us * _product_share(parts), "forward")]
        return [_part_item(place, f"{k}f{i}", part, us) for i, part in enumerate(parts)]

    def back(number: int, k: int) -> list[Item]:
        plain = tuple(part for _, part in _BACKWARD)
        if fused:
            return [_fused_item(place, k, us * _product_share(plain), "backward")]
        return [
            _part_item(place, f"{k}b{i}", part, us, node)
            for i, (node, part) in enumerate(_BACKWARD)
        ]

    many = 1 if place.null else _LAYERS
    evenly(steps, many, forward)
    if backward and trains:
        evenly(steps, many, back, ("backward",))


def _product_share(parts: tuple[Part, ...]) -> float:
    return _FUSED * sum(share for _, work, share in parts if work == "bmm")


def _engine_rows(node: str) -> tuple[str, ...]:
    return (f"autograd::engine::evaluate_function: {node}", node)


def _part_item(place: Place, key: str, part: Part, us: float, node: str = "") -> Item:
    name, work, share = part
    scores = [_HEADS, _LENGTH, _LENGTH]
    dims = [scores, [_HEADS, _LENGTH, _SIZE]] if work == "bmm" else [scores]
    elements = float(_HEADS * _LENGTH * _LENGTH)
    flops = 2.0 * elements * _SIZE if work == "bmm" else 0.0
    blocks = int(elements / (4096 if work == "bmm" else 512))
    launch = Launch(name, work, "float16", flops, 4.0 * elements, blocks)
    outer = {"bmm": ("aten::matmul",), "norm": ("aten::softmax",)}.get(work, ())
    return Item(
        f"{place.tag}{key}", "op", name, "backward" if node else "forward",
        _engine_rows(node) if node else outer, shapes_text(dims, "c10::Half"),
        () if node else (MAIN, "model.py(81): attend"),
        launches=((launch, max(1.5, us * share)),), line="model.py:84", grows=False,
    )  # fmt: skip


def _fused_item(place: Place, k: int, us: float, phase: str) -> Item:
    back = phase == "backward"
    side = "_backward" if back else ""
    name = f"aten::_scaled_dot_product_efficient_attention{side}"
    dims = [[1, _HEADS, _LENGTH, _SIZE]] * 3
    flops = 4.0 * _HEADS * _LENGTH * _LENGTH * _SIZE
    nbytes = 8.0 * _HEADS * _LENGTH * _SIZE
    launch = Launch(name, f"attention{side}", "float16", flops, nbytes, 4 * _HEADS)
    outer = ("aten::scaled_dot_product_attention",)
    return Item(
        f"{place.tag}{k}{phase}", "op", name, phase,
        _engine_rows("ScaledDotProductEfficientAttentionBackward0") if back else outer,
        shapes_text(dims, "c10::Half"),
        () if back else (MAIN, "model.py(81): attend"),
        launches=((launch, max(3.0, us)),), grows=False,
    )  # fmt: skip


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
    """Tensor cores are not allowed: the larger the products, the sooner it shows."""
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
    """Layers whose width is not a multiple of 8."""
    _odd(steps, strength, place, "aten::mm", "gemm", 8, function="widen", line=67)


def odd_sequence(steps: Steps, strength: float, place: Place) -> None:
    """Batched products over sequences of odd length."""
    _odd(steps, strength, place, "aten::bmm", "bmm", 6, function="mix", line=73)
