# SPDX-License-Identifier: BSD-3-Clause
"""device_causes.py: kernels that are unnecessary, too many, or too small."""

from __future__ import annotations

from benchmarks.lab.corpus.simulation.host_causes import MAIN, places
from benchmarks.lab.corpus.simulation.inserting import evenly, in_optimizer, kernel_item
from benchmarks.lab.corpus.simulation.items import Item, Place, Steps
from torchtraceap_dryrun.record import Copy

_BOTH = ("forward", "backward")


def _singly(steps: Steps, strength: float, place: Place, names: tuple[str, ...],
            function: str, line: int) -> None:  # fmt: skip
    tensors = 1 if place.null else places(strength, 120)

    def make(number: int, k: int) -> list[Item]:
        frames = (MAIN, f"train.py({line}): {function}")
        return [
            kernel_item(f"{place.tag}{i}{name}", name, "elementwise",
                        1 << 8 + (i * 7) % 10, phase="optimizer", frames=frames,
                        line=f"train.py:{line + 3}")
            for i in range(tensors)
            for name in (names[:1] if place.null else names)
        ]  # fmt: skip

    in_optimizer(steps, make)


def update_singly(steps: Steps, strength: float, place: Place) -> None:
    """Each parameter is updated by a row of small kernels of its own."""
    names = ("aten::mul_", "aten::lerp_", "aten::addcmul_", "aten::sqrt",
             "aten::div_", "aten::add_", "aten::addcdiv_")  # fmt: skip
    _singly(steps, strength, place, names, "_single_tensor_adamw", 402)


def clip_singly(steps: Steps, strength: float, place: Place) -> None:
    """Gradients are clipped one by one."""
    names = ("aten::linalg_vector_norm", "aten::clamp", "aten::mul_")
    _singly(steps, strength, place, names, "clip_gradients", 160)


def average_singly(steps: Steps, strength: float, place: Place) -> None:
    """A moving average of the weights is kept parameter by parameter."""
    names = ("aten::mul_", "aten::add_")
    _singly(steps, strength, place, names, "update_average", 166)


def device_us(strength: float, place: Place) -> float:
    """Return how long a mechanism keeps the device busy each step, in µs."""
    return place.step_us * (0.003 if place.null else 0.05 + 0.9 * strength**2)


def _added(steps: Steps, strength: float, place: Place, names: tuple[str, ...],
           work: str, many: int) -> None:  # fmt: skip
    us = device_us(strength, place)
    many = 1 if place.null else many
    each = max(1.5, us / many / len(names))
    elements = max(1024, int((each - 1.5) * 1.4e6 / 8))

    def make(number: int, k: int) -> list[Item]:
        return [
            kernel_item(f"{place.tag}{k}{i}", name, work, elements, us=each)
            for i, name in enumerate(names)
        ]

    evenly(steps, many, make, _BOTH[:1])


def cast_back_and_forth(steps: Steps, strength: float, place: Place) -> None:
    """Activations are cast to another type and back."""
    many = 4 + place.rng.randrange(20)
    _added(steps, strength, place, ("aten::copy_",) * 2, "copy", many)


def clone_activations(steps: Steps, strength: float, place: Place) -> None:
    """Tensors are cloned or made contiguous for nothing."""
    many = 4 + place.rng.randrange(20)
    _added(steps, strength, place, ("aten::clone",), "copy", many)


def copy_memory(steps: Steps, strength: float, place: Place) -> None:
    """Whole buffers are copied on the device."""
    us = device_us(strength, place)
    many = 1 if place.null else 2 + place.rng.randrange(10)
    nbytes = max(4096, int(us / many * 0.6e6))
    copy = Copy("d2d", nbytes, pinned=False, blocking=False)
    evenly(
        steps,
        many,
        lambda n, k: [Item(f"{place.tag}{k}", "op", "aten::copy_", copy=copy,
                           captured=True)],
    )  # fmt: skip


def chain_pointwise(steps: Steps, strength: float, place: Place) -> None:
    """Arithmetic written operation by operation."""
    names = ("aten::mul", "aten::add", "aten::sub", "aten::div", "aten::mul")
    _added(steps, strength, place, names, "elementwise", 3 + place.rng.randrange(9))


def chain_activation(steps: Steps, strength: float, place: Place) -> None:
    """An activation of the user's own, in parts."""
    names = ("aten::pow", "aten::mul", "aten::add", "aten::tanh", "aten::mul")
    _added(steps, strength, place, names, "elementwise", 3 + place.rng.randrange(9))


def chain_normalize(steps: Steps, strength: float, place: Place) -> None:
    """A norm of the user's own, in parts."""
    names = ("aten::sub", "aten::pow", "aten::add", "aten::rsqrt", "aten::mul")
    _added(steps, strength, place, names, "elementwise", 3 + place.rng.randrange(9))


def _small(steps: Steps, strength: float, place: Place, name: str, work: str,
           many: int) -> None:  # fmt: skip
    us = device_us(strength, place)
    many = 1 if place.null else many
    each = max(2.0, us / many)
    grid = 1 + place.rng.randrange(8)
    evenly(
        steps,
        many,
        lambda n, k: [kernel_item(f"{place.tag}{k}", name, work, 1 << 14, us=each,
                                  grid=grid)],
    )  # fmt: skip


def small_grids(steps: Steps, strength: float, place: Place) -> None:
    """Kernels of a few blocks that work long."""
    _small(steps, strength, place, "aten::cumsum", "scan", 6)


def grids_per_sample(steps: Steps, strength: float, place: Place) -> None:
    """One kernel a sample instead of one a batch."""
    _small(steps, strength, place, "aten::softmax", "norm", 24)


def narrow_products(steps: Steps, strength: float, place: Place) -> None:
    """Products with a handful of rows."""
    _small(steps, strength, place, "aten::mm", "gemm", 12)


def _tiny(steps: Steps, strength: float, place: Place, names: tuple[str, ...]) -> None:
    many = 1 if place.null else places(strength, 160)
    evenly(
        steps,
        many,
        lambda n, k: [
            kernel_item(f"{place.tag}{k}{i}", name, "elementwise", 1 << 10)
            for i, name in enumerate(names[:1] if place.null else names)
        ],
    )


def split_kernels(steps: Steps, strength: float, place: Place) -> None:
    """Work in many small pieces."""
    _tiny(steps, strength, place, ("aten::slice", "aten::add_", "aten::copy_"))


def loop_elementwise(steps: Steps, strength: float, place: Place) -> None:
    """A loop over rows."""
    _tiny(steps, strength, place, ("aten::select", "aten::mean", "aten::sub",
                                   "aten::div"))  # fmt: skip


def update_scalars(steps: Steps, strength: float, place: Place) -> None:
    """Statistics kept in tensors of one element."""
    _tiny(steps, strength, place, ("aten::mul_", "aten::add_"))
