# SPDX-License-Identifier: BSD-3-Clause
"""repeat.py: repeats a real trace, later each time and with new ids."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from benchmarks.loader.figures import exact_ns
from benchmarks.loader.layouts import Compact
from benchmarks.loader.make_inputs import write_trace
from benchmarks.loader.steps import Event, Repeating, Steps

# Each of these numbers counts in its own way; those of a pair count together.
COUNTED = (
    ("correlation",),
    ("External id", "external id", "Ev Idx"),
    ("Python id", "Python parent id"),
    ("Sequence number",),
)
STEP = "ProfilerStep#"
# Neither what precedes the repetitions nor what follows them may be empty.
MARK: Event = {"ph": "M", "name": "repeated", "pid": 0, "tid": 0}


def write_repeated(source: Path, times: int, target: Path) -> None:
    """Write `source` as many times over as one compact trace."""
    text = source.read_bytes()
    if text[:2] == b"\x1f\x8b":
        text = gzip.decompress(text)
    document = json.loads(text)  # doubles will do: nothing is compared
    events: list[Event] = document.pop("traceEvents")
    for event in events:
        if event.get("args") == {}:
            del event["args"]  # the layout writes none
    body = [e for e in events if is_placed(e)]
    head = [e for e in events if not is_placed(e) and e.get("cat") != "Trace"]
    begin = min(exact_ns(e["ts"]) for e in body)
    end = max(exact_ns(e["ts"]) + exact_ns(e.get("dur", 0)) for e in body)
    period = -(-(end - begin + 50_000) // 1000) * 1000
    repeat(body, period)
    with open(target, "wb") as file:
        write_trace(
            file, Steps(document, [*head, MARK], body, [MARK], period), Compact(), times
        )


def is_placed(event: Event) -> bool:
    """Tell whether an event is one of the recording's, and repeats."""
    return event.get("ph") not in ("M", None) and event.get("cat") != "Trace"


def repeat(events: list[Event], period_ns: int) -> None:
    """Replace what differs between repetitions: times, ids, numbers of steps."""
    strides: dict[str, int] = {}
    for names in COUNTED:
        most = max((largest(events, name) for name in names), default=0)
        strides |= dict.fromkeys(names, 1 + most)
    flows = 1 + max(
        (e["id"] for e in events if isinstance(e.get("id"), int)), default=0
    )
    steps = 1 + len({e["name"] for e in events if e.get("name", "").startswith(STEP)})
    for event in events:
        ns = exact_ns(event["ts"])
        event["ts"] = Repeating(ns // 1000, period_ns // 1000, f".{ns % 1000:03d}")
        if "dur" in event:
            event["dur"] = float(event["dur"])
        if isinstance(event.get("id"), int):
            event["id"] = Repeating(event["id"], flows)
        number = event.get("name", "").partition("#")[2]
        if event.get("name", "").startswith(STEP) and number.isdecimal():
            event["name"] = Repeating(int(number), steps, '"', f'"{STEP}')
        args = event.get("args")
        for key in (args.keys() & strides.keys()) if isinstance(args, dict) else ():
            if isinstance(args[key], int) and args[key] > 0:
                args[key] = Repeating(args[key], strides[key])


def largest(events: list[Event], key: str) -> int:
    """Return the largest number of an arg, 0 if there is none."""
    values: list[Any] = [
        e["args"].get(key) for e in events if isinstance(e.get("args"), dict)
    ]
    return max((v for v in values if isinstance(v, int)), default=0)
