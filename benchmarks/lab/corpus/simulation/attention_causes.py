# SPDX-License-Identifier: BSD-3-Clause
"""attention_causes.py: attention written out, product by product; its fix is one
kernel."""

from __future__ import annotations

from benchmarks.lab.corpus.simulation.device_causes import device_us
from benchmarks.lab.corpus.simulation.host_causes import MAIN
from benchmarks.lab.corpus.simulation.inserting import evenly
from benchmarks.lab.corpus.simulation.items import Item, Steps
from benchmarks.lab.corpus.simulation.operator_rows import shapes_text
from benchmarks.lab.corpus.simulation.place import Place
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
            return [_fused(place, k, us * _products(parts), "forward")]
        return [_item(place, f"{k}f{i}", part, us) for i, part in enumerate(parts)]

    def back(number: int, k: int) -> list[Item]:
        plain = tuple(part for _, part in _BACKWARD)
        if fused:
            return [_fused(place, k, us * _products(plain), "backward")]
        return [
            _item(place, f"{k}b{i}", part, us, node)
            for i, (node, part) in enumerate(_BACKWARD)
        ]

    many = 1 if place.null else _LAYERS
    evenly(steps, many, forward)
    if backward and trains:
        evenly(steps, many, back, ("backward",))


def _products(parts: tuple[Part, ...]) -> float:
    return _FUSED * sum(share for _, work, share in parts if work == "bmm")


def _engine(node: str) -> tuple[str, ...]:
    return (f"autograd::engine::evaluate_function: {node}", node)


def _item(place: Place, key: str, part: Part, us: float, node: str = "") -> Item:
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
        _engine(node) if node else outer, shapes_text(dims, "c10::Half"),
        () if node else (MAIN, "model.py(81): attend"),
        launches=((launch, max(1.5, us * share)),), line="model.py:84", grows=False,
    )  # fmt: skip


def _fused(place: Place, k: int, us: float, phase: str) -> Item:
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
        _engine("ScaledDotProductEfficientAttentionBackward0") if back else outer,
        shapes_text(dims, "c10::Half"),
        () if back else (MAIN, "model.py(81): attend"),
        launches=((launch, max(3.0, us)),), grows=False,
    )  # fmt: skip
