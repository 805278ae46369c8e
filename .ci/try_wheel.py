#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""try_wheel.py WHEEL: inspects a wheel, installs it into an empty environment, uses it.

The environment is new, outside the checkout, and has no compiler on its PATH.
TORCH_SPEC names the torch that the wheel was built for, which is installed after the
parts that need no torch were tried; if it is empty, the wheel was built without torch.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRACE = ROOT / "tests/data/kineto2021-v100-resnet50-workers0-memory.json.gz"
TORCH_SPEC = os.environ.get("TORCH_SPEC", "")
# Files of a wheel other than the package's: metadata, and included libraries.
ADDED = re.compile(r"[^/]+\.dist-info/|[^/]+\.libs/|[^/]+/\.dylibs/")
MODULES = ["_core", *(["_torch"] if TORCH_SPEC else [])]

TESTS = """
def test_plain(request):
    assert request.config.pluginmanager.has_plugin("torchtraceap")

def test_stored(trace_check):
    trace_check(TRACE).no("graph_break")
"""
TESTS_WITH_TORCH = """
import torch

def test_step(no_sync_stalls):
    layer = torch.nn.Linear(64, 8, device="cuda")
    with no_sync_stalls():
        layer(torch.randn(32, 64, device="cuda")).sum()
"""
SCRIPT = """
import torch

model = torch.nn.Linear(64, 8, device="cuda")
print(model(torch.ones(4, 64, device="cuda")).sum().item())
"""


def look_into(wheel: Path) -> None:
    """Check that a wheel has the files of the packages and the modules, no others."""
    with zipfile.ZipFile(wheel) as archive:
        listed = [name for name in archive.namelist() if not name.endswith("/")]
        added = [name for name in listed if ADDED.match(name)]
        names = set(listed) - set(added)
        modules = sorted(name for name in names if name.endswith(".so"))
        files = {
            path.relative_to(ROOT / "python").as_posix()
            for package in (ROOT / "python").glob("*/__init__.py")
            for path in package.parent.rglob("*")
            if path.is_file() and path.suffix not in {".so", ".pyc"}
        }
        if wrong := sorted((names - set(modules)) ^ files):
            raise SystemExit(f"wheel: only in the wheel, or only in python/: {wrong}")
        if [Path(name).name.partition(".")[0] for name in modules] != MODULES:
            raise SystemExit(f"wheel: has the modules {modules}, expected {MODULES}")
        if wrong := [name for name in added if re.search(r"libtorch|libc10", name)]:
            raise SystemExit(f"wheel: has libraries of torch: {wrong}")
        for name in modules:
            if b"/site-packages/" in archive.read(name):
                raise SystemExit(f"wheel: {name} has paths of the build machine")
    size = wheel.stat().st_size / 1e6
    print(f"wheel: {wheel.name}: {len(listed)} files, {size:.1f} MB", flush=True)


class Room:
    """An empty environment in a folder; commands in it see nothing else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder / "venv", symlinks=True, with_pip=True)
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "PYTEST", "VIRTUAL_ENV", "TORCHTRACEAP"))
        }
        self.environment = kept | {"PATH": str(folder / "venv" / "bin")}

    def run(self, *command: str, says: str = "") -> str:
        """Run a command, which must succeed and print ``says``; return its output."""
        begin = time.perf_counter()
        done = subprocess.run(
            [str(self.folder / "venv" / "bin" / command[0]), *command[1:]],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        shown = " ".join(command)
        if done.returncode != 0 or says not in " ".join(done.stdout.split()):
            raise SystemExit(
                f"{done.stdout}wheel: {shown}: exit code {done.returncode}; "
                f"expected 0, and in the output: {says}"
            )
        print(f"wheel: {time.perf_counter() - begin:.1f} s: {shown}", flush=True)
        return done.stdout

    def write(self, name: str, text: str) -> None:
        """Write a file of a user's project."""
        (self.folder / name).write_text(text, encoding="utf-8")


def use(room: Room, wheel: Path) -> None:
    """Use a wheel without torch, with the torch it was built for, with another one."""
    analyze = ("torchtraceap", "analyze", "--full", str(TRACE))
    dry_run = ("torchtraceap", "dryrun", "script.py")
    pytest = ("pytest", "-W", "error", "-p", "no:cacheprovider", "-q")
    room.run("pip", "install", "--quiet", "--only-binary=:all:", str(wheel))
    code = "import torchtraceap; print(torchtraceap._core.built_for_torch())"
    built = room.run("python", "-W", "error", "-c", code).strip()
    why = "this torchtraceap was built where no torch was"
    if built:
        why = f"the learned detector needs torch {built}, and there is none"
    room.run(*analyze, says=f"Detector not run: {why}")
    explain = ("torchtraceap", "explain", str(TRACE), "--top", "1")
    room.run(*explain, says="num_workers=4, #")  # by a file of the package
    room.run("pip", "install", "--quiet", "pytest")
    room.write("test_project.py", f"TRACE = {str(TRACE)!r}\n{TESTS}")
    room.run(*pytest, says="2 passed")
    if not built:
        return
    room.run("pip", "install", "--quiet", TORCH_SPEC)
    room.run(*analyze, says="Detector (torchtraceap")
    room.write("script.py", SCRIPT)
    room.run(*dry_run, says="The host would wait for the GPU")
    room.write("test_step.py", TESTS_WITH_TORCH)
    room.run(*pytest, says="3 passed")
    # No other torch is available, so this one gets another version number.
    (file,) = room.folder.glob("venv/lib/*/site-packages/torch/version.py")
    text = file.read_text(encoding="utf-8")
    file.write_text(re.sub(r"(?m)^__version__ = .*", "__version__ = '2.9.1'", text))
    room.run(*analyze, says=f"was built for torch {built}, and torch is 2.9.1")
    room.run(*dry_run, says="The host would wait for the GPU")


def main() -> None:
    """Try the wheel that the command line names."""
    wheel = Path(sys.argv[1]).resolve()
    look_into(wheel)
    with tempfile.TemporaryDirectory() as folder:
        use(Room(Path(folder)), wheel)


if __name__ == "__main__":
    main()
