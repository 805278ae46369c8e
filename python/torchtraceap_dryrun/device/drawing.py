# SPDX-License-Identifier: BSD-3-Clause
"""drawing.py: what random operators on the device draw their numbers from.

On a GPU each of them moves a generator on: its own, or the default one of the device,
whose state a program sets by torch.manual_seed and others. So here too, also where the
numbers themselves are not worked out. Loads torch.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch

from torchtraceap_dryrun.device.attention_values import ATTENTION
from torchtraceap_dryrun.device.rnn_values import RECURRENT
from torchtraceap_dryrun.device.signatures import named

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
        return False  # It is told what forward drew.
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
    by_default = source is default
    if not by_default:  # It draws nothing, or has been given its own.
        return func(*args, **kwargs)
    # Not all of them can be given one: dropout cannot.
    before = torch.get_rng_state()
    torch.set_rng_state(default.get_state())
    try:
        return func(*args, **kwargs)
    finally:
        default.set_state(torch.get_rng_state())
        torch.set_rng_state(before)


def move_on(source: torch.Generator | None) -> None:
    """Take one number for all that an operator would have drawn."""
    if source is not None:
        torch.rand((), generator=source)
