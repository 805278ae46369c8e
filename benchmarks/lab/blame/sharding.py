# SPDX-License-Identifier: BSD-3-Clause
"""sharding.py: parameters that each rank holds a part of, gathered unit by unit.

Well done, the next unit is gathered while this one computes, forward and backward.
"""

from __future__ import annotations

from benchmarks.lab.blame import communication
from benchmarks.lab.blame.case import Case
from benchmarks.lab.blame.script import COMPUTE, Script

_UNITS = 6
#: The first unit's part: it is small, as nothing hides its gathering.
_FIRST = 0.02


def _begin(unit: int, layers: int) -> int:
    return 0 if unit == 0 else 1 + (unit - 1) * (layers - 1) // (_UNITS - 1)


def _us(case: Case, unit: int) -> float:
    part = _FIRST if unit == 0 else (1 - _FIRST) / (_UNITS - 1)
    return part * communication.ratio(case) * case.device_us / 2


def before_layer(s: Script, case: Case, pass_: str, n: int, layers: int) -> None:
    """Have the unit that begins with layer `n` of this pass gathered."""
    if not case.family.sharded:
        return
    order = list(range(_UNITS))
    firsts = [_begin(unit, layers) for unit in order]
    if pass_ == "backward":
        lasts = [*(first - 1 for first in firsts[1:]), layers - 1]
        order, firsts = order[::-1], lasts[::-1]
    if n not in firsts:
        return
    at = firsts.index(n)
    own = f"{communication.OWN}{s.step}{pass_}"
    late = s.has("comm_exposed") > 0
    # On time, the second is gathered with the first.
    now = [at] if late else [0, 1] if at == 0 else [at + 1]
    for which in now:
        if which < _UNITS:
            with s.part(f"{s.step}/{pass_}gather{which}"):
                communication.reduce(
                    s, _us(case, order[which]), "all_gather", after=late
                )
                s.event(f"{own}{which}", communication.COMM)
    s.hold(f"{own}{at}", COMPUTE)


def after_layer(s: Script, case: Case, n: int, layers: int) -> None:
    """Reduce the gradients of the unit whose backward pass ends with layer `n`."""
    if not case.family.sharded:
        return
    for unit in range(_UNITS):
        if n == _begin(unit, layers):
            with s.part(f"{s.step}/scatter{unit}"):
                communication.reduce(s, _us(case, unit) / 2, "reduce_scatter")
