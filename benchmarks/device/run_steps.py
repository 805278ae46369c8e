# SPDX-License-Identifier: BSD-3-Clause
"""run_steps.py: one command that builds, tests and measures on a machine with a GPU.

Runs the steps of STEPS in order, each in processes of its own, with a time limit and a
log. A step that fails or is stopped at its limit does not keep the next ones from
running. After each step OUT is complete as it stands: summary.txt, results.json (what
each step measured), logs.tar.gz, and what the step itself leaves there. Needs nothing
but Python's standard library, since it runs before anything is built.

Exit codes: 0 every step passed, 1 one failed, was stopped, or had no time left, 2 bad
usage.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
#: Tests that use a GPU, and what they share a file with.
TESTS = ROOT / "tests" / "python"
SITE = ROOT / "build" / "device-site" / "site-packages"
PACKAGES = ROOT / "build" / "device-packages"

PACKING_S = 5  # Kept back for the last summary and archive.
LEAST_S = 8  # A step with less time than this is not begun.
KILL_AFTER_S = 5  # From SIGTERM to SIGKILL.
WIDTH = 98  # Of the summary's lines, which should fit on a screen.
LOG_BYTES = 4_000_000  # Of each log, its end: OUT stays small whatever a step prints.


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        key: Its letter, by which --steps chooses it; the build has none, as it is
            always made.
        seconds: Its limit; None: what is left of --minutes.
        command: Returns its command line, given the options and the seconds it has.
        environment: What it gets beside PYTHONPATH.
    """

    key: str
    name: str
    seconds: int | None
    command: Callable[[argparse.Namespace, float], list[str]]
    environment: Mapping[str, str] = field(default_factory=dict)


def build(given: argparse.Namespace, _: float) -> list[str]:
    return ["bash", str(HERE / "build.sh"), str(given.packages), str(SITE)]


def script(name: str) -> Callable[[argparse.Namespace, float], list[str]]:
    """Return the command line of one of the scripts beside this file."""

    def command(given: argparse.Namespace, seconds: float) -> list[str]:
        options = ["--device", given.device, "--seconds", str(round(seconds))]
        options += ["--out", str(given.out)]
        return [sys.executable, str(HERE / f"{name}.py"), *options]

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
    # The versions of packages there are not ours, so their warnings are no failures.
    return [
        *(sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider"),
        *("-W", "default", "-m", marked, "--continue-on-collection-errors"),
        *("--durations=10", *files),
    ]


STEPS = (
    Step("", "build", None, build),  # Without it nothing else runs.
    Step("a", "machine", 25, script("machine")),
    # A test after the other records: attaching CUPTI anew takes longer than most.
    Step("b", "tests", 120, tests, {"TEARDOWN_CUPTI": "0"}),
    Step("c", "scores", 60, script("scores")),
    Step("d", "live", 60, script("live")),
    Step("e", "estimates", 75, script("estimates")),
    Step("f", "pairs", None, script("pairs")),
)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line; exits with 2 and a message if it makes no sense."""
    parser = argparse.ArgumentParser(
        prog="run.sh", description=(__doc__ or "").partition("\n\n")[0].split(": ")[1]
    )
    add = parser.add_argument
    add("--minutes", type=float, default=8, help="to end within, build included")
    add(
        "--out",
        type=Path,
        default=ROOT / "build" / "device-out",
        metavar="DIR",
        help="where results go; of pairs that are there, those missing are recorded",
    )
    add(
        "--packages",
        type=Path,
        default=PACKAGES,
        metavar="DIR",
        help="what prepare.sh made (build/device-packages)",
    )
    add(
        "--device",
        choices=("cuda", "cpu"),
        default="cuda",
        help="cpu: a rehearsal, at small sizes, whose times mean nothing",
    )
    add("--steps", default="abcdef", metavar="LETTERS", help="only these, as in cf")
    given = parser.parse_args(arguments)  # fmt: skip
    if not given.minutes > 0:
        parser.error("--minutes is above 0")
    if unknown := set(given.steps) - {step.key for step in STEPS}:
        parser.error(f"--steps: no step is called {', '.join(sorted(unknown))}")
    if not (given.packages / "wheels").is_dir():
        parser.error(f"{given.packages} was not made by prepare.sh: --packages DIR")
    given.out.mkdir(parents=True, exist_ok=True)
    given.out, given.packages = given.out.resolve(), given.packages.resolve()
    return given


# --- A step ----------------------------------------------------------------------


def run(command: list[str], more: Mapping[str, str], seconds: float, log: Path) -> str:
    """Run a command for at most so long; returns "passed", or why it did not."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    environment = kept | {
        "PYTHONPATH": str(SITE),
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
            start_new_session=True,
        )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            end(process)
            return f"stopped at its limit of {seconds:.0f} s"
        except BaseException:
            end(process)
            raise
    end(process)  # What it left behind would disturb the next one.
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


# --- What comes out ---------------------------------------------------------------


@dataclass
class Outcome:
    """How a step ended, and what it measured."""

    name: str
    state: str
    seconds: float
    found: dict[str, Any]

    @property
    def lines(self) -> list[str]:
        return [str(line) for line in self.found.get("lines", [])]


def found_by(name: str, log: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Return what a step measured: its own file, else what its log says last and the
    failures that pytest lists there."""
    path = given.out / f"{name}.json"
    if path.exists():
        try:
            found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        except ValueError as error:
            found = {"lines": [f"{path.name} is no JSON: {error}"]}
        path.unlink()
        return found
    text = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
    failed = [line for line in text if line.startswith(("FAILED", "ERROR"))]
    return {"lines": failed[-5:] + [line for line in text if line.strip()][-1:]}


def summary(given: argparse.Namespace, outcomes: list[Outcome], seconds: float) -> str:
    """Return the summary: one screen."""
    passed = sum(one.state == "passed" for one in outcomes)
    lines = [
        f"on {given.device}, {seconds:.0f} s of {60 * given.minutes:.0f}: "
        f"{passed} of {len(outcomes)} steps passed"
    ]
    for one in outcomes:
        lines.append(f"{one.name}: {one.state}, {one.seconds:.1f} s")
        lines += [f"  {line}" for line in one.lines]
    return "".join(f"{line[:WIDTH]}\n" for line in lines)


def write(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(data)
    partial.replace(path)


def packed(logs: Path) -> bytes:
    """Return the ends of all logs as one archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for path in sorted(logs.iterdir()):
            data = path.read_bytes()[-LOG_BYTES:]
            info = tarfile.TarInfo(path.name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def main(arguments: list[str] | None = None) -> int:
    """Run the steps."""
    begun = time.monotonic()
    given = parse(arguments)
    outcomes: list[Outcome] = []
    # Others may use the cores of a rehearsal, and threads of torch would wait for them.
    few = {"OMP_NUM_THREADS": "1"} if given.device == "cpu" else {}
    # Stopped from outside, it ends the step and keeps its log.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder)
        for step in STEPS:
            if step.key and step.key not in given.steps:
                continue
            left = 60 * given.minutes - (time.monotonic() - begun) - PACKING_S
            limit = left if step.seconds is None else min(step.seconds, left)
            log, started = logs / f"{step.key}-{step.name}.log", time.monotonic()
            try:
                if limit < LEAST_S:
                    state = "not begun: no time was left"
                else:
                    command = step.command(given, limit - KILL_AFTER_S)
                    state = run(command, {**step.environment, **few}, limit, log)
            except BaseException as error:
                state = f"stopped by {type(error).__name__}"
                raise
            finally:
                now = time.monotonic()
                found = found_by(step.name, log, given)
                outcomes.append(Outcome(step.name, state, now - started, found))
                results = {
                    "device": given.device,
                    "minutes": given.minutes,
                    "steps": [vars(one) for one in outcomes],
                }
                text = summary(given, outcomes, now - begun)
                write(given.out / "results.json", f"{json.dumps(results)}\n".encode())
                write(given.out / "summary.txt", text.encode())
                write(given.out / "logs.tar.gz", packed(logs))
            print(f"{now - begun:6.1f} s  {step.name}: {state}", flush=True)
    print(text, end="")
    return 0 if all(one.state == "passed" for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
