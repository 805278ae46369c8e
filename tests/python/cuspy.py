# SPDX-License-Identifier: BSD-3-Clause
"""cuspy.py: rewrites a CUDA trace of Kineto as torch 2.15's other writers have it.

`cuspy_form` is what Cuspy merges: copies named by their args, no estimates of
occupancy, counters, nodes of graphs and arrows between them, lanes for display.
`annotated_form` is export_chrome_trace(cuda_graph_annotations=..., graph_lanes="all").
Both say the same as the trace they are made of.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .slow_loader import Members, Number, parse

WORK = {"kernel", "gpu_memcpy", "gpu_memset"}
CALLS = {"cuda_runtime", "cuda_driver"}
MEMORIES = [
    *("unknown", "pageable", "pinned", "device", "array", "managed"),
    *("device_static", "managed_static"),
]
ESTIMATES = {"blocks per SM", "warps per SM", "est. achieved occupancy %"}
FIRST_LANE = 60
FIRST_ARROW = 1 << 40
_COPY = re.compile(r"Memcpy (\w+) \((.+) -> (.+)\)")
_SET = re.compile(r"Memset \((.+)\)")

Event = dict[str, Any]


def is_cuda(document: Any) -> bool:
    """Tell whether Kineto recorded work of CUDA under the names of today."""
    events = [dict(event) for event in _list(document)]
    cats = {event.get("cat") for event in events}
    calls = {event.get("name", "")[:3] for event in events if event.get("cat") in CALLS}
    return bool(cats & WORK and calls & {"cud", "cuL"})


def cuspy_form(content: bytes) -> bytes:
    """Return what Cuspy would have written of the same events."""
    document = parse(content)
    computable = bool(dict(document).get("deviceProperties"))
    graphs = _Graphs(_list(document))

    def one(event: Event) -> list[Event]:
        cat, args = event.get("cat"), event.get("args")
        if event.get("ph") in ("f", "s"):
            return [] if graphs.is_fan_out(event) else [event]
        if cat in CALLS and isinstance(args, dict):
            event["args"] = _only(args, {"cbid", "correlation"})
        if cat not in WORK or not isinstance(args, dict):
            return [event]
        for key in ("External id", "memory bandwidth (GB/s)"):
            args.pop(key, None)
        if cat == "kernel" and computable and "registers per thread" in args:
            event["args"] = args = _only(args, set(args) - ESTIMATES)
        if copy := _COPY.fullmatch(event["name"]):
            event["name"] = "Memcpy"
            args["copy kind"] = copy[1]
            args["src kind"], args["dst kind"] = map(_memory, copy.groups()[1:])
        if memset := _SET.fullmatch(event["name"]):
            event["name"] = "Memset"
            args["memory kind"] = MEMORIES.index(_memory(memset[1]))
        args.update(priority=0, queued=0, channel=1, channel_type=1)
        return [event, *graphs.added(event, args)]

    return _written(document, one, _counters(_list(document)))


def annotated_form(content: bytes) -> bytes:
    """Return what torch's Python export writes with the annotations of graphs."""
    document = parse(content)
    graphs = _Graphs(_list(document))

    def one(event: Event) -> list[Event]:
        cat, args = event.get("cat"), event.get("args")
        if cat in WORK and isinstance(args, dict) and graphs.replays(args):
            number = graphs.number(args)
            args["graph id"] = 7
            args["graph node id"] = (7 << 32) | number
            args["module"] = f"layers.{number % 4}"
            _move(event, args, FIRST_LANE + number % 3)
        return [event]

    document.insert(0, ("cudaGraphInlineAnnotated", True))
    return _written(document, one, [])


class _Graphs:
    """What the launches of graphs launched, and the nodes of one replay."""

    def __init__(self, events: list[Any]) -> None:
        self._launches: set[str] = set()
        self._nodes: dict[str, list[Event]] = {}
        self._arrows = FIRST_ARROW
        self._has_arrow: set[str] = set()
        for event in map(dict, events):
            args = event.get("args")
            if event.get("cat") in CALLS and "GraphLaunch" in event.get("name", ""):
                self._launches.add(dict(args).get("correlation"))

    def replays(self, args: Event) -> bool:
        return args.get("correlation") in self._launches

    def number(self, args: Event) -> int:
        nodes = self._nodes.setdefault(args["correlation"], [])
        nodes.append(args)
        return len(nodes)

    def is_fan_out(self, event: Event) -> bool:
        """Tell whether an arrow leads to a node that has another before it."""
        if event["ph"] == "s" or event.get("id") not in self._launches:
            return False
        seen = event["id"] in self._has_arrow
        self._has_arrow.add(event["id"])
        return seen

    def added(self, event: Event, args: Event) -> list[Event]:
        """Make a node of replayed work; return what is drawn beside it."""
        if not self.replays(args):
            return []
        number = self.number(args)
        args["graph id"], args["graph node id"] = 7, number
        _move(event, args, FIRST_LANE + number % 3)
        place = {key: event[key] for key in ("pid", "tid", "ts")}
        flow = {**place, "id": self._arrows, "cat": "ac2g", "name": "ac2g"}
        self._arrows += 1
        ids = {**_only(args, {"device", "stream", "correlation", "graph id"})}
        node = {**place, "ph": "X", "dur": 0, "args": ids}
        return [
            {**flow, "ph": "s"},
            {**flow, "ph": "f", "bp": "e"},
            {**node, "cat": "graph_event_node", "name": "EventRecord"},
            {**node, "cat": "graph_host_node", "name": "HostNode", "dur": 1},
        ]


def _move(event: Event, args: Event, lane: int) -> None:
    args["original_stream"] = args["stream"]
    args["stream"] = event["tid"] = lane


def _memory(name: str) -> str:
    return name.lower().replace(" ", "_")


def _only(args: Event, keys: set[str]) -> Event:
    return {key: value for key, value in args.items() if key in keys}


def _counters(events: list[Any]) -> list[Event]:
    """A sample of each device's power at each tenth piece of work."""
    work = [e for e in map(dict, events) if e.get("cat") in WORK]
    return [
        {
            "ph": "C",
            "name": "Power (W)",
            "pid": f"GPU {event['pid']} Counters",
            "ts": event["ts"],
            "args": {"": 250.5},
        }
        for event in work[::10]
    ]


def _list(document: Any) -> list[Any]:
    return next(value for key, value in document if key == "traceEvents")


def _written(
    document: Any, one: Callable[[Event], list[Event]], added: list[Event]
) -> bytes:
    events: list[Any] = []
    for raw in _list(document):
        event = dict(raw)
        if isinstance(event.get("args"), Members):
            event["args"] = dict(event["args"])
        events += one(event)
    top = dict(document) | {"traceEvents": events + added}
    return text_of(top).encode()


def text_of(value: Any) -> str:
    """Write what `parse` gave and what was made of it: every digit stays."""
    import json

    if isinstance(value, Members):
        value = dict(value)
    if isinstance(value, dict):
        items = (f"{json.dumps(key)}:{text_of(item)}" for key, item in value.items())
        return "{" + ",".join(items) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text_of, value)) + "]"
    return value if isinstance(value, Number) else json.dumps(value)
