# SPDX-License-Identifier: BSD-3-Clause
"""make_inputs.py: writes the traces that are measured, and what is in them.

    python -m benchmarks.loader.make_inputs [--sizes 45,300,1000] [--folder DIR]

For each size, in MB of 10^6 bytes, the recorded steps (recorded.json.gz) repeated with
later times and other ids: ``sim-45.json`` as the profiler writes it, the same gzipped
at level 6, and the same compact. ``sim-45.quarter.json`` has a quarter of the
repetitions, for cost against size. manifest.json says how large each is, its SHA-256,
and what a loader must find in it, counted while it was written.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import tempfile
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

from benchmarks.loader.figures import Figures, figures_of
from benchmarks.loader.layouts import Compact, Kineto, Layout, template_of
from benchmarks.loader.steps import RECORDED, Repeating, Steps, read_steps

Manifest = dict[str, dict[str, Any]]
GZIP_LEVEL = 6
CHUNK = 1 << 20
WINDOW = 32 << 10  # how far back deflate looks


def default_folder() -> Path:
    """Return where inputs, builds and environments are kept: $TTA_BENCH_DATA."""
    chosen = os.environ.get("TTA_BENCH_DATA")
    return Path(chosen or Path(tempfile.gettempdir()) / "torchtraceap-bench")


class Inputs:
    """The folder of inputs with its manifest; makes what is missing or changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._manifest = folder / "manifest.json"
        self.entries: Manifest = {}
        if self._manifest.exists():
            self.entries = json.loads(self._manifest.read_text())
        sources = [RECORDED, *(Path(__file__).with_name(f"{m}.py") for m in MAKERS)]
        text = b"".join(source.read_bytes() for source in sources)
        self._recipe = hashlib.sha256(text).hexdigest()

    def simulated(self, megabytes: int) -> list[str]:
        """Make the inputs of one size; return their names, raw first."""
        stem = f"sim-{megabytes}"
        names = [stem + end for end in (".json", ".json.gz", ".compact.json")]
        names.append(f"{stem}.quarter.json")
        if all(self._current(name) for name in names):
            return names
        steps = read_steps(RECORDED)
        each = len(template_of(steps.body, Kineto()).text(0))
        times = max(4, round(megabytes * 1e6 / each / 4) * 4)
        for name, layout, count in (
            (names[0], Kineto(), times),
            (names[2], Compact(), times),
            (names[3], Kineto(), times // 4),
        ):
            with open(self.folder / name, "wb") as file:
                write_trace(file, steps, layout, count)
            self._enter(name, figures_of(repeated(steps, count)), count)
        self._gzip(names[0], names[1])
        return names

    def real(self, path: Path) -> list[str]:
        """Lay a real trace out like the others; return the names, raw first."""
        stem = "real-" + path.name.removesuffix(".json.gz")
        names = [stem + end for end in (".json", ".json.gz", ".compact.json")]
        if all(self._current(name) for name in names):
            return names
        data = path.read_bytes()
        text = zlib.decompress(data, wbits=31)
        figures = figures_of(exact_events(text))
        for name, content in zip(names, (text, data, compacted(text)), strict=True):
            (self.folder / name).write_bytes(content)
            self._enter(name, figures, len(text))
        return names

    def _gzip(self, source: str, name: str) -> None:
        paths = self.folder / source, self.folder / name
        with open(paths[0], "rb") as text, open(paths[1], "wb") as file:
            file.writelines(gzipped(text))
        entry = self.entries[source]
        self._enter(name, Figures(**entry["figures"]), entry["times"])

    def _current(self, name: str) -> bool:
        entry, path = self.entries.get(name), self.folder / name
        return (
            entry is not None
            and entry["recipe"] == self._recipe
            and path.exists()
            and path.stat().st_size == entry["bytes"]
        )

    def _enter(self, name: str, figures: Figures, times: int) -> None:
        path = self.folder / name
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            while part := file.read(CHUNK):
                digest.update(part)
        self.entries[name] = {
            "bytes": path.stat().st_size,
            "sha256": digest.hexdigest(),
            "times": times,
            "recipe": self._recipe,
            "figures": figures.as_dict(),
        }
        self._manifest.write_text(json.dumps(self.entries, indent=1) + "\n")


# What the bytes of an input depend on besides the recording.
MAKERS = ("steps", "layouts", "make_inputs", "figures")


def write_trace(file: BinaryIO, steps: Steps, layout: Layout, times: int) -> None:
    """Write a whole trace, one repetition at a time."""
    file.write(layout.begin(steps.metadata))
    file.write(template_of(steps.head, layout).text(0))
    body = template_of(steps.body, layout)
    for repetition in range(times):
        file.write(layout.between)
        file.write(body.text(repetition))
    file.write(layout.between)
    file.write(template_of(steps.tail, layout).text(0))
    file.write(layout.end)


def repeated(steps: Steps, times: int) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield each event with how often it occurs; its time is that of the first."""
    for event in [*steps.head, *steps.tail]:
        yield event, 1
    for event in steps.body:
        ts = event["ts"]
        assert isinstance(ts, Repeating)
        yield {**event, "ts": f"{ts.base}{ts.tail}"}, times


def exact_events(text: bytes) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield the events of a text, numbers with a point as they are written."""
    document = json.loads(text, parse_float=str)
    for event in document["traceEvents"] if isinstance(document, dict) else document:
        yield event, 1


def compacted(text: bytes) -> bytes:
    """Leave out the white space between tokens; every digit stays."""
    return re.sub(rb'("(?:[^"\\]|\\.)*")|\s+', rb"\1", text)


def gzipped(source: BinaryIO) -> Iterator[bytes]:
    """Yield one gzip member, deflated by several threads as pigz does."""
    yield b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    crc, length, before = 0, 0, b""

    def deflate(job: tuple[bytes, bytes]) -> bytes:
        seen, chunk = job
        deflater = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, -15, zdict=seen)
        return deflater.compress(chunk) + deflater.flush(zlib.Z_SYNC_FLUSH)

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        while batch := source.read(32 * CHUNK):
            chunks = [batch[at : at + CHUNK] for at in range(0, len(batch), CHUNK)]
            ends = [before, *(chunk[-WINDOW:] for chunk in chunks)]
            yield from threads.map(deflate, zip(ends, chunks, strict=False))
            crc, length, before = zlib.crc32(batch, crc), length + len(batch), ends[-1]
    yield zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, -15).flush()
    yield crc.to_bytes(4, "little") + (length % 2**32).to_bytes(4, "little")


def main() -> None:
    """Make the inputs alone."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", default="45,300,1000")
    parser.add_argument("--folder", type=Path, default=default_folder() / "inputs")
    options = parser.parse_args()
    inputs = Inputs(options.folder)
    for size in options.sizes.split(","):
        for name in inputs.simulated(int(size)):
            print(f"{inputs.entries[name]['bytes']:>14,} {options.folder / name}")


if __name__ == "__main__":
    main()
