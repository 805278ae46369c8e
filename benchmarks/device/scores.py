# SPDX-License-Identifier: BSD-3-Clause
"""scores.py: (c) the detector on the device and on the CPU: agreement and speed.

Agreement is of probabilities and network scores over the traces in tests/data, against
float32 on one CPU thread. Speed is of the network alone, on one long trace: windows a
second by the tokens of a batch and the type, the best of several rounds; a profile of
one call has the time of its transfers.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import torchtraceap
from benchmarks import DATA
from benchmarks.analysis.repeat import write_repeated
from benchmarks.device.findings import Findings, parse
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap.detection import BUNDLED

LONG = "kineto2021-v100-resnet50-workers0-memory"
#: How often the long trace is repeated; batches; rounds of each figure.
SIZES = {
    "cuda": (4, (2048, 8192, 32768, 131072), 3),
    "cpu": (1, (1024, 2048), 2),
}
#: Of a probability, as docs/detector.md has it for GPUs and for bfloat16.
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
        mixed = [model.say(one, **options)["probability"] for one in inputs]
        scores = [model.network.score(one, **options)["any"] for one in inputs]
        got = {
            "probability": np.concatenate([one.ravel() for one in mixed]),
            "network": np.concatenate([one.ravel() for one in scores]),
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


def to_measure(device: str) -> list[dict[str, Any]]:
    """Return the settings to measure, the device's first."""
    _, batches, _ = SIZES[device]
    every = os.cpu_count() or 1
    places = [("cuda", 0)] * (device == "cuda") + [("cpu", 1), ("cpu", every)]
    return [
        {"where": where, "threads": n, "batch_tokens": batch, "bfloat16": half}
        for where, n in places
        for half in (False, True)
        for batch in (batches if where == device else batches[1:2])
    ]


def speeds(found: Findings, models: dict[str, Any], arrays: Any, given: Any) -> None:
    """Measure windows a second: all of the GPU, and of the CPU as far as there is time,
    since bfloat16 is slow on CPUs without instructions for it. Profile the fastest
    batches of the device last, since a profiler may slow all that follows."""
    rounds = SIZES[given.device][2]
    rows: list[dict[str, Any]] = []
    found.data |= {"windows": len(arrays), "speed": rows}
    calls = {}
    for row in to_measure(given.device):
        if time.monotonic() > given.until:
            if row["where"] == "cuda":
                found.check("all speeds were measured", False, f"{len(rows)} of them")
            else:
                found.lines.append(
                    f"no time for more speeds of the CPU than {len(rows)}"
                )
            break
        options = {k: v for k, v in row.items() if k != "where"}
        call = partial(models[row["where"]].network.score, arrays, **options)
        took = seconds(call, rounds if row["where"] == given.device else 2)
        rows.append(row | {"seconds": took, "windows_per_s": len(arrays) / took})
        calls[len(rows) - 1] = call
        print(rows[-1], flush=True)
        found.write()
    for where in dict.fromkeys((row["where"], row["threads"]) for row in rows):
        for half in (False, True):
            mine = [
                (float(row["windows_per_s"]), number)
                for number, row in enumerate(rows)
                if (row["where"], row["threads"]) == where and row["bfloat16"] == half
            ]
            if not mine:
                continue
            best = rows[max(mine)[1]]
            threads = f", {where[1]} threads" if where[1] else ""
            line = (
                f"{where[0]}{threads}, {'bfloat16' if half else 'float32'}: "
                f"{best['windows_per_s']:,.0f} windows/s, batches of "
                f"{best['batch_tokens']} tokens"
            )
            if where[0] == "cuda":
                best["device_ms"] = ms = transfers(calls[max(mine)[1]])
                line += (
                    f"; of {1e3 * best['seconds']:.1f} ms kernels {ms['kernels']:.1f}, "
                    f"copies {ms.get('HtoD', 0) + ms.get('DtoH', 0):.1f}"
                )
            found.lines.append(line)
            found.write()


def main() -> int:
    """Compare, measure, write."""
    given = parse(__doc__)
    found = Findings("scores", given.out)
    load = load_torch_module().Model.load
    models = {w: load(str(BUNDLED), device=w) for w in {"cpu", given.device}}
    with found.part("both devices agree"):
        found.data["agreement"] = rows = agreement(models, given.device)
        for name, row in rows.items():
            off = max(row["probability_off"], row["network_off"])
            found.lines.append(
                f"{name}: off by at most {row['probability_off']:.2g} (probability), "
                f"{row['network_off']:.2g} (network); rank correlation "
                f"{row['network_rank_correlation']:.5f}"
            )
            found.check(f"{name} is within {MOST_OFF}", off <= MOST_OFF, f"{off:.2g}")
    with found.part("speeds"), tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "long.json")
        write_repeated(DATA / f"{LONG}.json.gz", SIZES[given.device][0], path)
        speeds(found, models, arrays_of(path), given)
    return found.code


if __name__ == "__main__":
    sys.exit(main())
