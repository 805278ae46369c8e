# SPDX-License-Identifier: BSD-3-Clause
"""open_step.py: the step that torch's profiler begins at each step(), also the last.

A loop that ends with step() leaves a step of some 100 µs in which nothing is done. It
is none of the loop's steps, and would falsify what is said of them.
"""

from __future__ import annotations

from typing import Any

from torchtraceap import _core

_STEP = "ProfilerStep#"
_LATER = b'"torchtraceap: after the last step"'
_CALLS = ("cuda_runtime", "cuda_driver")


def name_if_idle(prof: Any, trace: _core.Trace) -> bytes | None:
    """Returns the open step of `trace`, which `prof` recorded, as it stands in JSON.

    None if there is none, if an operator or a launch is in it (loops may begin with
    step()), or if it is the only one. A loader that has no more batches is none.
    """
    name = f"{_STEP}{getattr(prof, 'step_num', None)}"
    steps = [text for text in trace.strings if text.startswith(_STEP)]
    if name not in steps or len(steps) < 2 or _has_work(trace, name):
        return None
    return f'"{name}"'.encode()


def without(name: bytes, text: bytes) -> bytes:
    """Returns Kineto's JSON with the step `name` as an annotation that is no step."""
    return text.replace(name, _LATER)


def _has_work(trace: _core.Trace, name: str) -> bool:
    columns, number = trace.columns, _core.category_number
    starts, names, category = columns["ts"], columns["name"], columns["category"]
    is_step = (names == trace.strings.index(name)) & (
        category == number("user_annotation")
    )
    if not is_step.any():
        return True
    begin = starts[is_step].min()
    end = (starts + columns["dur"])[is_step].max()
    inside = (starts >= begin) & (starts < end)
    launches = [i for i, text in enumerate(trace.strings) if "Launch" in text]
    if (inside & (category == number("cpu_op"))).any():
        return True
    for kind in _CALLS:
        called = names[inside & (category == number(kind))]
        if not set(called.tolist()).isdisjoint(launches):
            return True
    return False
