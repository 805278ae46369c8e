# SPDX-License-Identifier: BSD-3-Clause
"""run.py: a fleet of 10,000 traces: its cost, its speed by workers, and its faults.

    python -m benchmarks.fleet.run --traces SOURCE --work FOLDER [--page] \\
        [--sizes 100,1000,10000] [--workers 1,2] [--faults 1000] [--memory 4]

The fleet is made of the traces in SOURCE (make.py). Each size is analyzed under Ray
with this many gigabytes, and by processes without Ray. Under each fault all traces must
be in the data set once, with the rows of an undisturbed run, bit for bit: workers are
killed, the driver is killed and run again, the disk is full (a tmpfs, which needs
root), a cluster loses one of two machines, and a trace crashes natively. 10,000 traces
take 6 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks import ROOT
from benchmarks.fleet.make import traces_in, write_fleet
from benchmarks.lab.pages import machine, write
from torchtraceap.fleets.queries import connected
from torchtraceap.fleets.rows import schemas

Figures = dict[str, Any]
_TASKS = ("ray::run_task", "benchmarks.fleet.driver")  # In the command of a worker.
_POISON = "night-2026-01-01/poison.json.gz"


class Fleet:
    """Runs of the driver, of parts of one fleet."""

    def __init__(self, work: Path, memory: int, whole: Path) -> None:
        self.work = work
        self._memory = memory
        self._whole = whole

    def part(self, count: int) -> Path:
        """Return a folder with the first traces, as links."""
        folder = self.work / f"traces-{count}"
        if not folder.exists():
            for path in islice(sorted(self._whole.glob("*/*")), count):
                target = folder / path.relative_to(self._whole)
                target.parent.mkdir(parents=True, exist_ok=True)
                os.link(path, target)
        return folder

    def start(
        self,
        source: Path,
        out: Path,
        *,
        ray: bool | str = True,
        workers: int | None = None,
    ) -> subprocess.Popen[str]:
        """Start the driver; ``ray`` may be the address of a cluster."""
        command = [sys.executable, "-m", "benchmarks.fleet.driver", source, out]
        command += ["--memory", str(self._memory)]
        command += ["--ray", "local" if ray is True else ray] if ray else []
        command += ["--workers", str(workers)] if workers else []
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)

    def run(self, source: Path, out: Path, **options: Any) -> Figures:
        """Run the driver to its end; return what it says."""
        return ended(self.start(source, out, **options))


def ended(driver: subprocess.Popen[str]) -> Figures:
    """Wait for a driver; return its figures, or its exit code and its message."""
    out, err = driver.communicate()
    if driver.returncode:
        return {"code": driver.returncode, "message": err.strip().splitlines()[-1:]}
    figures: Figures = json.loads(out.splitlines()[-1])
    return figures


def differences(out: Path, wanted: Path) -> Figures:
    """Return what is wrong with a data set: traces that are there twice, rows that are
    missing, and rows that are not in the other one."""
    connection, other = connected(str(out)), connected(str(wanted))
    found: Figures = {"twice": 0, "lost": 0, "more": 0}
    for table, schema in schemas().items():
        names = ", ".join(f'"{name}"' for name in schema.names)
        select = f"SELECT {names} FROM {table}"
        connection.register("wanted", other.sql(select).to_arrow_table())
        connection.sql(f"CREATE OR REPLACE VIEW made AS {select}")
        for what, one, two in (("lost", "wanted", "made"), ("more", "made", "wanted")):
            query = f"SELECT count(*) FROM (FROM {one} EXCEPT ALL FROM {two})"
            found[what] += _number(connection, query)
    twice = "(SELECT trace FROM traces GROUP BY trace HAVING count(*) > 1)"
    found["twice"] = _number(connection, f"SELECT count(*) FROM {twice}")
    found["traces"] = _number(connection, "SELECT count(*) FROM traces")
    return found


def _number(connection: Any, query: str) -> int:
    return int(connection.execute(query).fetchall()[0][0])


# --- Cost -------------------------------------------------------------------------


def scale(fleet: Fleet, sizes: list[int]) -> Iterator[Figures]:
    """Yield the cost of each size, under Ray and without."""
    for count in sizes:
        source = fleet.part(count)
        for ray in (True, False):
            out = fresh(fleet.work / f"out-{count}-{'ray' if ray else 'local'}")
            begin = time.monotonic()
            figures = fleet.run(source, out, ray=ray)
            whole_s = time.monotonic() - begin
            begin = time.monotonic()
            again = fleet.run(source, out, ray=False)
            again_whole_s = time.monotonic() - begin
            yield {
                "traces": count,
                "ray": ray,
                **figures,
                "whole_s": whole_s,
                "again_whole_s": again_whole_s,
                "again_done": again.get("done"),
                "mb": sum(p.stat().st_size for p in out.rglob("*")) / 1e6,
                "files": sum(p.is_file() for p in out.rglob("*")),
                "differs": differences(out, fleet.work / f"out-{count}-ray"),
            }


def by_workers(fleet: Fleet, count: int, numbers: list[int]) -> Iterator[Figures]:
    """Yield the speed of each number of workers."""
    for number in numbers:
        for ray in (True, False):
            out = fresh(fleet.work / "out-workers")
            figures = fleet.run(fleet.part(count), out, ray=ray, workers=number)
            rate = count / figures["seconds"]
            yield {"workers": number, "ray": ray, "traces_per_s": rate, **figures}


# --- Faults -----------------------------------------------------------------------


def faults(fleet: Fleet, count: int) -> Iterator[Figures]:
    """Yield what each fault leaves, beside an undisturbed run."""
    source = fleet.part(count)
    wanted = fresh(fleet.work / "out-undisturbed")
    fleet.run(source, wanted)
    for fault in (worker_killed, driver_killed, disk_full, node_lost):
        for ray in (True, False)[: 1 if fault is node_lost else 2]:
            out = fresh(fleet.work / "out-fault")
            figures = fault(fleet, source, out, ray)
            kept = figures.pop("out", out)
            yield {"fault": fault.__name__, "ray": ray, **figures} | differences(
                kept, wanted
            )
            shutil.rmtree(out)
    poison = source / _POISON
    try:
        shutil.copyfile(next(source.glob("*/h100-bert*")), poison)
        for ray in (True, False):
            out = fresh(fleet.work / "out-fault")
            figures = fleet.run(source, out, ray=ray)
            yield {"fault": "poison", "ray": ray, **figures} | differences(out, wanted)
    finally:
        poison.unlink(missing_ok=True)


def worker_killed(fleet: Fleet, source: Path, out: Path, ray: bool) -> Figures:
    """Kill a worker three times while it works."""
    driver = fleet.start(source, out, ray=ray)
    killed = 0
    for _ in range(3):
        wait_for(lambda: driver.poll() is not None or bool(workers_of(driver.pid)))
        time.sleep(1)
        if workers := workers_of(driver.pid):
            os.kill(workers[0], signal.SIGKILL)
            killed += 1
    return {"killed": killed, **ended(driver)}


def driver_killed(fleet: Fleet, source: Path, out: Path, ray: bool) -> Figures:
    """Kill the driver once it has written some, and run it again."""
    driver = fleet.start(source, out, ray=ray)
    wait_for(lambda: driver.poll() is not None or any(out.glob("_batches/*.json")))
    below = descendants(driver.pid)
    driver.kill()
    driver.communicate()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in below))
    return fleet.run(source, out, ray=ray)


def node_lost(fleet: Fleet, source: Path, out: Path, ray: bool) -> Figures:
    """Take one of two machines out of a cluster once some is written."""
    from ray.cluster_utils import Cluster

    assert ray
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        cluster.wait_for_nodes()
        driver = fleet.start(source, out, ray=cluster.address)
        wait_for(lambda: driver.poll() is not None or any(out.glob("_batches/*.json")))
        cluster.remove_node(nodes[1], allow_graceful=False)
        return ended(driver)
    finally:
        cluster.shutdown()


def disk_full(fleet: Fleet, source: Path, out: Path, ray: bool) -> Figures:
    """Let the disk be full, then larger."""
    wanted = fleet.work / "out-undisturbed"
    size = sum(p.stat().st_size for p in wanted.rglob("*") if p.is_file())
    with tmpfs(out, size // 2) as grow:
        first = fleet.run(source, out / "set", ray=ray)
        grow(4 * size)
        figures = fleet.run(source, out / "set", ray=ray)
        kept = fresh(fleet.work / "out-full")
        shutil.copytree(out / "set", kept)
    return {"first": first, "out": kept, **figures}


@contextmanager
def tmpfs(folder: Path, size: int) -> Iterator[Callable[[int], object]]:
    """Mount a disk of this size; give what changes it."""
    folder.mkdir()
    option = f"size={size}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", option, "fleet", folder], check=True)
    try:
        yield lambda larger: subprocess.run(
            ["mount", "-o", f"remount,size={larger}", folder], check=True
        )
    finally:
        subprocess.run(["umount", folder], check=True)


def workers_of(driver: int) -> list[int]:
    """Return the processes below a driver that analyze traces."""
    found = []
    for pid in descendants(driver):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if any(name in command for name in _TASKS):
            found.append(pid)
    return found


def descendants(parent: int) -> list[int]:
    """Return the processes below one, and none of other users."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found: list[int] = []
    waiting = [parent]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def wait_for(is_so: Callable[[], bool], most_s: float = 120) -> None:
    """Wait until something is so; raise TimeoutError if it is not."""
    begin = time.monotonic()
    while not is_so():
        if time.monotonic() - begin > most_s:
            raise TimeoutError
        time.sleep(0.05)


def fresh(folder: Path) -> Path:
    """Return a folder that is not there."""
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def main() -> None:
    """Measure all of it, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--page", action="store_true", help="write results/fleet.md")
    parser.add_argument("--sizes", default="100,1000,10000")
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--memory", type=float, default=4, help="in GB")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    work = options.work.resolve()
    whole = work / "traces"
    if not whole.exists():
        made = write_fleet(whole, list(traces_in(options.traces)), max(sizes))
        print(f"{made:,} traces made", flush=True)
    fleet = Fleet(work, int(options.memory * 1e9), whole)
    numbers = [int(number) for number in options.workers.split(",")]
    figures: Figures = {"machine": machine(), "memory_gb": options.memory}
    for name, rows in (
        ("scale", scale(fleet, sizes)),
        ("workers", by_workers(fleet, min(sizes[-1], options.faults), numbers)),
        ("faults", faults(fleet, options.faults)),
    ):
        figures[name] = []
        for row in rows:
            print(name, json.dumps(row), flush=True)
            figures[name].append(row)
    if options.page:
        write("fleet", figures)


if __name__ == "__main__":
    main()
