# SPDX-License-Identifier: BSD-3-Clause
"""live.py: reads a finished profiler run and leaves its owner's exports working.

Kineto writes the JSON of a run once; a second export raises "Trace is already saved".
Here that one file is written into an unlinked temporary file, analyzed, and copied
out again whenever the owner exports. So the analysis reads exactly what the owner's
file holds, on every version of torch, and exports may come in any number and order.
docs/live.md, How the trace is read, says what the other sources lack.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from traceback import walk_stack
from typing import Any

import numpy as np

from torchtraceap import _core
from torchtraceap.profiling.kept_trace import (
    EXPORT,
    KeptTrace,
    inner_profile,
    is_repeatable,
    merges,
    private_path,
)
from torchtraceap.profiling.notices import warn

_STEP = "ProfilerStep#"
_NO_STEP = b'"torchtraceap: after the last step"'
_LIGHTNINGS = "torchtraceap.integrations.lightning.ProfileCallback"
_CALLS = ("cuda_runtime", "cuda_driver")
_LOST = (
    "the profiler was ended by another one that started inside it, so its trace is "
    "lost: torch can run only one profiler at a time. Lightning's "
    "Trainer(profiler=PyTorchProfiler(...)) is another one"
)
_EXPORTED = "the trace was exported before torchtraceap.analyze was called"
_EXPORTED_ONCE = (
    f"{_EXPORTED}, or torch could not record devices: its CUPTI back end wrote no "
    "trace, as it does only once. Call analyze first, or analyze the exported file"
)


def load(prof: Any) -> _core.Trace:
    """Loads the cycle that `prof`, which has stopped recording, recorded last.

    `prof` is a torch.profiler.profile or a torch.autograd.profiler.profile. The trace
    can fetch args until the next cycle begins or `prof` is destroyed, because the text
    is not kept longer. A step that was only begun does not count as a step.

    Raises ValueError if nothing was recorded, RuntimeError if the trace was exported
    before and this torch cannot export it again, OSError if there is no room for it,
    and the errors of loading.
    """
    trace = _load(prof)
    _warn_of_lightning(prof, trace)
    return trace


def _load(prof: Any) -> _core.Trace:
    inner = inner_profile(prof)
    if inner is None or getattr(inner, "kineto_results", None) is None:
        raise ValueError(
            "the profiler has not recorded anything yet: use torchtraceap.analyze as "
            "its on_trace_ready handler, or call it after the `with` block"
        )
    if is_lost(prof):
        raise ValueError(_LOST)
    kept = _kept(prof)
    if kept is not None:
        return _without_open_step(prof, kept.load(), Path(kept.path).read_bytes)
    text = _python_export(prof, inner)
    return _without_open_step(prof, _core.load_bytes(text), lambda: text)


def save(prof: Any, path: str) -> None:
    """Writes the last cycle of `prof` to `path`, which ends in .json.gz.

    As its own export, which it leaves as it is, in a fraction of the time, since it
    packs less tightly. Raises what `load` and writing raise.
    """
    kept = _kept(prof)
    if kept is None:
        prof.export_chrome_trace(path)
    else:
        kept.pack(path)


def is_lost(prof: Any) -> bool:
    """Tells whether another profiler ended `prof`, which has stopped.

    Exporting such a one would crash the process (seen with torch 2.13).
    """
    results = getattr(inner_profile(prof), "kineto_results", None)
    return results is not None and results.trace_start_ns() == 0


def _kept(prof: Any) -> KeptTrace | None:
    """Returns the kept trace of the current results, made now if need be.

    None if somebody exported these results before. RuntimeError if that was the only
    export there is.
    """
    inner = inner_profile(prof)
    for owner in (prof, inner):
        kept = vars(owner).get(EXPORT)
        if isinstance(kept, KeptTrace) and kept.holds(inner.kineto_results):
            return kept
    owner = prof if merges(prof) else inner
    try:
        kept = KeptTrace(owner)
    except RuntimeError as error:
        if "already saved" not in str(error):
            raise
        return None
    if owner is not inner and kept.is_empty:
        raise RuntimeError(_EXPORTED_ONCE)
    setattr(owner, EXPORT, kept)
    return kept


def _python_export(prof: Any, inner: Any) -> bytes:
    """Reads a trace that was exported before through torch's repeatable export."""
    export = getattr(type(inner), EXPORT)
    if not is_repeatable(export):
        raise RuntimeError(
            f"{_EXPORTED}, and this version of torch can export it only once: call "
            "analyze first, or analyze the exported file"
        )
    warnings.warn(
        f"{_EXPORTED}, so it is read through torch's Python export, which leaves out "
        "some device properties and the profiler's own warnings: call analyze first",
        RuntimeWarning,
        stacklevel=6,  # where analyze was called
    )
    metadata = getattr(prof, "_trace_metadata", None)
    with private_path() as path:
        try:
            export(inner, path, metadata, use_python_export=True)
        except UnicodeDecodeError as error:
            raise RuntimeError(
                f"{_EXPORTED}, and torch cannot export it again because some names in "
                "it are damaged (imports inside a region profiled with stacks): call "
                "analyze first"
            ) from error
        data = Path(path).read_bytes()
    # It writes instants as spans with a meaningless duration. Text inside an event
    # has its quotes escaped, so this matches nothing else.
    return data.replace(
        b'{"ph":"X","cat":"cpu_instant_event"', b'{"ph":"i","cat":"cpu_instant_event"'
    )


def _without_open_step(
    prof: Any, trace: _core.Trace, text: Callable[[], bytes]
) -> _core.Trace:
    """Returns the trace with the step that was only begun as an annotation, if it is
    empty and not the only one; `text` is the text that the trace was loaded from.

    A loop that ends with step() leaves a step of some 100 µs, which is not one of the
    loop's steps and would falsify their statistics.
    """
    name = f"{_STEP}{getattr(prof, 'step_num', None)}"
    steps = [one for one in trace.strings if one.startswith(_STEP)]
    if name not in steps or len(steps) < 2 or _has_work(trace, name):
        return trace
    return _core.load_bytes(text().replace(f'"{name}"'.encode(), _NO_STEP))


def _has_work(trace: _core.Trace, name: str) -> bool:
    """Tells whether an operator or a launch is in a step: loops may begin with step().

    A loader that has no more batches is none.
    """
    columns, number = trace.columns, _core.category_number
    starts, names, category = columns["ts"], columns["name"], columns["category"]
    is_step = (names == trace.strings.index(name)) & (
        category == number("user_annotation")
    )
    if not is_step.any():
        return True
    begin = starts[is_step].min()
    end = (starts + columns["dur"])[is_step].max()
    launches = [i for i, text in enumerate(trace.strings) if "Launch" in text]
    calls = [kind for kind in map(number, _CALLS) if kind is not None]
    is_launch = np.isin(names, launches) & np.isin(category, calls)
    is_work = is_launch | (category == number("cpu_op"))
    return bool((is_work & (starts >= begin) & (starts < end)).any())


# --- Lightning -----------------------------------------------------------------------


def _warn_of_lightning(prof: Any, trace: _core.Trace) -> None:
    """Warns of steps that are not what a reader takes them for.

    Lightning's PyTorchProfiler counts the steps of training, of validation and of each
    other loop from 0, sanity validation among them, and to it each micro-batch is a
    step of training.
    """
    if not type(getattr(prof, "schedule", None)).__module__.startswith(
        ("lightning.", "pytorch_lightning.")
    ):
        return
    if repeated := _repeated(trace):
        warn(
            f"step numbers repeat ({', '.join(repeated)}): Lightning's PyTorchProfiler "
            "counts training, validation and sanity validation each from 0, and these "
            "steps mix them. Trainer(num_sanity_val_steps=0) leaves the last one out; "
            f"{_LIGHTNINGS} profiles training alone."
        )
    accumulated = getattr(_trainer(), "accumulate_grad_batches", 1)
    if accumulated > 1:
        warn(
            "to Lightning's PyTorchProfiler each micro-batch is a step; with "
            f"accumulate_grad_batches={accumulated} the optimizer makes one of "
            f"{accumulated} of them. To {_LIGHTNINGS} that is a step."
        )


def _repeated(trace: _core.Trace) -> list[str]:
    """Returns the numbers that several steps of the host have."""
    steps = [i for i, text in enumerate(trace.strings) if text.startswith(_STEP)]
    columns = trace.columns
    of_host = columns["category"] == _core.category_number("user_annotation")
    names = columns["name"][of_host & np.isin(columns["name"], steps)]
    found, counts = np.unique(names, return_counts=True)
    return [trace.strings[i].removeprefix("ProfilerStep") for i in found[counts > 1]]


def _trainer() -> Any:
    """Returns the Trainer whose profiler calls its handler now; None if none does."""
    for frame, _ in walk_stack(sys._getframe()):
        module = getattr(frame.f_locals.get("self"), "_lightning_module", None)
        if module is not None:
            return module.trainer
    return None
