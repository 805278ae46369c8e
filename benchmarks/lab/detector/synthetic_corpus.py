# SPDX-License-Identifier: BSD-3-Clause
"""synthetic_corpus.py: a corpus of numbers drawn at random, in the compact form.

It says nothing about traces. Each pattern has columns that read, with noise, what it
costs; the other columns are noise or follow the model family, the GPU or the source. Of
source P only what was put in is known, and two patterns that were found. It serves to
test the evaluation.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

PATTERNS = (
    ("sync_stall", "cpu"), ("dataloader_bound", "cpu"), ("launch_bound", "cpu"),
    ("gc_pause", "cpu"), ("exposed_copy", "gpu"), ("redundant_d2d", "gpu"),
    ("small_grid", "gpu"), ("comm_exposed", "gpu"),
)  # fmt: skip
MECHANISMS = ("first", "second", "third")
TASKS = {
    "classification": ("resnet", "vit"), "segmentation": ("unet", "deeplab"),
    "generation": ("vae", "dcgan"),
}  # fmt: skip
GPUS = ("A100", "T4", "V100")
ORIGINS = 5
HELD_OUT = ("origin0", "origin3")
_ROLES = ("slow", "fixed", "slow", "fixed", "null", "natural")
_BASE_COLUMNS = ("busy_fraction", "host_late_share", "of_family", "of_gpu", "of_source")


@dataclass
class Drawn:
    """What has been drawn so far."""

    runs: list[dict[str, Any]] = field(default_factory=list)
    saved: list[np.ndarray] = field(default_factory=list)
    known: list[np.ndarray] = field(default_factory=list)
    windows: list[int] = field(default_factory=list)


def write_corpus(
    out: Path, groups: int = 60, columns: int = 24, windows: int = 14, seed: int = 0
) -> None:
    """Write `out/compact`.

    Args:
        out: Folder of the corpus.
        groups: Groups of six runs: two pairs, a null injection, one as found.
        columns: Columns of the table of features; at least two a pattern and some more.
        windows: Windows of a run, about.
        seed: To draw from.
    """
    random = np.random.default_rng(seed)
    drawn = Drawn()
    for number in range(groups):
        _draw_group(drawn, random, number, windows)
    saved = np.concatenate(drawn.saved)
    run = np.repeat(np.arange(len(drawn.runs)), drawn.windows)
    arrays, names = _columns(drawn, random, saved, run, columns)
    folder = out / "compact"
    folder.mkdir(parents=True, exist_ok=True)
    known = {
        "fingerprint": f"synthetic-{columns}",
        "columns": names,
        "patterns": PATTERNS,
        "window_events": 128,
    }
    (folder / "columns.json").write_text(json.dumps(known) + "\n", "utf-8")
    lines = [json.dumps(one) + "\n" for one in drawn.runs]
    (folder / "runs.jsonl").write_text("".join(lines), "utf-8")
    np.savez_compressed(folder / "windows.npz", **arrays)


def _draw_group(drawn: Drawn, random: Any, number: int, windows: int) -> None:
    source = ("S", "S", "R", "P")[number % 4]
    task = str(random.choice(list(TASKS)))
    family = str(random.choice(TASKS[task]))
    gpu = "" if source == "R" else GPUS[number // 4 % len(GPUS)]
    real = source == "P"
    origin = f"origin{number // 4 % ORIGINS}" if real else ""
    near = random.integers(len(PATTERNS), size=2)  # The patterns of the two pairs.
    recording = {"with_stack": bool(random.integers(2)), "steps": 3}
    for place, role in enumerate(_ROLES):
        name = f"g{number:03d}-{place}"
        count = int(random.integers(windows // 2, windows * 3 // 2 + 1))
        saved = np.clip(random.exponential(0.004, (count, len(PATTERNS))), 0, 0.019)
        # Something is there by itself, in good runs too.
        if random.random() < 0.5:
            some = random.random(count) < 0.08
            saved[some, random.integers(len(PATTERNS))] = 0.12
        causes = []
        pattern = int(near[place // 2 % 2])
        if role in ("slow", "null"):
            strength = float(random.random())
            mechanism = str(random.choice(MECHANISMS))
            if role == "slow":
                there = random.random(count) < 0.7
                much = 0.6 * strength * random.uniform(0.5, 1.0, count)
                saved[there, pattern] += much[there]
            causes = [
                {
                    "pattern": PATTERNS[pattern][0], "mechanism": mechanism,
                    "strength": strength, "null": role == "null", "natural": False,
                    "saved": float(saved[:, pattern].mean()), "line": "", "also": [],
                }
            ]  # fmt: skip
        known = np.full(saved.shape, not real)
        if real:
            causes += _found(random, saved, pattern if causes else -1)
            computed = {cause["pattern"] for cause in causes}
            known[:] = [name in computed for name, _ in PATTERNS]
        twin = f"g{number:03d}-{place + (1 if role == 'slow' else -1)}"
        good = bool(saved.sum(axis=1).mean() < 0.05)
        drawn.saved.append(saved.astype(np.float32))
        drawn.known.append(known)
        drawn.windows.append(count)
        drawn.runs.append(
            {
                "name": name, "source": source, "group": origin or f"g{number:03d}",
                "role": role, "twin": twin if role in ("slow", "fixed") else "",
                "task": "" if real else task, "family": family,
                "trains": True, "gpu": gpu, "seed": number,
                "origin": origin, "held_out": origin in HELD_OUT,
                "complete": not real, "unknown": [], "recording": recording,
                "causes": causes, "good": good, "windows": count,
            }
        )  # fmt: skip


def _found(random: Any, saved: np.ndarray, put_in: int) -> list[dict[str, Any]]:
    """Return causes that were found: a pattern of each side but the one put in."""
    found = []
    for side in ("cpu", "gpu"):
        some = [k for k, (_, of) in enumerate(PATTERNS) if of == side and k != put_in]
        k = int(random.choice(some))
        found.append(
            {
                "pattern": PATTERNS[k][0], "mechanism": "as_recorded", "strength": 1.0,
                "null": False, "natural": True, "saved": float(saved[:, k].mean()),
                "line": "", "also": [],
            }
        )  # fmt: skip
    return found


def _columns(
    drawn: Drawn, random: Any, saved: np.ndarray, run: np.ndarray, columns: int
) -> tuple[dict[str, np.ndarray], list[str]]:
    total = len(saved)
    runs, known = drawn.runs, np.concatenate(drawn.known)
    host = np.array([one["source"] == "R" for one in runs])[run]
    cpu = np.array([side == "cpu" for _, side in PATTERNS])
    idle = saved[:, cpu].sum(axis=1) + 0.3 * saved[:, ~cpu].sum(axis=1)
    busy = np.clip(0.95 - idle - random.exponential(0.08, total), 0.02, 1)
    late = np.clip(saved[:, cpu].sum(axis=1) + random.normal(0, 0.1, total), 0, 1)
    codes = [
        np.unique([one[key] for one in runs], return_inverse=True)[1][run]
        for key in ("family", "gpu", "source")
    ]
    values = [busy, late, *(code + random.normal(0, 0.8, total) for code in codes)]
    names = list(_BASE_COLUMNS)
    for k, (pattern, _) in enumerate(PATTERNS):
        for kind, noise in (("share", 0.08), ("name_hits", 0.15)):
            names.append(f"{pattern}_{kind}")
            values.append(saved[:, k] + random.normal(0, noise, total))
    while len(names) < columns:
        names.append(f"noise_{len(names)}")
        values.append(random.normal(0, 1, total))
    features = np.stack(values, axis=1).astype(np.float32)
    features[host, 0] = np.nan
    heard = random.random(saved.shape) < 0.75  # Rules miss some, and see others.
    rules = np.where(heard & (saved > 0.05), saved, 0)
    rules += np.where(random.random(saved.shape) < 0.02, 0.1, 0)
    begin = np.concatenate([np.arange(count) for count in drawn.windows]) * 10_000_000
    return {
        "features": features,
        "run": run.astype(np.int32),
        "begin_ns": begin.astype(np.int64),
        "end_ns": (begin + 10_000_000).astype(np.int64),
        "device": np.where(host, -1, 0).astype(np.int32),
        "busy": np.where(host, np.nan, busy).astype(np.float32),
        "events": np.full(total, 128, np.int32),
        "saved": np.where(known, saved, np.nan).astype(np.float32),
        "saved_all": np.clip((saved * known).sum(axis=1), 0, 0.98).astype(np.float32),
        "rules": rules.astype(np.float32),
    }, names
