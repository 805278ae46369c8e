# SPDX-License-Identifier: BSD-3-Clause
"""propagation.py: what becomes of values when an operator runs. Loads torch.

On a GPU each random operator moves a generator on: its own, or the default one of the
device, whose state a program sets by torch.manual_seed and others. So here too, also
where the numbers themselves are not worked out.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from torchtraceap_dryrun.device import guesses
from torchtraceap_dryrun.device.arguments import aten, named, pairs, tensors_in
from torchtraceap_dryrun.device.fused_values import (
    ATTENTION,
    RECURRENT,
    attention_values,
    rnn_values,
)
from torchtraceap_dryrun.device.tensors import covers, memory_of, on_device
from torchtraceap_dryrun.device.values import Values
from torchtraceap_dryrun.lines import user_stack

# They are tagged as random for their dropout; with it their results are guesses.
_FUSED = ATTENTION | RECURRENT


@cache
def _is_random(func: Any) -> bool:
    # Kept, since each operator is asked, and the tags are slow to look through.
    return torch.Tag.nondeterministic_seeded in func.tags


def source_of(
    func: Any, args: Sequence[Any], kwargs: dict[str, Any], default: torch.Generator
) -> torch.Generator | None:
    """Return the generator that an operator draws from: one that it is given, else
    ``default``. None: it draws no numbers."""
    if not _is_random(func):
        return None
    if func._schema.name in _FUSED and not _drops_out(func, args, kwargs):
        return None
    for one in itertools.chain(args, kwargs.values()):
        if isinstance(one, torch.Generator):
            return one
    return default


def _drops_out(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    if func._schema.name.endswith("_backward"):
        return False  # It gets the values that forward drew.
    given = named(func, args, kwargs)
    share = given["dropout_p" if "dropout_p" in given else "dropout"]
    return bool(share > 0 and given.get("train", True))


def run_with(
    source: torch.Generator | None,
    func: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    default: torch.Generator,
) -> Any:
    """Run an operator on the CPU, which draws from ``source``, of `source_of`."""
    if (
        source is None or source is not default
    ):  # It draws nothing, or has been given its own.
        return func(*args, **kwargs)
    # Not all of them can be given one: dropout cannot.
    before = torch.get_rng_state()
    torch.set_rng_state(source.get_state())
    try:
        return func(*args, **kwargs)
    finally:
        source.set_state(torch.get_rng_state())
        torch.set_rng_state(before)


def move_on(source: torch.Generator | None) -> None:
    """Take one number for all that an operator would have drawn."""
    if source is not None:
        torch.rand((), generator=source)


# Operators that do not read what they write.
_OVERWRITES = aten("""
    zero_ fill_ copy_ normal_ uniform_ random_ bernoulli_ exponential_ _foreach_zero_
    _foreach_copy_
""")
# What lies in their results is whatever was in that memory before.
_UNSET = aten("""
    empty empty_like empty_permuted empty_strided new_empty new_empty_strided
""")
# They give values by shapes alone, whatever those of their arguments are.
_BY_SHAPE = aten("""
    zeros_like ones_like full_like new_zeros new_ones new_full
""")
# What errors of the CPU say where a kernel of CUDA asserts.
_OUTSIDE = ("out of range", "out of bounds")


class Follower:
    """Works out, or guesses, the values of one run."""

    def __init__(self, values: Values, note: Callable[[str], None]) -> None:
        self._values = values
        self._note = note

    def follow(
        self,
        func: Any,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        out: Any,
        fresh: list[Tensor],
        written: list[Tensor],
    ) -> None:
        """Work out, or guess, what the operator wrote."""
        values = self._values
        source = source_of(func, args, kwargs, values.default_generator)
        wanted = [t for t in fresh if values.wants(t)]
        wanted_in_place = [t for t in written if values.wants(t)]
        if not wanted and not wanted_in_place:
            for tensor in written:
                values.doubt(tensor)
            move_on(source)
            return
        name = func._schema.name
        if name == "aten::set_":
            return  # It takes over another storage, with what is known of that.
        if name in _UNSET:
            for tensor in wanted:
                values.guess(tensor)
            return
        blind = name in _OVERWRITES or "out" in kwargs
        for tensor in wanted_in_place:
            if values.shadow(tensor) is None and (blind or not fresh):
                values.guess(tensor)
        results = None
        if name not in guesses.CHECKS or values.known(args[0]):
            results = self._on_shadows(func, args, kwargs, out, source)
        if results is None:
            for tensor in wanted:
                hint = guesses.hint(name, args, tensor, source or values.generator)
                values.guess(tensor, hint, source)
            for tensor in written:
                values.doubt(tensor)
            move_on(source)
            return
        ids = {id(t) for t in written} if blind else set()
        inputs = tensors_in(itertools.chain(args, kwargs.values()))
        known = source is None and (
            name in _BY_SHAPE
            or all(values.known(t) for t in inputs if t.numel() and id(t) not in ids)
        )
        if fresh:
            for tensor, value in pairs(out, results):
                if not on_device(tensor) or not any(tensor is one for one in wanted):
                    continue
                if tensor.shape == value.shape:
                    values.put(tensor, value, known)
            # The CPU leaves some out, as those of a batch_norm in eval.
            for tensor in wanted:
                if values.shadow(tensor) is None:
                    values.guess(tensor)
        for tensor in written:
            memory = memory_of(tensor)
            if memory is not None and memory.shadow is not None:
                whole = blind and covers(tensor, memory)
                memory.known = known and (memory.known or whole)

    def _on_shadows(
        self,
        func: Any,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        out: Any,
        source: torch.Generator | None,
    ) -> Any:
        """Return an operator's result on the CPU; None if it is unknown."""
        shadows = self._values.shadows(args, kwargs)
        if shadows is None:
            return None
        host_args, host_kwargs = shadows
        if "device" in host_kwargs:
            host_kwargs["device"] = torch.device("cpu")
        try:
            call = func, host_args, host_kwargs
            result = attention_values(*call, out)
            if result is None:
                result = rnn_values(*call, out)
            if result is None:
                result = run_with(source, *call, self._values.default_generator)
        except Exception as error:
            # No kernel for the CPU, or an invalid guess.
            self._note_outside(func, args, kwargs, error)
            return None
        return () if result is None else result

    def _note_outside(
        self, func: Any, args: Sequence[Any], kwargs: dict[str, Any], error: Exception
    ) -> None:
        """Note that a place is outside of its tensor, if it is not a guess."""
        if not any(what in str(error) for what in _OUTSIDE):
            return
        places = [
            t
            for t in tensors_in(itertools.chain(args, kwargs.values()))
            if not (t.dtype.is_floating_point or t.dtype.is_complex)
        ]
        if not places or not all(map(self._values.known, places)):
            return
        stack = user_stack(sys._getframe(1))
        where = f"{stack[0]}: " if stack else ""
        self._note(
            f"{where}{func._schema.name}: {error}: on a GPU this would be a "
            "device-side assert"
        )
