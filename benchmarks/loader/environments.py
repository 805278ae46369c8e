# SPDX-License-Identifier: BSD-3-Clause
"""environments.py: the build under test, and the peers' environments."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from benchmarks import ROOT

HERE = Path(__file__).resolve().parent

# torchtraceap has one too: where it is installed as editable, the import hook of that
# comes before the Python path. HTA does not run on pandas 3, and both tools ask for
# notebooks, a server and more that loading does not use: they are installed alone, on
# what they do import.
PACKAGES: dict[str, list[list[str]]] = {
    "ours": [["numpy"]],
    "json": [["msgspec==0.22.0"], ["orjson==3.13.0"], ["pysimdjson==7.0.2"]],
    "tools": [
        ["pandas==2.3.3", "psutil", "pyyaml", "plotly", "networkx"],
        ["--no-deps", "HolisticTraceAnalysis==0.5.0"],
        ["--no-deps", "torch-tb-profiler==0.4.3"],
    ],
}


def build(folder: Path) -> tuple[Path, Path]:
    """Build this tree as it is shipped; return the benchmark and the Python path."""
    where = folder / "build"
    configure = [
        *("cmake", "-S", str(ROOT), "-B", str(where), "-DCMAKE_BUILD_TYPE=Release"),
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-DCMAKE_PROJECT_torchtraceap_INCLUDE={HERE / 'bench_loader.cmake'}",
    ]
    if not (where / "CMakeCache.txt").exists() and shutil.which("ninja"):
        configure += ["-G", "Ninja"]
    for command in (configure, ["cmake", "--build", str(where), "-j2"]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    package = folder / "package" / "torchtraceap"
    shutil.rmtree(package, ignore_errors=True)
    source = ROOT / "python" / "torchtraceap"
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(source, package, ignore=ignored)
    (module,) = (where / "cpp" / "bindings").glob("_core.*.so")
    shutil.copy(module, package)
    return where / "bench_loader", package.parent


def environment(folder: Path, name: str) -> tuple[Path, dict[str, str]]:
    """Make an environment of `PACKAGES`; return its Python, and why packages lack."""
    where = folder / f"venv-{name}"
    stamp, python = where / "installed.json", where / "bin" / "python"
    if stamp.exists():
        kept = json.loads(stamp.read_text())
        if kept["asked"] == PACKAGES[name] and not kept["missing"]:
            return python, {}
    venv.create(where, with_pip=True, clear=True)
    missing = {}
    for packages in PACKAGES[name]:
        command = [str(python), "-m", "pip", "install", "--quiet", *packages]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            reason = [s for s in done.stderr.splitlines() if s.startswith("ERROR")]
            for package in packages:
                missing[package.partition("==")[0]] = (reason or ["pip failed"])[-1]
    stamp.write_text(json.dumps({"asked": PACKAGES[name], "missing": missing}))
    return python, missing
