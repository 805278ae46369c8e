# SPDX-License-Identifier: BSD-3-Clause
"""net.py: the outputs for many traces, before and after a change.

    python benchmarks/net.py record BEFORE [--corpus DIR]   # at the commit before
    python benchmarks/net.py record AFTER [--corpus DIR]    # with the change
    python benchmarks/net.py compare BEFORE AFTER

`record` runs `torchtraceap analyze` on every trace in ../shared/traces (or tests/data),
on each set of ranks among them, and on the traces of a corpus, and keeps text, page and
JSON, by rules alone and with the detector. `compare` prints what differs: fields of the
JSON by their path, with the number of traces and an example, then lines of text and of
pages. Exit codes: 0 nothing differs, 1 something does, 2 bad usage.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import gzip
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "traces"
DATA = ROOT / "tests" / "data"
#: Of files of one job, by their names: "...-rank0of8...".
RANK = re.compile(r"-rank\d+of(\d+)\b.*")
WIDTH = 100  # Of examples.
SAME, DIFFERENT = 0, 1
#: What a run took is never the same: in text and JSON of the detector.
TOOK = re.compile(r"(?<=It took )[\d.]+ \S+?(, [\d.]+ \S+ of it to load|(?=\.))")
TOOK_FIELDS = re.compile(r'("(?:load|score)": ?)[\d.e-]+')


# --- Recording -------------------------------------------------------------------


def sources(corpus: Path | None) -> dict[str, list[Path]]:
    """Return the traces by name; several where they are of one job."""
    folder = SHARED if SHARED.is_dir() else DATA
    traces = sorted(folder.glob("*.json.gz"))
    found = {path.name.removesuffix(".json.gz"): [path] for path in traces}
    for path in traces:
        of = RANK.search(path.name)
        if of:
            found.setdefault(f"job {path.name[: of.start()]}", []).append(path)
    found = {k: v for k, v in found.items() if len(v) > 1 or not k.startswith("job ")}
    for path in sorted((corpus / "traces").glob("*.json.gz")) if corpus else ():
        found[f"corpus {path.name.removesuffix('.json.gz')}"] = [path]
    return found


def outputs(paths: Sequence[Path], detector: bool) -> dict[str, str]:
    """Return the outputs for a trace or a job: text, page, JSON."""
    from torchtraceap.cli import main

    with tempfile.TemporaryDirectory() as folder:
        # The names that are shown are the same wherever the traces lie.
        for path in paths:
            Path(folder, path.name).symlink_to(path)
        before = os.getcwd()
        os.chdir(folder)
        try:
            command = ["analyze", *(path.name for path in paths), "--json", "out.json"]
            command += ["--html", "out.html"]
            command += ["--windows", "1000", "--tables"] if len(paths) == 1 else []
            command += [] if detector else ["--no-detector"]
            text = io.StringIO()
            with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
                code = main(command)
            said = {"text": f"{text.getvalue()}\nexit code {code}\n"}
            for name in ("json", "html"):
                path = Path(f"out.{name}")
                said[name] = path.read_text("utf-8") if path.exists() else ""
            said = {name: timeless(of) for name, of in said.items()}
        finally:
            os.chdir(before)
    return said


def timeless(text: str) -> str:
    """Leave out what the run took, the only thing that differs from run to run."""
    return TOOK_FIELDS.sub(r"\1 0", TOOK.sub("T", text))


def keep(job: tuple[Path, str, list[Path]]) -> str:
    """Write the outputs of one source."""
    folder, name, paths = job
    if len(paths) == 1 and os.environ.get("TORCHTRACEAP_DETECTOR") != "off":
        for form, text in outputs(paths, detector=True).items():
            write(folder / f"{name}.detector.{form}.gz", text)
    for form, text in outputs(paths, detector=False).items():
        write(folder / f"{name}.{form}.gz", text)
    return name


def write(path: Path, text: str) -> None:
    path.write_bytes(gzip.compress(text.encode(), 6, mtime=0))


def record(folder: Path, corpus: Path | None, processes: int) -> int:
    """Write the outputs of all sources into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.gz"):
        old.unlink()
    # One thread: the scores of the detector are then the same each time.
    os.environ |= {"OMP_NUM_THREADS": "1", "COLUMNS": "100", "NO_COLOR": "1"}
    jobs = [(folder, name, paths) for name, paths in sources(corpus).items()]
    with ProcessPoolExecutor(processes) as pool:
        for number, name in enumerate(pool.map(keep, jobs), 1):
            print(f"{number}/{len(jobs)} {name}", flush=True)
    return SAME


# --- Comparing -------------------------------------------------------------------


def fields(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all leaves of a JSON value with the path of their field, in order; items of
    an array have one path, and its length is a leaf of its own."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from fields(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        yield f"{path}[] (length)", len(value)
        for item in value:
            yield from fields(item, f"{path}[]")
    else:
        yield path, value


def by_field(text: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for path, value in fields(json.loads(text)) if text else ():
        found.setdefault(path, []).append(value)
    return found


def short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 3]}..."


class Differences:
    """What differs, by where, with the sources that it differs in."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, str]] = {}

    def add(self, where: str, source: str, example: str) -> None:
        self.found.setdefault(where, {})[source] = example

    def add_json(self, source: str, before: str, after: str) -> None:
        old, new = by_field(before), by_field(after)
        for path in {**old, **new}:
            a, b = old.get(path), new.get(path)
            if a == b:
                continue
            if a is None or b is None:
                example = f"{'only after' if a is None else 'only before'}"
            elif len(a) != len(b):
                example = f"{len(a)} values, then {len(b)}"
            else:
                differ = [(x, y) for x, y in zip(a, b, strict=True) if x != y]
                x, y = differ[0]
                example = f"{short(x)} -> {short(y)}"
                if len(differ) > 1:
                    example += f" (and {len(differ) - 1} more)"
            self.add(f"json {path}", source, example)

    def add_lines(self, form: str, source: str, before: str, after: str) -> None:
        """Lines of a page are its elements, and the values of its data."""
        if form == "html":
            before, after = (re.sub(r"(?<=[>,])", "\n", one) for one in (before, after))
        lines = difflib.unified_diff(
            before.splitlines(), after.splitlines(), lineterm="", n=0
        )
        changed = [s for s in lines if s[:1] in "+-" and s[:3] not in ("---", "+++")]
        example = " | ".join(short(line) for line in changed[:2])
        self.add(form, source, f"{len(changed)} lines: {example}")

    def show(self, most: int) -> None:
        for where, of in sorted(self.found.items()):
            print(f"{where}: {len(of)} sources")
            for source, example in list(of.items())[:most]:
                print(f"    {source}: {example}")


def compare(before: Path, after: Path, most: int) -> int:
    """Print what differs between two folders."""
    names = [{path.name for path in one.glob("*.gz")} for one in (before, after)]
    for gone in sorted(names[0] ^ names[1]):
        print(f"{gone} is in one folder only")
    found, same = Differences(), 0
    for name in sorted(names[0] & names[1]):
        # The bytes of an equal text are equal.
        old, new = ((folder / name).read_bytes() for folder in (before, after))
        if old == new:
            same += 1
            continue
        source, form, _ = name.rsplit(".", 2)
        texts = [gzip.decompress(one).decode() for one in (old, new)]
        if form == "json":
            found.add_json(source, *texts)
        else:
            found.add_lines(form, source, *texts)
    found.show(most)
    print(f"{same} of {len(names[0] | names[1])} outputs are the same")
    return SAME if same == len(names[0] | names[1]) else DIFFERENT


def main() -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="keep the outputs for all traces")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--corpus", type=Path, help="its traces besides")
    recording.add_argument("--processes", type=int, default=2)
    comparing = commands.add_parser("compare", help="print what differs")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--most", type=int, default=2, help="examples a field")
    given = parser.parse_args()
    if given.command == "record":
        if given.corpus and not (given.corpus / "traces").is_dir():
            parser.error(f"{given.corpus} has no folder traces: is it a corpus?")
        return record(given.folder, given.corpus, given.processes)
    for folder in (given.before, given.after):
        if not any(folder.glob("*.gz")):
            parser.error(f"{folder} holds no recorded outputs")
    return compare(given.before, given.after, given.most)


if __name__ == "__main__":
    sys.exit(main())
