# SPDX-License-Identifier: BSD-3-Clause
"""test_conduct.py: loading leaves no traces, and works in threads, forks and pools."""

from __future__ import annotations

import gzip
import multiprocessing
import os
import pickle
import re
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import torchtraceap
from torchtraceap.cli import main

from .conftest import python

SOURCE = "kineto2021-v100-resnet50-workers0-memory.json.gz"
SMALL = "mi250-rocm62-tiny.json.gz"

# Load and analyze; everything else that Python does comes before the marks.
WORK = """
import os, sys, numpy, torchtraceap
from torchtraceap.report import Report
import torchtraceap.views.summary, torchtraceap.views.json_form
torchtraceap.analyze(b'[]').summary()
os.path.exists("/begin-of-work")
for source in sys.argv[1:]:
    torchtraceap.analyze(source, threads=2, steps=None).summary(windows=5)
    torchtraceap.analyze(open(source, "rb").read()).to_dict()
    trace = torchtraceap.load(source, skip_categories=["cpu_op"])
    trace.read_args([0, len(trace) - 1])
os.path.exists("/end-of-work")
"""
# Calls that may change something outside, or reach out.
TRACED = (
    "network,process,open,openat,openat2,creat,rename,renameat,renameat2,unlink,"
    "unlinkat,mkdir,mkdirat,link,linkat,symlink,symlinkat,truncate,ftruncate,chmod,"
    "fchmod,fchmodat,utimensat,stat,newfstatat,statx,access,faccessat2,memfd_create"
)
LOOKS = ("newfstatat(", "stat(", "statx(", "access(", "faccessat2(", "exit(")


def calls_of(trace_file: Path) -> list[str]:
    """Return the calls between the two marks, of all threads."""
    lines = [
        re.sub(r"^\d+ +", "", line) for line in trace_file.read_text().splitlines()
    ]
    marks = [i for i, line in enumerate(lines) if "-of-work" in line]
    assert len(marks) == 2
    return lines[marks[0] + 1 : marks[1]]


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_no_file_is_written_no_socket_opened_no_child_started(
    data: Path, tmp_path: Path
) -> None:
    log = tmp_path / "strace.txt"
    sources = [
        str(data / name) for name in (SOURCE, SMALL, "cpu-macos-resnet18.json.gz")
    ]
    command = ["strace", "-f", "-qq", "-o", str(log), "-e", f"trace={TRACED}"]
    result = subprocess.run(
        [*command, sys.executable, "-c", WORK, *sources],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if "ptrace" in result.stderr and "not permitted" in result.stderr:
        pytest.skip("strace may not trace here")
    assert result.returncode == 0, result.stderr
    opened = 0
    for call in calls_of(log):
        if call.startswith(LOOKS) or "resumed>" in call or "+++" in call:
            continue
        if call.startswith(("open(", "openat(")):
            assert not re.search(r"O_(WRONLY|RDWR|CREAT|TRUNC|APPEND|TMPFILE)", call)
            opened += "tests/data" in call
        else:  # A thread of our own, not a child process.
            assert re.match(r"clone3?\(.*CLONE_THREAD", call), call
    assert opened >= 3 * len(sources)


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_folders_are_as_they_were(data: Path, tmp_path: Path) -> None:
    """That of the trace, the working directory, the home and the temporary one."""
    places = {n: tmp_path / n for n in ("traces", "work", "home", "tmp")}
    for place in places.values():
        place.mkdir()
    trace = places["traces"] / SMALL
    shutil.copy(data / SMALL, trace)
    before = contents(tmp_path)
    environment = os.environ | {
        "HOME": str(places["home"]),
        "XDG_CACHE_HOME": str(places["home"]),
        "TMPDIR": str(places["tmp"]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    places["traces"].chmod(0o555)
    trace.chmod(0o444)
    try:
        python("-c", WORK, trace, cwd=places["work"], env=environment, check=True)
    finally:
        places["traces"].chmod(0o755)
    assert contents(tmp_path) == before


def assert_equal(one: torchtraceap.Trace, other: torchtraceap.Trace) -> None:
    assert one.strings == other.strings and one.metadata == other.metadata
    for name, column in one.columns.items():
        np.testing.assert_array_equal(column, other.columns[name])


def test_loads_in_several_threads_are_equal(data: Path) -> None:
    paths = [data / "h100-vit-nsfw-inference.json.gz", data / SMALL]
    expected = [torchtraceap.load(path, threads=1) for path in paths] * 4
    forms = [torchtraceap.analyze(path).to_dict() for path in paths] * 4
    with ThreadPoolExecutor(8) as pool:
        loaded = list(pool.map(torchtraceap.load, paths * 4))
        reports = list(pool.map(torchtraceap.analyze, paths * 4))
    for one, other in zip(loaded, expected, strict=True):
        assert_equal(one, other)
    assert [report.to_dict() for report in reports] == forms


# In an interpreter of its own: this one may have threads of other tests.
FORK = """
import os, sys, torchtraceap
first = torchtraceap.load(sys.argv[1], threads=2)
child = os.fork()
again = torchtraceap.load(sys.argv[1], threads=2)
same = again.strings == first.strings and len(again) == len(first)
same = same and torchtraceap.analyze(first).findings[0].count > 0
if child == 0:
    os._exit(0 if same else 3)
status = os.waitpid(child, 0)[1]
sys.exit(0 if same and status == 0 else 4)
"""


def test_fork_after_a_load(data: Path) -> None:
    python("-c", FORK, data / SOURCE, check=True)


# What a load may raise, and the fields that its error must have.
DAMAGED = {
    "cut": (b'{"traceEvents": [{"ph": "X"}, {"ph"', "offset", "event"),
    "a cut gzip": (gzip.compress(b'{"traceEvents": []}' * 99)[:60], "offset"),
    "no list": (b'{\n"traceEvents": 3}', "offset"),
    "empty": (b"",),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_errors_can_be_pickled_as_a_pool_does(tmp_path: Path, case: str) -> None:
    content, *placed = DAMAGED[case]
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(torchtraceap.TraceError) as caught:
        torchtraceap.load(str(path), threads=2)
    here, there = caught.value, pickle.loads(pickle.dumps(caught.value))
    assert (type(there), str(there)) == (type(here), str(here))
    for name in ("path", "offset", "line", "event", "kind", "hint"):
        assert getattr(there, name) == getattr(here, name), name
    assert here.path == str(path) and here.kind and here.hint
    for name in placed:
        assert getattr(here, name) is not None, name


def test_a_pool_of_spawned_processes(data: Path, tmp_path: Path) -> None:
    """Sends no function of this module, which cannot be imported there."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        assert pool.submit(main, ["inspect", str(data / SMALL)]).result(60) == 0
        with pytest.raises(FileNotFoundError, match="gone"):
            pool.submit(torchtraceap.load, str(tmp_path / "gone.json")).result(60)


# The limit is on what may be added after all is imported.
STARVED = """
import resource, sys, numpy, torchtraceap
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
for mebibytes in (1, 4, 12):
    limit = used + (mebibytes << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        torchtraceap.load(sys.argv[1], threads=int(sys.argv[2]))
    except MemoryError:
        print("MemoryError")
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_too_little_memory_is_a_memory_error(data: Path, threads: int) -> None:
    result = python("-c", STARVED, data / SOURCE, threads)
    assert (result.returncode, result.stdout) == (0, "MemoryError\n" * 3), result.stderr
