# SPDX-License-Identifier: BSD-3-Clause
"""bench_pytest_start.py: what the registered plugin adds to every start of pytest.

    python -m benchmarks.overhead.bench_pytest_start [--repeats 21]

Runs pytest on one empty test, with the plugin and with `-p no:torchtraceap`, in turn.
Their difference is often lost in the noise of a start, so the import of the plugin
into a process that has pytest is timed by itself too. Importing torch is shown for
scale.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
COMMANDS = {
    "pytest without the plugin": [*PYTEST, "-p", "no:torchtraceap"],
    "pytest with the plugin": PYTEST,
}
IMPORT = """
import pytest, time
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""
IMPORTS = {"importing the plugin": "torchtraceap.pytest_plugin", "- torch": "torch"}


def run(command: list[str], folder: str) -> str:
    done = subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=21)
    repeats = parser.parse_args().repeats
    times: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "test_empty.py"), "w") as file:
            file.write("def test_it(): pass\n")
        for _ in range(repeats):
            for name, command in COMMANDS.items():
                start = time.perf_counter()
                run(command, folder)
                times[name].append(time.perf_counter() - start)
            for name, module in IMPORTS.items():
                code = IMPORT.format(module=module)
                times[name].append(float(run([sys.executable, "-c", code], folder)))
    print(
        f"{platform.machine()}, {os.cpu_count()} CPUs, Python "
        f"{platform.python_version()}; medians of {repeats} (smallest)"
    )
    for name, seconds in times.items():
        print(f"  {name:28} {statistics.median(seconds):6.3f} s ({min(seconds):.3f} s)")


if __name__ == "__main__":
    main()
