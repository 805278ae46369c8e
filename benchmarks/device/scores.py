# SPDX-License-Identifier: BSD-3-Clause
"""scores.py: (c) the detector on the device and on the CPU: agreement and speed.

Agreement is of probabilities and network scores over the traces in tests/data, against
float32 on one CPU thread. Speed is of the network alone, on one long trace: windows a
second by the tokens of a batch and the type, as the best of several rounds; a profile
of one call tells the time of its transfers apart.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from findings import ROOT, Findings, parse

sys.path += [str(ROOT / "benchmarks" / name) for name in ("loader", "analysis")]

from repeat import write_repeated

import torchtraceap
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap.detection import BUNDLED

DATA = ROOT / "tests" / "data"
LONG = "kineto2021-v100-resnet50-workers0-memory"
#: How often the long trace is repeated; batches; rounds of each figure.
SIZES = {
    "cuda": (4, (1024, 2048, 8192, 32768, 131072), 5),
    "cpu": (1, (1024, 2048), 2),
}
#: What docs promise of another device and of bfloat16, of a probability.
MOST_OFF = 1e-2


def arrays_of(path: Path) -> Any:
    """Return a trace as the network reads it."""
    features = torchtraceap.analyze(path, detector="off", quiet=True).features()
    module = load_torch_module()
    return module.Arrays(features.windows, features.tokens, features.token_begin)


def ranks(values: np.ndarray) -> np.ndarray:
    """Return the ranks of values; equal ones share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return Spearman's coefficient."""
    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def seconds(call: Callable[[], Any], rounds: int) -> float:
    """Return the seconds of the fastest call, after one that is not counted."""
    call()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def agreement(models: dict[str, Any], device: str) -> dict[str, dict[str, float]]:
    """Compare each device and type with float32 on one CPU thread."""
    inputs = [arrays_of(path) for path in sorted(DATA.glob("*.json.gz"))]
    wanted: dict[str, np.ndarray] = {}
    out = {}
    for where, half in (("cpu", False), ("cpu", True), (device, False), (device, True)):
        name = f"{where} {'bfloat16' if half else 'float32'}"
        model = models[where]
        options = {"threads": 1, "bfloat16": half}
        said = [model.say(one, **options)["probability"] for one in inputs]
        told = [model.network.score(one, **options)["any"] for one in inputs]
        got = {
            "probability": np.concatenate([one.ravel() for one in said]),
            "network": np.concatenate([one.ravel() for one in told]),
        }
        wanted = wanted or got
        out[name] = {"windows": len(got["network"]) // 2}
        for of, values in got.items():
            off = np.abs(values - wanted[of])
            out[name][f"{of}_off"] = float(off.max())
            out[name][f"{of}_rank_correlation"] = rank_correlation(values, wanted[of])
    return out


def transfers(call: Callable[[], Any]) -> dict[str, float]:
    """Profile a call; returns milliseconds of the device: kernels, copies by direction,
    and the bytes of those."""
    with torch.profiler.profile() as prof:
        call()
    report = torchtraceap.analyze(prof, quiet=True, detector="off")
    out = {"kernels": sum(k.total_us for k in report.kernels) / 1e3}
    for copy in report.copies:
        out[copy.direction] = out.get(copy.direction, 0) + copy.total_us / 1e3
        name = f"{copy.direction} bytes"
        out[name] = out.get(name, 0) + float(copy.bytes or 0)
    return out


def speeds(models: dict[str, Any], arrays: Any, device: str) -> list[dict[str, Any]]:
    """Measure windows a second."""
    _, batches, rounds = SIZES[device]
    rows = []
    places = [("cpu", 1), ("cpu", os.cpu_count() or 1)] + [("cuda", 0)] * (
        device == "cuda"
    )
    for where, threads in places:
        for half in (False, True):
            for batch in batches if where == device else batches[1:2]:
                options = {"threads": threads, "batch_tokens": batch, "bfloat16": half}

                def score(options: dict[str, Any] = options, where: str = where) -> Any:
                    return models[where].network.score(arrays, **options)

                took = seconds(score, rounds if where == device else 2)
                row: dict[str, Any] = {"where": where, **options, "seconds": took}
                row["windows_per_s"] = len(arrays) / took
                if where == "cuda":
                    row["device_ms"] = transfers(score)
                rows.append(row)
                print(row, flush=True)
    return rows


def main() -> int:
    """Compare, measure, write."""
    given = parse(__doc__)
    found = Findings("scores", given.out)
    load = load_torch_module().Model.load
    models = {w: load(str(BUNDLED), device=w) for w in {"cpu", given.device}}
    found.data["agreement"] = rows = agreement(models, given.device)
    for name, row in rows.items():
        found.lines.append(
            f"{name}: off by at most {row['probability_off']:.2g} (probability), "
            f"{row['network_off']:.2g} (network); rank correlation "
            f"{row['network_rank_correlation']:.5f}"
        )
        most = max(row["probability_off"], row["network_off"])
        half = "bfloat16" in name
        if not half:
            found.check(f"{name} is within {MOST_OFF}", most <= MOST_OFF, f"{most:.2g}")
    found.write()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "long.json")
        write_repeated(DATA / f"{LONG}.json.gz", SIZES[given.device][0], path)
        arrays = arrays_of(path)
    found.data["windows"] = len(arrays)
    found.data["speed"] = speed = speeds(models, arrays, given.device)
    for where in dict.fromkeys((row["where"], row["threads"]) for row in speed):
        for half in (False, True):
            mine = [r for r in speed if (r["where"], r["threads"]) == where]
            best = max(
                (r for r in mine if r["bfloat16"] == half),
                key=lambda r: float(r["windows_per_s"]),
            )
            line = (
                f"{where[0]}{f', {where[1]} threads' * bool(where[1])}, "
                f"{'bfloat16' if half else 'float32'}: {best['windows_per_s']:,.0f} "
                f"windows/s (batches of {best['batch_tokens']} tokens)"
            )
            if "device_ms" in best:
                ms = best["device_ms"]
                line += (
                    f"; of {1e3 * best['seconds']:.1f} ms kernels {ms['kernels']:.1f}, "
                    f"copies {ms.get('HtoD', 0) + ms.get('DtoH', 0):.1f}"
                )
            found.lines.append(line)
    found.write()
    return found.code


if __name__ == "__main__":
    sys.exit(main())
