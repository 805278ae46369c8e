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
from typing import Any

import torch

import torchtraceap
from benchmarks import ROOT
from benchmarks.device.findings import Findings, parse, synchronize

# The corpus first: its modules import a package of its own.
from benchmarks.dryrun.models import gpt_training, resnet_training
from benchmarks.lab.corpus.workloads.families import FAMILIES
from benchmarks.lab.corpus.workloads.training import Lab, Training

Step = Callable[[], Any]
#: Assumed by the dry run in a rehearsal, and for a GPU that its table lacks.
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
    """Return a dry run's estimates for a step."""
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
    warm_up, steps = (WARM_UP, MEASURED) if device == "cuda" else (1, 1)
    with model(name, device, device) as step:
        for _ in range(warm_up):
            step()
        synchronize(device)
        begin = time.perf_counter()
        for _ in range(steps):
            step()
        synchronize(device)
        took = time.perf_counter() - begin
        with torch.profiler.profile() as prof:
            for _ in range(RECORDED):
                step()
            synchronize(device)
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
        "step_ms": 1e3 * took / steps,
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
            [sys.executable, "-m", "benchmarks.device.estimates", "dry", device, gpu],
            cwd=ROOT,
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


def compare(found: Findings, name: str, device: str, predicted: Any) -> None:
    """Measure a model and compare it with its estimate, if there is one."""
    real = measured(name, device)
    found.data[name] = row = {"measured": real}
    if device == "cuda":
        found.check(f"{name}: kernels were recorded", real["busy_ms"] > 0, real)
    found.check(f"{name} runs dry", predicted is not None)
    if predicted is None:
        return
    row["dry"] = predicted
    line = f"{name}: dry {predicted['kernels']:.0f} kernels, "
    line += f"{predicted['busy_ms']:.2f} ms; "
    if real["busy_ms"]:
        row["ratio"] = predicted["busy_ms"] / real["busy_ms"]
        line += f"measured {real['kernels']:.0f}, {real['busy_ms']:.2f} ms of a "
        line += f"step of {real['step_ms']:.2f} ms: x{row['ratio']:.2f}"
    else:
        line += f"a step of {real['step_ms']:.2f} ms here, on no device"
    found.lines.append(line)


def main() -> int:
    """Compare, write."""
    given = parse(__doc__)
    found = Findings("estimates", given.out)
    estimates, errors = dry_rows(given.device, 0.5 * given.seconds)
    print(errors, file=sys.stderr)
    found.data["dry_errors"] = errors[-2000:]
    for name in NAMES:
        if time.monotonic() > given.until:
            found.check(f"{name} was measured", False, "no time was left")
            continue
        with found.part(f"{name} runs"):  # One that fails does not keep others away.
            compare(found, name, given.device, estimates.get(name))
    ratios = [found.data[name].get("ratio") for name in NAMES if name in found.data]
    if known := [ratio for ratio in ratios if ratio]:
        off = statistics.median(max(ratio, 1 / ratio) for ratio in known)
        found.lines.append(f"the estimate is off by a factor of {off:.2f} (median)")
    found.write()
    return found.code


if __name__ == "__main__":
    if sys.argv[1:2] == ["dry"]:
        for each in NAMES:
            print(json.dumps({"name": each, **dry(each, *sys.argv[2:])}), flush=True)
    else:
        sys.exit(main())
