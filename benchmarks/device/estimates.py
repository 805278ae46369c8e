# SPDX-License-Identifier: BSD-3-Clause
"""estimates.py: (e) the dry run's estimate of a step against the measured one.

Six models train on the device and in a dry run for it: kernels a step, and the time
that kernels and copies take together, as a profile has it. A dry run begins only where
torch sees no GPU: this file runs itself for it, with the device hidden.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from findings import ROOT, Findings, parse

# The corpus first: its modules import a package of its own.
sys.path[:0] = [str(ROOT / "benchmarks" / name) for name in ("corpus", "dryrun")]

from models import gpt_training, resnet_training  # noqa: E402
from workloads.families import FAMILIES  # noqa: E402
from workloads.training import Lab, Training  # noqa: E402

import torchtraceap  # noqa: E402

Step = Callable[[], Any]
#: Of a rehearsal the dry run stands for this one, as there is none.
USUAL_GPU = "H100 SXM"
WARM_UP, MEASURED, RECORDED = 10, 10, 3
DRY_STEPS = 3
RESNET = {"cuda": {"batch": 32}, "cpu": {"batch": 1}}
GPT = {
    "cuda": {"width": 768, "heads": 12, "depth": 12, "batch": 8, "length": 1024},
    "cpu": {"width": 32, "heads": 2, "depth": 1, "batch": 1, "length": 8},
}
NAMES = ("resnet50", "gpt", "vit", "unet", "lstm", "recommender")


@contextmanager
def model(name: str, device: str, scale: str) -> Iterator[Step]:
    """Build a model on a device; gives its training step."""
    torch.manual_seed(0)
    if name == "resnet50":
        yield resnet_training(device, foreach=True, **RESNET[scale])
    elif name == "gpt":
        yield gpt_training(device, **GPT[scale])[0]
    else:
        run = Training(Lab(torch.device(device), FAMILIES[name], scale, seed=0))
        try:
            with run.settings():
                yield run.step
        finally:
            run.close()


def dry(name: str, scale: str, gpu: str) -> dict[str, float]:
    """Return what a dry run says of a step."""
    begin = time.perf_counter()
    with torchtraceap.dry_run(gpu=gpu) as run, model(name, "cuda", scale) as step:
        for _ in range(DRY_STEPS):
            step()
            run.step()
    usual = run.usual_step
    return {
        "kernels": usual.launches,
        "copies": usual.copies,
        "busy_ms": usual.device_us / 1e3,
        "seconds": time.perf_counter() - begin,
    }


def measured(name: str, device: str) -> dict[str, float]:
    """Return the same of the device, and the milliseconds of a step, unprofiled."""
    with model(name, device, device) as step:
        for _ in range(WARM_UP if device == "cuda" else 1):
            step()
        synchronize = partial(torch.cuda.synchronize if device == "cuda" else int)
        synchronize()
        begin = time.perf_counter()
        for _ in range(MEASURED if device == "cuda" else 1):
            step()
        synchronize()
        took = time.perf_counter() - begin
        with torch.profiler.profile() as prof:
            for _ in range(RECORDED):
                step()
            synchronize()
    report = torchtraceap.analyze(prof, quiet=True, detector="off")
    kernels = sum(kernel.total_us for kernel in report.kernels)
    copies = sum(copy.total_us for copy in report.copies)
    sets = sum(copy.count for copy in report.copies if copy.direction == "memset")
    launched = sum(kernel.count for kernel in report.kernels) + sets
    crossing = [c.count for c in report.copies if c.direction in ("HtoD", "DtoH")]
    return {
        "kernels": launched / RECORDED,
        "copies": sum(crossing) / RECORDED,
        "busy_ms": (kernels + copies) / 1e3 / RECORDED,
        "step_ms": 1e3 * took / (MEASURED if device == "cuda" else 1),
    }


def dry_rows(device: str, seconds: float) -> tuple[dict[str, Any], str]:
    """Run this file with the device hidden; returns its rows and its errors."""
    gpu = USUAL_GPU
    if device == "cuda":
        mine = torch.cuda.get_device_name()
        known = [g.name for g in torchtraceap._core.gpus() if g.driver_name == mine]
        gpu = known[0] if known else USUAL_GPU
    try:
        done = subprocess.run(
            [sys.executable, __file__, "dry", device, gpu],
            env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
            capture_output=True,
            text=True,
            timeout=seconds,
        )
        out, errors = done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        out, errors = str(late.stdout or b"", "utf-8"), f"not done in {seconds:.0f} s"
    rows = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return {row.pop("name"): row | {"gpu": gpu} for row in rows}, errors


def main() -> int:
    """Compare, write."""
    given = parse(__doc__)
    found = Findings("estimates", given.out)
    estimates, errors = dry_rows(given.device, 0.5 * given.seconds)
    print(errors, file=sys.stderr)
    ratios = []
    for name in NAMES:
        if time.monotonic() > given.until:
            found.check(f"{name} was measured", False, "no time was left")
            continue
        try:
            row: dict[str, Any] = {"measured": measured(name, given.device)}
        except Exception as error:  # One model that fails is no reason to lose others.
            found.check(f"{name} runs", False, f"{type(error).__name__}: {error}")
            continue
        found.data[name] = row
        found.check(f"{name} runs dry", name in estimates, errors[-200:])
        if name not in estimates:
            continue
        row["dry"] = said = estimates[name]
        real = row["measured"]
        line = f"{name}: dry {said['kernels']:.0f} kernels, {said['busy_ms']:.2f} ms; "
        if real["busy_ms"]:
            row["ratio"] = said["busy_ms"] / real["busy_ms"]
            ratios.append(row["ratio"])
            line += f"measured {real['kernels']:.0f}, {real['busy_ms']:.2f} ms of a "
            line += f"step of {real['step_ms']:.2f} ms: {row['ratio']:.2f} times"
        else:
            line += f"a step of {real['step_ms']:.2f} ms here, on no device"
        found.lines.append(line)
        found.write()
    if ratios:
        off = statistics.median(max(r, 1 / r) for r in ratios)
        found.lines.append(f"the estimate is off by a factor of {off:.2f} (median)")
    found.write()
    return found.code


if __name__ == "__main__":
    if sys.argv[1:2] == ["dry"]:
        for each in NAMES:
            print(json.dumps({"name": each, **dry(each, *sys.argv[2:])}), flush=True)
    else:
        sys.exit(main())
