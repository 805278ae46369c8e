# SPDX-License-Identifier: BSD-3-Clause
"""run_steps.py: one command that builds, tests and measures on a machine with a GPU.

Runs the steps of STEPS in order, each in processes of its own, with a time limit and a
log. A step that fails or is stopped at its limit does not keep the next ones from
running. After each step OUT is complete: summary.txt, results.json (the measurements of
each step), logs.tar.gz, and the step's own files. Needs nothing
but Python's standard library, since it runs before anything is built.

Exit codes: 0 every step passed, 1 one failed, was stopped, or had no time left, 2 bad
usage.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks import ROOT
from benchmarks.device.findings import write
from benchmarks.device.step_results import Outcome, Results, results_of

HERE = Path(__file__).resolve().parent
#: The folder of Python tests.
TESTS = ROOT / "tests" / "python"
SITE = ROOT / "build" / "device-site" / "site-packages"

PACKING_S = 15  # Kept back for ending a step, and the last summary and archive.
LEAST_S = 8  # A step with less time than this is not begun.
KILL_AFTER_S = 5  # From SIGTERM to SIGKILL.
SLACK = 4


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        key: Its letter, by which --steps chooses it; "" for the build, which
            always runs.
        seconds: Its limit; None: what is left of --minutes. On a CPU, where a rehearsal
            may have few cores, SLACK times as much.
        command: Returns its command line, given the options and the seconds it has.
    """

    key: str
    name: str
    seconds: int | None
    command: Callable[[argparse.Namespace, float], list[str]]


def build(given: argparse.Namespace, _: float) -> list[str]:
    return ["bash", str(HERE / "build.sh"), str(given.packages), str(SITE)]


def script(name: str) -> Callable[[argparse.Namespace, float], list[str]]:
    """Return the command line of one of the scripts beside this file."""

    def command(given: argparse.Namespace, seconds: float) -> list[str]:
        options = ["--device", given.device, "--seconds", str(round(seconds))]
        options += ["--out", str(given.out)]
        return [sys.executable, "-m", f"benchmarks.device.{name}", *options]

    return command


def tests(given: argparse.Namespace, _: float) -> list[str]:
    """Return pytest's command line for the tests marked cuda; on a CPU, where those
    skip, for all of the same files."""
    files = [
        str(path)
        for path in sorted(TESTS.rglob("test_*.py"))
        if "mark.cuda" in path.read_text("utf-8")
    ]
    marked = "cuda" if given.device == "cuda" else "not verify"
    # The versions of packages there are not ours: their warnings are not failures. The
    # table of probes is a step of its own.
    return [
        *(sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider"),
        *("-W", "default", "-m", marked, "--continue-on-collection-errors"),
        *("-k", "not the_table_is_right", "--timeout=40", "--timeout-method=thread"),
        *("--durations=10", *files),
    ]


def probes(given: argparse.Namespace, seconds: float) -> list[str]:
    """Return the command line that compares the table of waits with the device; on a
    CPU, that of its tests."""
    if given.device == "cpu":
        file = TESTS / "dryrun" / "test_probes.py"
        return [sys.executable, "-m", "pytest", "-m", "verify", str(file)]
    tool = "benchmarks.dryrun.sync_table_on_gpu"
    command = [sys.executable, "-m", tool, "--out", str(given.out / "probes.json")]
    return [*command, "--seconds", str(round(seconds))]


STEPS = (
    Step("", "build", 180, build),
    Step("a", "machine", 25, script("machine")),
    Step("b", "tests", 75, tests),
    Step("b", "probes", 75, probes),
    Step("c", "scores", 60, script("scores")),
    Step("d", "live", 60, script("live")),
    Step("e", "estimates", 75, script("estimates")),
    Step("f", "pairs", None, script("pairs")),
)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line; exits with 2 and a message if it is invalid."""
    parser = argparse.ArgumentParser(
        prog="run.sh",
        description="Builds, tests and measures on a machine with a GPU.",
        epilog="steps: " + ", ".join(f"{s.key} {s.name}" for s in STEPS if s.key),
    )
    add = parser.add_argument
    add("--minutes", type=float, default=8, help="to end within, build included")
    out, packages = ROOT / "build" / "device-out", ROOT / "build" / "device-packages"
    add("--out", type=Path, default=out, metavar="DIR",
        help="for results; a run adds to those of an earlier one")  # fmt: skip
    add("--packages", type=Path, default=packages, metavar="DIR",
        help="the folder that prepare.sh filled")  # fmt: skip
    add("--device", choices=("cuda", "cpu"), default="cuda",
        help="cpu: a rehearsal, whose figures mean nothing")  # fmt: skip
    add("--steps", default="abcdef", metavar="LETTERS", help="only these, as in cf")
    given = parser.parse_args(arguments)
    if not 0 < given.minutes < 10_000:
        parser.error("--minutes is above 0")
    if unknown := set(given.steps) - {step.key for step in STEPS}:
        parser.error(f"--steps: no step is called {', '.join(sorted(unknown))}")
    if problem := unfit(given.packages):
        parser.error(f"--packages {given.packages}: {problem}")
    try:
        given.out.mkdir(parents=True, exist_ok=True)
        write(given.out / "summary.txt", b"nothing was done yet\n")
    except OSError as error:
        parser.error(f"--out {given.out} cannot be written: {error.strerror}")
    given.out, given.packages = given.out.resolve(), given.packages.resolve()
    if given.device == "cuda" and (problem := without_gpu()):
        parser.error(f"{problem}; --device cpu rehearses without a GPU")
    return given


def unfit(packages: Path) -> str:
    """Return why a folder of packages cannot be used; "" if it can."""
    try:
        contents = (packages / "contents.txt").read_text("utf-8")
    except OSError:
        return "prepare.sh did not fill this folder"
    mine = f"for CPython {sys.version_info[0]}.{sys.version_info[1]} "
    if mine not in contents:
        return f"they are not {mine}: prepare.sh DIR {mine.split()[-1]}"
    return ""


def without_gpu() -> str:
    """Return why torch has no GPU here; "" if it has one."""
    code = "import torch; print(torch.__version__, torch.cuda.is_available())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if done.returncode:
        return f"torch cannot be imported: {done.stderr.strip().splitlines()[-1:]}"
    if not done.stdout.endswith("True\n"):
        hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
        why = "" if hidden is None else f" (CUDA_VISIBLE_DEVICES={hidden!r})"
        return f"torch {done.stdout.split()[0]} sees no GPU{why}"
    return ""


# --- A step ----------------------------------------------------------------------


def run(command: list[str], more: Mapping[str, str], seconds: float, log: Path) -> str:
    """Run a command for at most so long; returns "passed", or why it did not."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    paths = [str(SITE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = kept | {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONUNBUFFERED": "1",
        **more,
    }
    with log.open("wb") as file:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            # In this session, so that whatever ends this process can end it too.
            process_group=0,
        )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            end(process)
            return f"stopped at its limit of {seconds:.0f} s"
        except BaseException:
            end(process)
            raise
    end(process)  # Processes that it left would disturb the next step.
    return "passed" if code == 0 else f"failed with exit code {code}"


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(KILL_AFTER_S)
            if number == signal.SIGTERM and group_ends(process.pid):
                return


def group_ends(group: int) -> bool:
    """Wait a little for the last process of a group; tell whether there is none."""
    until = time.monotonic() + 1
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except (ProcessLookupError, PermissionError):
            return True
        time.sleep(0.05)
    return False


# --- The run -------------------------------------------------------------------------


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Refuse a second run in this tree meanwhile."""
    path = ROOT / "build" / "device.lock"
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit("run.sh: another run is in progress in this tree")
        yield


def main(arguments: list[str] | None = None) -> int:
    """Run the steps."""
    begun = time.monotonic()
    given = parse(arguments)
    slack = 1 if given.device == "cuda" else SLACK
    # Others may use the cores of a rehearsal, and threads of torch would wait for them.
    few = {"OMP_NUM_THREADS": "1"} if given.device == "cpu" else {}
    # Stopped from outside, it ends the step and keeps its log.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    code = 0
    with alone(), tempfile.TemporaryDirectory() as folder:
        steps = [s for s in STEPS if not s.key or s.key in given.steps]
        names = [[step.name for step in some] for some in (STEPS, steps)]
        results = Results(given, Path(folder), *names)
        for step in steps:
            left = 60 * given.minutes - (time.monotonic() - begun) - PACKING_S
            limit = left if step.seconds is None else min(step.seconds * slack, left)
            log = Path(folder, f"{step.key or '0'}-{step.name}.log")
            started, state = time.monotonic(), "not begun: no time was left"
            (given.out / f"{step.name}.json").unlink(missing_ok=True)
            print(f"{started - begun:6.1f} s  {step.name} ...", flush=True)
            try:
                if limit >= LEAST_S:
                    seconds = min(step.seconds or left, left) - KILL_AFTER_S
                    state = run(step.command(given, seconds), few, limit, log)
            except BaseException as error:
                state = f"stopped by {type(error).__name__}"
                raise
            finally:
                now = time.monotonic()
                found = results_of(step.name, log, given)
                results.add(Outcome(step.name, state, now - started, found))
                print(f"{now - begun:6.1f} s  {step.name}: {state}", flush=True)
            code |= state != "passed"
    print(f"\n{(given.out / 'summary.txt').read_text('utf-8')}", end="")
    return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("run.sh: interrupted; results up to now are kept", file=sys.stderr)
        sys.exit(130)
