# SPDX-License-Identifier: BSD-3-Clause
"""machine.py: (a) versions, the device, its clocks and rates.

Needs no build, so it also describes a machine on which the build failed.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Callable

from benchmarks.device.findings import Findings, parse
from benchmarks.lab import pages

PACKAGES = ("numpy", "pytest", "pybind11", "scikit-build-core", "torch", "triton")
COMMANDS = ("nvcc --version", "g++ --version", "cmake --version", "ninja --version")
CLOCKS = ("clocks.sm", "clocks.mem", "clocks.max.sm", "power.draw", "temperature.gpu")
SIDE = 8192  # Of the matrices of a product in bfloat16, some 1.4 ms on an H200.
QUEUED = 700  # Products: a second of work, during which the clocks are read.
COPIED = 2 << 30  # Bytes: many times the cache of any device.


def printed(*command: str) -> str:
    """Return the output of a command; "" if it is missing, fails or hangs."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=4)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def of_device(*names: str) -> dict[str, str]:
    """Return properties of the device as nvidia-smi has them, with units."""
    query = f"--query-gpu={','.join(names)}"
    values = printed("nvidia-smi", query, "--format=csv,noheader", "--id=0")
    return dict(zip(names, (v.strip() for v in values.split(",")), strict=False))


def versions() -> dict[str, str | None]:
    """Return the versions of packages; None for one that is missing."""
    found: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def milliseconds(call: Callable[[], object], times: int) -> float:
    """Return the device's time for a call, in the mean of several after one."""
    import torch

    call()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(times):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / times


def rates(found: Findings) -> None:
    """Measure the device: clocks idle and at work, products in bfloat16, copies."""
    import torch

    gpu = torch.cuda.get_device_properties(0)
    idle = of_device(*CLOCKS)
    driver = of_device("driver_version").get("driver_version", "")
    found.data |= {
        "gpu": gpu.name,
        "gpu_memory_bytes": gpu.total_memory,
        "multiprocessors": gpu.multi_processor_count,
        "capability": f"{gpu.major}.{gpu.minor}",
        "driver": driver,
        "clocks_idle": idle,
    }
    found.lines.append(
        f"{gpu.name}, {gpu.total_memory / 1e9:.0f} GB, "
        f"{gpu.multi_processor_count} multiprocessors, driver {driver or 'unknown'}, "
        f"CUDA {torch.version.cuda}"
    )
    found.write()
    a, b = (torch.randn(SIDE, SIDE, device="cuda", dtype=torch.bfloat16) for _ in "ab")
    out = torch.empty_like(a)
    for _ in range(QUEUED):
        torch.mm(a, b, out=out)
    busy = of_device(*CLOCKS)
    torch.cuda.synchronize()
    product = milliseconds(lambda: torch.mm(a, b, out=out), 50)
    source = torch.empty(COPIED, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    copy = milliseconds(lambda: target.copy_(source), 10)
    teraflops, terabytes = 2 * SIDE**3 / product / 1e9, 2 * COPIED / copy / 1e9
    found.data |= {
        "clocks_at_work": busy,
        "bfloat16_teraflops": teraflops,
        "copy_terabytes_per_s": terabytes,  # Read and written.
    }
    found.lines.append(
        f"clocks {idle.get('clocks.sm')} idle, {busy.get('clocks.sm')} at work; "
        f"bfloat16 {teraflops:.0f} TFLOP/s, copies {terabytes:.2f} TB/s"
    )


def package(found: Findings) -> None:
    """Check the package that was built."""
    import torch

    import torchtraceap

    built = torchtraceap._core.built_for_torch()
    found.data |= {"torchtraceap": torchtraceap.__version__, "built_for_torch": built}
    matches = torch.__version__.startswith(f"{built}.")
    found.check("the modules are for this torch", matches, torch.__version__)
    if gpu := found.data.get("gpu"):
        known = [row.driver_name for row in torchtraceap._core.gpus()]
        found.check("the table of GPUs has this one", gpu in known, gpu)


def main() -> int:
    """Find out, write."""
    given = parse(__doc__)
    found = Findings("machine", given.out)
    of = pages.machine()
    found.data = {
        "machine": of,
        "versions": versions(),
        "commands": {c: printed(*c.split()) for c in COMMANDS},
    }
    # Memory of a virtual machine may grow as it is used.
    found.lines.append(
        f"{of['processor']}, {os.cpu_count()} cores, {of['memory_bytes'] >> 30} GiB; "
        f"Python {platform.python_version()}, torch {found.data['versions']['torch']}"
    )
    found.write()
    if given.device == "cuda":
        with found.part("the device works"):
            rates(found)
    with found.part("the package is there"):
        package(found)
    return found.code


if __name__ == "__main__":
    sys.exit(main())
