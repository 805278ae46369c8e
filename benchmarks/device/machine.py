# SPDX-License-Identifier: BSD-3-Clause
"""machine.py: (a) versions, the device, its clocks idle and at work."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from findings import ROOT, Findings, parse

sys.path.append(str(ROOT / "benchmarks" / "loader"))

import environments
import torch

import torchtraceap

PACKAGES = ("numpy", "pytest", "pybind11", "scikit-build-core", "triton")
COMMANDS = ("nvcc --version", "g++ --version", "cmake --version", "ninja --version")
CLOCKS = ("clocks.sm", "clocks.mem", "clocks.max.sm", "power.draw", "temperature.gpu")
SIDE = 8192  # Of the matrices of a product in bfloat16, some 1.4 ms on an H200.
COPIED = 2 << 30  # Bytes: many times the cache of any device.


def printed(*command: str) -> str:
    """Return what a command prints; "" where it is missing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=15)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def clocks() -> dict[str, str]:
    """Return the device's clocks and load as nvidia-smi has them, with units."""
    query = f"--query-gpu={','.join(CLOCKS)}"
    values = printed("nvidia-smi", query, "--format=csv,noheader", "--id=0")
    return dict(zip(CLOCKS, (v.strip() for v in values.split(",")), strict=False))


def milliseconds(call: Callable[[], object], times: int = 10) -> float:
    """Return the device's time for a call, in the mean of several after one."""
    call()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(times):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / times


def rates() -> dict[str, float]:
    """Return what the device reaches: products in bfloat16, copies within it."""
    a, b = (torch.randn(SIDE, SIDE, device="cuda", dtype=torch.bfloat16) for _ in "ab")
    product = milliseconds(lambda: a @ b)
    source = torch.empty(COPIED, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    copy = milliseconds(lambda: target.copy_(source))
    return {
        "bfloat16_teraflops": 2 * SIDE**3 / product / 1e9,
        "copy_terabytes_per_s": 2 * COPIED / copy / 1e9,  # Read and written.
    }


def main() -> int:
    """Find out, write."""
    given = parse(__doc__)
    found = Findings("machine", given.out)
    versions = {"torch": torch.__version__, "cuda": torch.version.cuda}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    found.data = {
        "machine": environments.machine(),
        "versions": versions,
        "commands": {c: printed(*c.split()).splitlines()[-1:] for c in COMMANDS},
        "torchtraceap": torchtraceap.__version__,
        "built_for_torch": torchtraceap._core.built_for_torch(),
        "module": str(Path(torchtraceap._core.__file__).parent),
    }
    of = found.data["machine"]
    found.lines.append(
        f"{of['processor']}, {os.cpu_count()} cores, {of['memory_bytes'] >> 30} GiB; "
        f"Python {platform.python_version()}, torch {torch.__version__}"
    )
    if given.device == "cuda":
        gpu = torch.cuda.get_device_properties(0)
        idle = clocks()
        found.data |= {
            "gpu": gpu.name,
            "memory_bytes": gpu.total_memory,
            "multiprocessors": gpu.multi_processor_count,
            "capability": f"{gpu.major}.{gpu.minor}",
            "driver": printed(
                "nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"
            ),
            "known_gpus": [row.driver_name for row in torchtraceap._core.gpus()],
            "clocks_idle": idle,
            "rates": rates(),
        }
        busy_until = time.monotonic() + 1
        work = torch.randn(SIDE, SIDE, device="cuda", dtype=torch.bfloat16)
        while time.monotonic() < busy_until:
            for _ in range(20):
                work @ work
            torch.cuda.synchronize()
        found.data["clocks_at_work"] = busy = clocks()
        reached = found.data["rates"]
        found.lines += [
            f"{gpu.name}, driver {found.data['driver']}, CUDA {torch.version.cuda}, "
            f"{gpu.multi_processor_count} multiprocessors",
            f"clocks of multiprocessors {idle.get('clocks.sm')} idle, "
            f"{busy.get('clocks.sm')} at work; bfloat16 "
            f"{reached['bfloat16_teraflops']:.0f} TFLOP/s, copies "
            f"{reached['copy_terabytes_per_s']:.2f} TB/s",
        ]
        known = any(gpu.name in name for name in found.data["known_gpus"])
        found.check("the table of GPUs has this one", known, gpu.name)
    matches = torch.__version__.startswith(f"{found.data['built_for_torch']}.")
    found.check("the modules are for this torch", matches, torch.__version__)
    found.write()
    return found.code


if __name__ == "__main__":
    sys.exit(main())
