# SPDX-License-Identifier: BSD-3-Clause
"""guesses.py: values for what a dry run does not work out.

Seeded, and no constants where there are several: equal logits would choose token 0, and
equal scores leave one box or none, so that a program would go where it never goes.

A host tensor that a guess is copied to, and any result computed from it there, carries
a mark on its storage, so that it does not count as a known value once it is copied
back. Python numbers carry no mark. Loads torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from torchtraceap_dryrun.device.arguments import aten, tensors_in, written_by

#: Of operators that give places along a dimension: where the size of it is.
_PLACES = aten("""
    argmax argmin topk sort argsort max min median mode kthvalue multinomial cummax
    cummin searchsorted bucketize randperm
""")
#: Of operators that ask whether something is wrong with numbers: it is not.
_ANSWERS = {
    "aten::isnan": False,
    "aten::isinf": False,
    "aten::isposinf": False,
    "aten::isneginf": False,
    "aten::isfinite": True,
    "aten::isreal": True,
    "aten::_is_all_true": True,
    "aten::_is_any_true": False,
}
#: Of those: what checks of arguments end in, in torch.distributions and others. They
#: would find fault with masks that are guesses.
CHECKS = {"aten::_is_all_true", "aten::_is_any_true"}
#: Of masks: indexing by them gives as many elements as they count a line later.
TRUE_SHARE = 0.5


def guess_into(values: Tensor, generator: torch.Generator) -> None:
    """Fill a CPU tensor: one number is 1 (a loss, a norm), one bool False (done yet?),
    several are random: floats in [0, 1), whole numbers 0 or 1, bools half true."""
    if values.numel() == 1:
        values.fill_(values.dtype != torch.bool)
    elif values.dtype == torch.bool:
        values.bernoulli_(TRUE_SHARE, generator=generator)
    elif values.dtype.is_floating_point or values.dtype.is_complex:
        # In one type for all, so that the same seed gives the same guesses.
        values.copy_(torch.rand(values.shape, generator=generator))
    else:
        values.random_(0, 2, generator=generator)


def hint(name: str, args: Any, output: Tensor, generator: Any) -> Tensor | None:
    """Return values that an operator's output may have, where its meaning says more
    than its type; None if it does not. ``args`` are those it got, on the device."""
    if name in _ANSWERS:
        return torch.full(output.shape, _ANSWERS[name], dtype=torch.bool)
    if name in ("aten::eq", "aten::ne") and len(args) > 1:
        # What torch.isfinite comes to: x == x, and abs(x) != inf.
        itself = args[0] is args[1]
        if itself or (isinstance(args[1], float) and not math.isfinite(args[1])):
            return torch.full(output.shape, itself == (name == "aten::eq"))
    whole = not (output.dtype.is_floating_point or output.dtype.is_complex)
    if name in _PLACES and whole and output.dtype != torch.bool:
        size = _size(name, args)
        return torch.randint(
            0, max(size, 1), output.shape, generator=generator, dtype=output.dtype
        )
    if name in ("aten::sum", "aten::count_nonzero") and whole:
        of_each = args[0].numel() / max(output.numel(), 1)
        true = int(of_each * TRUE_SHARE + 0.5)
        return torch.full(output.shape, true, dtype=output.dtype)
    return None


def _size(name: str, args: Any) -> int:
    """Return how many places there are."""
    if name == "aten::randperm":
        return int(args[0])
    source: Tensor = args[1] if name == "aten::bucketize" else args[0]
    if not isinstance(source, Tensor):
        return 1
    dims = [a for a in args[1:2] if isinstance(a, int) and not isinstance(a, bool)]
    chosen = name not in ("aten::topk", "aten::kthvalue", "aten::multinomial")
    if chosen and dims and source.dim():
        return int(source.shape[dims[0]])
    if name in ("aten::argmax", "aten::argmin", "aten::max", "aten::min") and not dims:
        return int(source.numel())
    return int(source.shape[-1]) if source.dim() else 1


_GUESSED = "_traceap_guessed"


def mark_guessed(tensor: Tensor) -> None:
    """Say that the values of a tensor of the host come from guesses."""
    if tensor.layout == torch.strided:
        setattr(tensor.untyped_storage(), _GUESSED, True)


def is_guessed(tensor: Tensor) -> bool:
    """Tell whether the values of a tensor of the host come from guesses."""
    if tensor.layout != torch.strided:
        return False
    try:
        storage = tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):  # Of a subclass without a storage.
        return False
    return getattr(storage, _GUESSED, False)


def run_on_host(
    func: Any, args: Sequence[Any], kwargs: dict[str, Any], given: Iterable[Tensor]
) -> Any:
    """Run an operator on the host; its results from guesses are guesses: ``given`` are
    the tensors that may be."""
    guessed = any(map(is_guessed, given))
    out = func(*args, **kwargs)
    if guessed:
        for tensor in tensors_in([out, *written_by(func, args, kwargs)]):
            mark_guessed(tensor)
    return out
