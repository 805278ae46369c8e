# SPDX-License-Identifier: BSD-3-Clause
"""trace_format.py: what the public "Trace Event Format" document asks of a trace.

Nothing here uses torchtraceap.
"""

from __future__ import annotations

import gzip
import json
import math
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Duration, complete, instant, counter, async, flow, sample, object, metadata, memory
# dump, mark, clock sync, context.
PHASES = set("BEXiICbneSTpFstfPNODMVvRc(),")
METADATA = {
    "process_name": ("name", str),
    "process_labels": ("labels", str),
    "process_sort_index": ("sort_index", int),
    "thread_name": ("name", str),
    "thread_sort_index": ("sort_index", int),
}


def plain(path: Path) -> bytes:
    """Read a trace's text, compressed or not."""
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def events_of(document: Any) -> list[dict[str, Any]]:
    """The events of either form of a trace."""
    return document["traceEvents"] if isinstance(document, dict) else document


def strict(text: bytes) -> Any:
    """Parse JSON that every parser takes: no NaN, no key twice, UTF-8."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise ValueError(f"a key repeats: {[key for key, _ in pairs]}")
        return dict(pairs)

    decoded = text.decode("utf-8")
    return json.loads(decoded, parse_constant=refuse, object_pairs_hook=unique)


def _number(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value)


def mistakes(events: list[dict[str, Any]]) -> Iterator[str]:
    """Yield what the document does not allow."""
    for number, e in enumerate(events):
        where = f"event {number} ({e.get('name')!r})"
        phase = e.get("ph")
        if phase not in PHASES:
            yield f"{where}: phase {phase!r}"
            continue
        if not isinstance(e.get("name"), str):
            yield f"{where}: no name"
        if "pid" not in e or "tid" not in e:
            yield f"{where}: no pid or tid"
        if "args" in e and not isinstance(e["args"], dict):
            yield f"{where}: args are not an object"
        if phase == "M":
            key, kind = METADATA.get(e["name"], ("", object))
            if key and not isinstance(e["args"].get(key), kind):
                yield f"{where}: args.{key} is not of type {kind.__name__}"
            continue
        if not _number(e.get("ts")):
            yield f"{where}: ts {e.get('ts')!r}"
        if phase == "X" and not (_number(e.get("dur")) and e["dur"] >= 0):
            yield f"{where}: dur {e.get('dur')!r}"
        if phase == "C" and not (
            e.get("args") and all(map(_number, e["args"].values()))
        ):
            yield f"{where}: a counter of {e.get('args')!r}"
        if phase == "i" and e.get("s", "t") not in ("g", "p", "t"):
            yield f"{where}: scope {e['s']!r}"
        if phase in "stf" and "id" not in e:
            yield f"{where}: a flow without id"


def badly_nested(events: list[dict[str, Any]]) -> Iterator[str]:
    """Yield complete events that overlap another of their thread without nesting."""
    threads: defaultdict[tuple[Any, Any], list[tuple[float, float]]] = defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            threads[e["pid"], e["tid"]].append((e["ts"], -e["dur"]))
    for thread, slices in threads.items():
        ends: list[float] = []
        for begin, minus in sorted(slices):
            end = begin - minus
            # Floats of today's microseconds are good for a quarter of one.
            while ends and ends[-1] <= begin + 0.5:
                ends.pop()
            if ends and end > ends[-1] + 0.5:
                yield f"{thread}: [{begin}, {end}) outlasts what it began in"
            ends.append(end)
