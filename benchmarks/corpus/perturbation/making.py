# SPDX-License-Identifier: BSD-3-Clause
"""benchmarks/corpus/perturbation/making.py: the runs of one source trace."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import runs

from perturbation.drawing import Draw
from perturbation.outcome import Outcome, natural_patterns, outcome
from perturbation.parts import draw_part, name_of
from perturbation.scene import Scene, Thread
from perturbation.table import MECHANISMS, WEIGHTS, can_have
from torchtraceap import _core

#: Of a window: below, nothing was lost, and from there on it counts.
NOTHING, POSITIVE = 0.02, 0.05
_DRAWS = (False, False, True)  # Of each part: whether it is to be a null.
_TRIES = 6
_LEAST_WORK, _LEAST_OPERATORS = 30, 20


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
        seed: Of the corpus.
        turn: Which draw of this source it is, from 0.
    """
    stem = path.name.split(".json")[0]
    rng = np.random.default_rng([seed, zlib.crc32(stem.encode()), turn])
    made = Made()
    try:
        part = draw_part(path, rng)
        scene = Scene(path, **part)
        _refuse_empty(scene)
    except ValueError as refusal:  # a TraceError is one
        made.refused = str(refusal)
        return made
    name = f"P-{stem}-{name_of(part)}"
    natural = natural_patterns(scene)
    base = {
        "source": "P", "group": stem, "task": "", "family": stem, "origin": origin,
        "gpu": gpu, "trains": _trains(scene), "seed": seed, "complete": False,
        "recording": {"part": name_of(part), "frames": scene.has_frames},
    }  # fmt: skip
    if not runs.exists(out, name):
        as_found = outcome(scene, natural, _core.Perturbation(), "")
        run = runs.Run(name, role="natural", causes=_natural(natural, as_found), **base)
        runs.write(out, run, as_found.text, as_found.truth)
    made.names.append(name)
    for number, null in enumerate(_DRAWS):
        drawn = _insert(scene, natural, rng, null)
        if drawn is None:
            continue
        pattern, mechanism, draw, result = drawn
        role = "null" if result.windows.max() < NOTHING else "slow"
        cause = runs.Cause(
            pattern, mechanism, round(draw.strength, 4), null=null,
            saved=round(result.saved[pattern], 6),
        )  # fmt: skip
        others = tuple(c for c in _natural(natural, result) if c.pattern != pattern)
        run = runs.Run(
            f"{name}-{turn}{'abc'[number]}", role=role, twin=name,
            causes=(cause, *others), **base,
        )  # fmt: skip
        runs.write(out, run, result.text, result.truth)
        made.names.append(run.name)
        shares = result.windows[result.windows >= NOTHING]
        made.insertions.append({
            "pattern": pattern, "mechanism": mechanism, "strength": cause.strength,
            "null": null, "largest": round(float(result.windows.max()), 4),
            "saved": cause.saved, "windows": len(result.windows),
            "shares": [round(float(share), 3) for share in shares],
        })  # fmt: skip
    return made


def _refuse_empty(scene: Scene) -> None:
    if len(scene.work) < _LEAST_WORK:
        raise ValueError(f"it has {len(scene.work)} pieces of device work, too few")
    count = max((len(scene.operators(thread)) for thread in scene.threads), default=0)
    if count < _LEAST_OPERATORS:
        raise ValueError(f"it has {count} outermost operators, too few")


def _insert(
    scene: Scene,
    natural: dict[str, list[_core.Edit]],
    rng: np.random.Generator,
    null: bool,
) -> tuple[str, str, Draw, Outcome] | None:
    patterns = [name for name in MECHANISMS if can_have(scene, name)]
    weights = np.array([WEIGHTS[name] for name in patterns])
    for _ in range(_TRIES):
        pattern = str(rng.choice(patterns, p=weights / weights.sum()))
        mechanism = str(rng.choice(sorted(MECHANISMS[pattern])))
        draw = _draw(scene, rng, null)
        try:
            perturbation = MECHANISMS[pattern][mechanism](scene, draw)
            if not len(perturbation):
                continue
            result = outcome(scene, natural, perturbation, pattern)
        except ValueError as place:  # inside a call, in a wait for another thread
            if "insertion" not in str(place):
                raise
            continue
        if null and result.windows.max() >= NOTHING:
            continue
        return pattern, mechanism, draw, result
    return None


def _draw(scene: Scene, rng: np.random.Generator, null: bool) -> Draw:
    threads = [t for t in scene.threads if len(scene.operators(t)) >= _LEAST_OPERATORS]
    weights = np.array([thread.launches for thread in threads], dtype=float)
    thread: Thread = threads[int(rng.choice(len(threads), p=weights / weights.sum()))]
    rows = scene.operators(thread)
    # A stretch of its operators, at least 20 of them.
    count = len(rows)
    share = max(_LEAST_OPERATORS / count, float(rng.uniform(0.08, 0.5)))
    taken = min(count, max(_LEAST_OPERATORS, int(share * count)))
    first = int(rng.integers(count - taken + 1))
    begin, end = int(scene.ts[rows[first]]), int(scene.end[rows[first + taken - 1]])
    return Draw(rng, float(rng.uniform()), null, thread, begin, end)


def _natural(
    natural: dict[str, list[_core.Edit]], result: Outcome
) -> tuple[runs.Cause, ...]:
    return tuple(
        runs.Cause(
            name, "as_recorded", 1.0, natural=True, saved=round(result.saved[name], 6)
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
