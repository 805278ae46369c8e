# SPDX-License-Identifier: BSD-3-Clause
"""make.py: the fleet that is measured: nights of real traces, perturbed and renamed.

    python -m benchmarks.fleet.make FOLDER --traces SOURCE --count 10000

Each night has all traces of the source, recorded then, each with its times stretched by
a factor of a few percent: ranks of a job by the same. In the last three
nights every seventh program takes a quarter longer. A variant's events are compressed
once and written behind a header of their own, so 10,000 traces take a minute or two.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import date, timedelta
from functools import partial
from pathlib import Path

FACTORS = (1.0, 0.98, 1.01, 1.03, 1.25)
SLOW = len(FACTORS) - 1
SLOW_NIGHTS, SLOW_PROGRAMS = 3, 7
FIRST_NIGHT = date(2026, 1, 1)
_HOUR_NS = 3_600_000_000_000
_FIRST_NS = (FIRST_NIGHT - date(1970, 1, 1)).days * 24 * _HOUR_NS
_BASE = re.compile(rb',?\s*"baseTimeNanoseconds"\s*:\s*\d+')
_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
_TIME = re.compile(rb'("(?:ts|dur)"\s*:\s*)(\d+(?:\.\d+)?)')


def write_fleet(folder: Path, sources: Sequence[Path], count: int) -> int:
    """Write at least as many traces, in whole nights; return how many."""
    nights = -(-count // len(sources))
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(partial(_write_source, folder, nights), sources))
    return nights * len(sources)


def night_of(number: int) -> str:
    """Return the name of a night's folder."""
    return f"night-{FIRST_NIGHT + timedelta(number)}"


def _write_source(folder: Path, nights: int, source: Path) -> None:
    head, body = _halves(gzip.decompress(source.read_bytes()))
    body = _BASE.sub(b"", body)
    begin_ns = round(_begin(body) * 1000)
    program = re.split(r"-rank\d+", source.name.partition(".")[0])[0]
    variants: dict[int, bytes] = {}
    for night in range(nights):
        which = _variant(program, night, nights)
        if which not in variants:
            stretched = _stretched(body, FACTORS[which])
            variants[which] = gzip.compress(stretched, compresslevel=6)
        base_ns = (2 + 24 * night) * _HOUR_NS + _FIRST_NS - begin_ns
        own = _BASE.sub(b"", head)
        commit = f"{random.Random(night).getrandbits(40):010x}".encode()
        if own.startswith(b"{"):
            added = b'"commit": "c%s",' % commit
            if base_ns > 0:
                added += b'"baseTimeNanoseconds": %d,' % base_ns
            own = b"{" + added + own[1:]
        path = folder / night_of(night) / source.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(own, compresslevel=6) + variants[which])


def _halves(text: bytes) -> tuple[bytes, bytes]:
    """Return the text before the events, and the rest."""
    found = _EVENTS.search(text[: 1 << 20])
    cut = found.end() if found else 0
    return text[:cut].lstrip(), text[cut:]


def _variant(program: str, night: int, nights: int) -> int:
    chance = random.Random(program)
    is_slow = chance.randrange(SLOW_PROGRAMS) == 0
    if is_slow and night >= nights - SLOW_NIGHTS:
        return SLOW
    return random.Random(f"{program} {night}").randrange(SLOW)


def _begin(body: bytes) -> float:
    """Return the first time of events that has a value."""
    starts = (float(m[2]) for m in _TIME.finditer(body) if m[1][1:2] == b"t")
    return min((start for start in starts if start), default=0.0)


def _stretched(body: bytes, factor: float) -> bytes:
    """Return events with their times from the first one on stretched."""
    if factor == 1:
        return body
    begin = _begin(body)

    def replaced(match: re.Match[bytes]) -> bytes:
        value = float(match[2])
        if match[1][1:2] == b"d":
            return match[1] + b"%.3f" % (value * factor)
        if value < begin:
            return match[0]
        return match[1] + b"%.3f" % (begin + (value - begin) * factor)

    return _TIME.sub(replaced, body)


def traces_in(folder: Path) -> Iterator[Path]:
    """Yield the traces that a fleet is made of."""
    yield from sorted(folder.glob("*.json.gz"))


def main() -> None:
    """Write a fleet."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--count", type=int, default=10_000)
    options = parser.parse_args()
    made = write_fleet(options.folder, list(traces_in(options.traces)), options.count)
    print(f"{made:,} traces in {options.folder}")


if __name__ == "__main__":
    main()
