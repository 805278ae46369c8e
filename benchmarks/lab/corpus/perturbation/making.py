# SPDX-License-Identifier: BSD-3-Clause
"""making.py: the runs of one source trace."""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lab import _lab
from benchmarks.lab.corpus import runs
from benchmarks.lab.corpus.origins import held_out
from benchmarks.lab.corpus.perturbation.outcome import (
    Edits,
    Outcome,
    natural_patterns,
    outcome,
)
from benchmarks.lab.corpus.perturbation.scene import Scene
from benchmarks.lab.corpus.perturbation.table import (
    LEAST_OPERATORS,
    NOTHING,
    Inserted,
    insert,
)
from torchtraceap import _core, load

#: Events of a run, about: more make a corpus large, not varied.
MOST_EVENTS = 30_000
#: Taken whole where no part is accepted.
MOST_WHOLE = 80_000
_STEP = re.compile(r"ProfilerStep#(\d+)")


def draw_part(
    path: Path, rng: np.random.Generator, most: int = MOST_EVENTS
) -> dict[str, Any]:
    """Return options of ``load`` that take a part of a trace of about `most` events:
    some of its steps, else a stretch of its time. Empty if it has no more.

    Raises:
        TraceError: It cannot be read.
    """
    trace = load(str(path))
    c = trace.columns
    lasts = c["phase"] == b"X"
    count = int(lasts.sum())
    if count <= most:
        return {}
    found = (_STEP.fullmatch(name) for name in trace.strings)
    steps = sorted({int(match[1]) for match in found if match})
    if len(steps) > 1 and count / len(steps) <= most:
        taken = max(1, int(most * len(steps) / count))
        first = int(rng.integers(len(steps) - taken + 1))
        return {"steps": (steps[first], steps[first + taken - 1])}
    starts = np.sort(c["ts"][lasts])
    quiet = _quiet_moments(trace)
    at = np.searchsorted(starts, quiet)  # number of events that begin before each
    for i in rng.permutation(len(quiet)):
        ends = np.flatnonzero((at > at[i] + most // 6) & (at <= at[i] + most))
        if len(ends):
            return {"time_range_us": (quiet[i] / 1e3, quiet[ends[-1]] / 1e3)}
    first = int(rng.integers(count - most))
    begin, end = starts[first], starts[first + most - 1]
    return {"time_range_us": (float(begin) / 1e3, float(end) / 1e3)}


def _quiet_moments(trace: _core.Trace) -> np.ndarray:
    # Begins of calls at which all work launched before had ended: a part between two
    # of them has all its work, and none of another.
    c = trace.columns
    names = np.array(trace.category_names)[c["category"]]
    timed = (c["phase"] == b"X") & (c["correlation"] >= 0)
    calls = np.flatnonzero(timed & np.isin(names, ("cuda_runtime", "cuda_driver")))
    work = np.flatnonzero(
        timed & np.isin(names, ("kernel", "gpu_memcpy", "gpu_memset"))
    )
    ended: dict[int, int] = {}
    for row in work:
        key = int(c["correlation"][row])
        ended[key] = max(ended.get(key, 0), int(c["ts"][row] + c["dur"][row]))
    calls = calls[np.argsort(c["ts"][calls], kind="stable")]
    begins = c["ts"][calls]
    done = np.array([ended.get(int(i), 0) for i in c["correlation"][calls]])
    done = np.maximum.accumulate(np.maximum(done, begins + c["dur"][calls]))
    return begins[1:][done[:-1] <= begins[1:]]


def name_of(part: dict[str, Any]) -> str:
    """Return a short name of a part, for names of runs."""
    if "steps" in part:
        return "s{}-{}".format(*part["steps"])
    if "time_range_us" in part:
        return f"t{int(part['time_range_us'][0]) % 1_000_000_000}"
    return "all"


#: Of a window: from there on it counts.
POSITIVE = 0.05
#: Patterns that leave a sound trace when they are taken out: what they did goes whole.
REMOVABLE = frozenset(
    {
        "sync_stall",
        "dataloader_bound",
        "gc_pause",
        "recompile_or_lazy_load",
        "allocator_churn",
        "frequent_memcpy",
        "zero_grad_fill",
        "redundant_d2d",
    }
)
_DRAWS = (False, False, False, True)  # Of each part: whether it is to be a null.
_PARTS = 4  # That are tried of a trace.
_LEAST_WORK = 30


@dataclass
class Made:
    """What came of one part of one source."""

    names: list[str] = field(default_factory=list)
    refused: str = ""
    #: Of each insertion: pattern, mechanism, strength, null, largest share of a window,
    #: shares of the windows it cost 2 % and more.
    insertions: list[dict[str, Any]] = field(default_factory=list)


def make(out: Path, path: Path, origin: str, gpu: str, seed: int, turn: int) -> Made:
    """Write the runs of a drawn part of a trace; those that are there are made again
    the same.

    Args:
        out: Folder of the corpus.
        path: The source.
        origin: Whose it is, see origins.py.
        gpu: What it ran on.
        seed: The corpus' seed.
        turn: Which draw of this source it is, from 0.
    """
    stem = path.name.split(".json")[0]
    rng = np.random.default_rng([seed, zlib.crc32(stem.encode()), turn])
    made = Made()
    try:
        scene, part = _draw_scene(path, rng)
    except ValueError as refusal:  # a TraceError is one
        made.refused = str(refusal)
        return made
    name = f"P-{stem}-{part}"
    natural = natural_patterns(scene)
    run = runs.Run(
        name, "P", origin, "natural", "", stem, _trains(scene), seed, gpu=gpu,
        origin=origin, held_out=held_out(origin), complete=False,
        recording={"part": part, "frames": scene.has_frames},
    )  # fmt: skip
    as_found = outcome(scene, natural, _lab.Perturbation(), "")
    base = replace(run, causes=_natural(natural, as_found))
    # Another draw of the trace may have taken the same part.
    if _written(out, base, as_found):
        made.names.append(name)
    made.names += _fixed(out, scene, natural, as_found, run)
    for number, null in enumerate(_DRAWS):
        if (drawn := insert(scene, natural, rng, null)) is None:
            continue
        result = drawn.result
        cause = runs.Cause(
            drawn.pattern, drawn.mechanism, drawn.strength, null=null,
            saved=round(result.saved[drawn.pattern], 6),
        )  # fmt: skip
        one = replace(
            run,
            name=f"{name}-{turn}{'abcd'[number]}",
            role="null" if null else "slow",
            twin=name,
            causes=(cause, *_natural(natural, result)),
        )
        _written(out, one, result)
        made.names.append(one.name)
        made.insertions.append(_known(drawn, cause))
    return made


def _draw_scene(path: Path, rng: np.random.Generator) -> tuple[Scene, str]:
    # The first of some parts of a trace that is accepted. Raises ValueError.
    for left in reversed(range(_PARTS)):
        part = draw_part(path, rng, MOST_EVENTS if left else MOST_WHOLE)
        try:
            scene = Scene(path, **part)
            _refuse_empty(scene)
            return scene, name_of(part)
        except ValueError:
            if not part or not left:
                raise
    raise AssertionError


def _fixed(
    out: Path,
    scene: Scene,
    natural: dict[str, Edits],
    found: Outcome,
    run: runs.Run,
) -> list[str]:
    # The trace without one of its own patterns, the costliest that leaves a sound one.
    worth = [
        name
        for name in natural
        if name in REMOVABLE and found.saved[name] >= POSITIVE / 2
    ]
    if not worth:
        return []
    gone = max(worth, key=lambda name: found.saved[name])
    left = {name: edits for name, edits in natural.items() if name != gone}
    name = f"{run.name}-without-{gone}"
    if runs.exists(out, name):
        return []
    result = outcome(scene, left, _lab.Perturbation(), "", natural[gone])
    fixed = replace(
        run, name=name, role="fixed", twin=run.name, causes=_natural(left, result)
    )
    runs.write(out, fixed, result.text, result.truth)
    return [name]


def _written(out: Path, run: runs.Run, result: Outcome) -> bool:
    """Write a run, unless it is there; tell whether it was not."""
    if runs.exists(out, run.name):
        return False
    runs.write(out, run, result.text, result.truth)
    return True


def _known(drawn: Inserted, cause: runs.Cause) -> dict[str, Any]:
    windows = drawn.result.windows
    return {
        "pattern": cause.pattern,
        "mechanism": cause.mechanism,
        "strength": cause.strength,
        "null": cause.null,
        "largest": round(float(windows.max()), 4),
        "saved": cause.saved,
        "windows": len(windows),
        "shares": [round(float(share), 3) for share in windows if share >= NOTHING],
    }


def _refuse_empty(scene: Scene) -> None:
    if len(scene.work) < _LEAST_WORK:
        raise ValueError(f"it has {len(scene.work)} pieces of device work, too few")
    count = max((len(scene.operators(thread)) for thread in scene.threads), default=0)
    if count < LEAST_OPERATORS:
        raise ValueError(f"it has {count} outermost operators, too few")


def _natural(natural: dict[str, Edits], result: Outcome) -> tuple[runs.Cause, ...]:
    return tuple(
        runs.Cause(
            name, "as_recorded", 1.0, natural=True, saved=round(result.found[name], 6)
        )
        for name in natural
    )


def _trains(scene: Scene) -> bool:
    return any("Backward" in n or "Optimizer.step" in n for n in scene.trace.strings)


def remember(out: Path, key: str, made: Made) -> None:
    """Write what came of a part, when all its runs are there."""
    folder = out / "perturbed"
    folder.mkdir(parents=True, exist_ok=True)
    known = {
        "names": made.names,
        "refused": made.refused,
        "insertions": made.insertions,
    }
    (folder / f"{key}.json").write_text(json.dumps(known) + "\n", "utf-8")


def remembered(out: Path, key: str) -> Made | None:
    """Return what came of a part that was finished before; None if it was not."""
    path = out / "perturbed" / f"{key}.json"
    return Made(**json.loads(path.read_text("utf-8"))) if path.exists() else None
