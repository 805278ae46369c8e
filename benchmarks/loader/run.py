# SPDX-License-Identifier: BSD-3-Clause
"""run.py: makes the inputs, checks that all loaders agree, times them, writes results.

    python -m benchmarks.loader.run [--quick] [--full] [--sizes 45,300,1000]
                                    [--real TRACE.json.gz]

Needs Linux, a C++ compiler, CMake, pybind11 and NumPy; 4 GB of disk and 8 GB of memory
with the default sizes. Everything is kept in $TTA_BENCH_DATA or a folder of the
system's for temporary files. Fails if a loader disagrees with what an input holds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import DATA, ROOT, TRACES
from benchmarks.lab import pages
from benchmarks.loader import environments, targets
from benchmarks.loader.figures import differences
from benchmarks.loader.loaders import OURS, PEERS, memory_reason, reason_to_skip
from benchmarks.loader.make_inputs import Inputs, default_folder

REAL = "h100-owlv2-large-55MB.json.gz"
# Both texts, their indexes and two traces at once.
IN_PROCESS_TEXTS = 4.5
SEED = "0"  # of Python's hashes: the same dicts in every round


class Run:
    """One run of the benchmark, stage after stage."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.folder = default_folder()
        self.inputs = Inputs(self.folder / "inputs")
        self.names: dict[str, list[str]] = {}  # stem to raw, gzip, compact, quarter
        self.disagreements: list[str] = []
        self.results: dict[str, Any] = {
            "machine": pages.machine(),
            "versions": {},
            "inputs": {},
            "text_bytes": {},
            "in_process": {},
            "skipped": {},
            "cold": {},
        }

    def prepare(self) -> None:
        """Build, install, make the inputs."""
        self.say("building")
        self.bench, self.package = environments.build(self.folder)
        self.say("environments")
        wanted = environments.PACKAGES
        made = {name: environments.environment(self.folder, name) for name in wanted}
        self.pythons = {name: python for name, (python, _) in made.items()}
        missing = {k: v for _, lost in made.values() for k, v in lost.items()}
        self.results["missing_packages"] = missing
        show = "import json, torchtraceap as t; print(json.dumps(t.__file__))"
        found = self._ours(["-c", show])
        if not Path(found).is_relative_to(self.package):
            sys.exit(f"{found} would be measured, not {self.package}")
        self.say("inputs")
        for size in self.options.sizes:
            self._add(self.inputs.simulated(size))
        if self.options.real:
            self._add(self.inputs.real(self.options.real))

    def _add(self, names: list[str]) -> None:
        stem = names[0].removesuffix(".json")
        self.names[stem] = names
        self.results["text_bytes"][stem] = self.inputs.entries[names[0]]["bytes"]
        for name in names:
            self.results["inputs"][name] = self.inputs.entries[name]

    def in_process(self, stem: str) -> None:
        """Run the C++ rows on one input and check their figures."""
        size = self.results["text_bytes"][stem]
        if reason := memory_reason(size * IN_PROCESS_TEXTS):
            self.results["skipped"][stem] = reason
            return
        self.say(f"{stem}: limit, load, analysis in one process")
        paths = [str(self.inputs.folder / name) for name in self.names[stem][:3]]
        rounds = str(self.options.rounds)
        out = self._json([str(self.bench), rounds, *paths])
        for name in ("simdjson", "compiler"):
            self.results["versions"][name] = out[name]
        rows = {}
        for row in out["rows"]:
            found = row.pop("figures", {})
            self._check(stem, row["name"], found, {})
            rows[row.pop("name")] = {**row, "agreed_on": len(found)}
        self.results["in_process"][stem] = rows

    def cold(self, stem: str) -> None:
        """Run the Python loaders in turn, each in a process of its own."""
        rows: dict[str, dict[str, Any]] = {}
        self.results["cold"][stem] = rows
        for number in range(self.options.cold_rounds):
            for name in (*OURS, *PEERS):
                row = rows.setdefault(
                    name, {"wall_s": [], "cpu_s": [], "peak_bytes": []}
                )
                if number == 0:
                    self._first(stem, name, row)
                elif "skipped" not in row:
                    self._again(stem, name, row)

    def _first(self, stem: str, name: str, row: dict[str, Any]) -> None:
        size = self.results["text_bytes"][stem]
        if reason := reason_to_skip(name, size, self.options.full):
            row["skipped"] = reason
            return
        self.say(f"{stem}: {name}")
        try:
            out = self._again(stem, name, row, "--figures")
        except RuntimeError as error:
            if name in OURS:
                raise
            row["skipped"] = f"fails: {error}"
            return
        if out["version"]:
            self.results["versions"][name] = out["version"]
        tolerance = PEERS[name].tolerance_ns if name in PEERS else {}
        self._check(stem, name, out["figures"], tolerance)
        row["agreed_on"] = len(out["figures"])

    def _again(self, stem: str, name: str, row: dict[str, Any], *more: str) -> Any:
        out = self._loader(self.names[stem][0], name, *more)
        row["wall_s"] += out["wall_s"]
        row["cpu_s"] += out["cpu_s"]
        row["peak_bytes"].append(out["peak_bytes"])
        return out

    def python_call(self) -> None:
        """Time the first and the later calls in a process, on the smallest input."""
        stem = f"sim-{min(self.options.sizes)}"
        self.say(f"{stem}: first and later calls from Python")
        calls: dict[str, Any] = {"input": stem, "first": [], "later": []}
        for _ in range(self.options.rounds):
            out = self._loader(self.names[stem][0], OURS[0], "--repeat", "5")
            calls["first"].append(out["wall_s"][0])
            calls["later"] += out["wall_s"][1:]
        self.results["python_call"] = calls

    def scaling(self) -> None:
        """Measure cost against size, on one processor."""
        self.say("cost against size")
        command = ["-m", "benchmarks.loader.scaling", "--json"]
        command += ["--rounds", str(self.options.cold_rounds)]
        command += ["--scale", "0.5" if self.options.quick else "1"]
        for names in self.names.values():
            if len(names) > 3:
                pair = (names[3], names[0])
                command += ["--pair", *(str(self.inputs.folder / n) for n in pair)]
        self.results["scaling"] = self._ours(command)

    def _loader(self, file: str, name: str, *more: str) -> Any:
        script = ["-m", "benchmarks.loader.loaders", name]
        script += [str(self.inputs.folder / file), *more]
        if name in OURS:
            return self._ours(script)
        return self._json([str(self.pythons[PEERS[name].environment]), *script])

    def _ours(self, arguments: Sequence[str]) -> Any:
        path = {"PYTHONPATH": str(self.package)}
        return self._json([str(self.pythons["ours"]), *arguments], path)

    def _json(self, command: Sequence[str], env: dict[str, str] | None = None) -> Any:
        clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        clean.update({"PYTHONHASHSEED": SEED, **(env or {})})
        done = subprocess.run(
            command, capture_output=True, text=True, env=clean, cwd=ROOT
        )
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
            raise RuntimeError(lines[-1])
        return json.loads(done.stdout)

    def _check(self, stem: str, name: str, found: Any, tolerance: Any) -> None:
        truth = self.inputs.entries[self.names[stem][0]]["figures"]
        for text in differences(truth, found, tolerance):
            self.disagreements.append(f"{stem}: {name}: {text}")
            print(f"  DISAGREES: {self.disagreements[-1]}", flush=True)

    def say(self, what: str) -> None:
        """Tell what is being done."""
        print(f"[{time.perf_counter() - START:4.0f} s] {what}", flush=True)


START = time.perf_counter()


def main() -> None:
    """Do it all."""
    options = arguments()
    run = Run(options)
    run.prepare()
    for stem in run.names:
        run.in_process(stem)
        run.cold(stem)
    run.python_call()
    run.scaling()
    results = run.results
    results["disagreements"] = run.disagreements
    results["machine"]["seconds"] = round(time.perf_counter() - START)
    results["targets"] = targets.as_rows(results)
    if options.quick:  # No record: what is committed stays as it is.
        (default_folder() / "quick.json").write_text(
            json.dumps(results, indent=1) + "\n"
        )
    else:
        pages.write("performance", results)
    print("\n".join(targets.lines(results["targets"])))
    if run.disagreements:
        sys.exit("loaders disagree:\n" + "\n".join(run.disagreements))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="45 MB only, few rounds")
    parser.add_argument("--full", action="store_true", help="slow peers on all sizes")
    parser.add_argument("--sizes", help="MB, default 45,300,1000")
    parser.add_argument("--real", type=Path, help="a .json.gz of the profiler")
    options = parser.parse_args()
    sizes = options.sizes or ("45" if options.quick else "45,300,1000")
    options.sizes = [int(size) for size in sizes.split(",")]
    options.rounds = 3 if options.quick else 7
    options.cold_rounds = 2 if options.quick else 3
    if options.real is None:
        data = DATA.glob("*.json.gz")
        largest = max(data, key=lambda path: path.stat().st_size)
        options.real = TRACES / REAL if (TRACES / REAL).exists() else largest
    return options


if __name__ == "__main__":
    main()
