# SPDX-License-Identifier: BSD-3-Clause
"""pftrace.py: traces as Perfetto's packets, by Perfetto's own protos.

`torch_form` is the form of torch 2.15: slices of the host in groups, all beginnings
before all ends, without categories; work of devices as stages of queues; counters of
devices. `slices_form` is the one before, with work as slices of device tracks, and
flows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from .cuspy import CALLS, WORK

Event = dict[str, Any]
BEGIN, END = pb.TrackEvent.TYPE_SLICE_BEGIN, pb.TrackEvent.TYPE_SLICE_END
INSTANT, COUNTER = pb.TrackEvent.TYPE_INSTANT, pb.TrackEvent.TYPE_COUNTER
NUMBER = re.compile(r"-?\d+")
_STAGES = {"kernel": 1, "gpu_memcpy": 2, "gpu_memset": 3, "gpu_user_annotation": 4}
_HOST = {"cpu_op", "user_annotation", "python_function", *CALLS}
_OF_LAUNCHES = {"grid", "block", "registers per thread", "shared memory"}
_FIRST_QUEUE = 100


class Packets:
    """A trace in the making, of one sequence."""

    def __init__(self) -> None:
        self.trace = pb.Trace()
        self._names: dict[str, int] = {}

    def add(self, ts: int | None = None, sequence: int = 1) -> Any:
        """Add a packet and return it."""
        packet = self.trace.packet.add(trusted_packet_sequence_id=sequence)
        if ts is not None:
            packet.timestamp = ts
        return packet

    def event(self, ts: int, kind: int, track: int, name: str = "") -> Any:
        """Add an event and return it."""
        number = self.name(name) if name else 0
        event = self.add(ts).track_event
        event.type, event.track_uuid = kind, track
        if number:
            event.name_iid = number
        return event

    def slice(self, begin: int, end: int, track: int, name: str) -> Any:
        """Add both halves of a slice and return its beginning."""
        event = self.event(begin, BEGIN, track, name)
        self.event(end, END, track)
        return event

    def process(self, uuid: int, pid: int, name: str) -> None:
        track = self.add().track_descriptor
        track.uuid, track.process.pid, track.process.process_name = uuid, pid, name

    def thread(self, uuid: int, parent: int, pid: int, tid: int, name: str) -> None:
        track = self.add().track_descriptor
        track.uuid, track.parent_uuid = uuid, parent
        track.thread.pid, track.thread.tid, track.thread.thread_name = pid, tid, name

    def name(self, name: str) -> int:
        """Return the number of a name, with a packet that tells it if it is new."""
        if name not in self._names:
            self._names[name] = len(self._names) + 1
            packet = self.add()
            if len(self._names) == 1:
                packet.sequence_flags = 1
            packet.interned_data.event_names.add(iid=self._names[name], name=name)
        return self._names[name]

    def bytes(self) -> bytes:
        data: bytes = self.trace.SerializeToString()
        return data


def annotate(event: Any, args: Event) -> None:
    """Add args as annotations, typed as torch types them."""
    for key, value in args.items():
        _value(event.debug_annotations.add(name=key), value)


def _value(to: Any, value: Any) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            _value(to.dict_entries.add(name=key), inner)
    elif isinstance(value, list):
        for inner in value:
            _value(to.array_values.add(), inner)
    elif isinstance(value, bool):
        to.bool_value = value
    elif isinstance(value, int):
        to.int_value = value
    elif isinstance(value, float):
        to.double_value = value
    else:
        to.string_value = "null" if value is None else value


def torch_form(text: bytes, counters: int = 3) -> bytes:
    """Return the packets of a trace of Kineto's with torch's groups and stages."""
    return _form(text, _stages, counters)


def slices_form(text: bytes) -> bytes:
    """Return the packets with device work as slices of tracks."""
    return _form(text, None, 0)


def _ns(us: Decimal) -> int:
    return int(us * 1000)


def _form(
    text: bytes, stages: Callable[[Packets, list[Event]], None] | None, counters: int
) -> bytes:
    document = json.loads(text, parse_float=Decimal)
    plain = json.loads(text)
    events = [e | {"args": p.get("args", {})} for e, p in _pairs(document, plain)]
    packets = Packets()
    tracks: dict[tuple[Any, Any], int] = {}
    device = {*WORK, "gpu_user_annotation"}
    groups: dict[str, list[Event]] = {"host": [], "call": [], "device": [], "sync": []}
    for event in events:
        cat = event.get("cat")
        if event["ph"] != "X":
            continue
        if cat in _HOST:
            groups["call" if cat in CALLS else "host"].append(event)
        elif cat in device or cat == "cuda_sync":
            groups["device" if cat in device else "sync"].append(event)
    for kind, group in groups.items():
        if kind == "device" and stages is not None:
            continue
        for event in group:
            where = (event["pid"], event["tid"])
            if where in tracks:
                continue
            process = tracks.setdefault((where[0], None), 2 * len(tracks) + 1)
            label = "python" if kind in ("host", "call") else f"GPU {where[0]}"
            packets.process(process, where[0], label)
            tracks[where] = 2 * len(tracks) + 1
            packets.thread(tracks[where], process, *where, f"thread {where[1]}")
        for event in group:
            packets.name(event["name"])
        for event in group:
            track = tracks[event["pid"], event["tid"]]
            begin = packets.event(_ns(event["ts"]), BEGIN, track, event["name"])
            args = event["args"]
            if kind == "call":
                args = {k: args[k] for k in ("cbid", "correlation") if k in args}
            annotate(begin, args)
            if stages is None and kind in ("call", "device") and "correlation" in args:
                begin.flow_ids.append(args["correlation"])
        for event in group:
            end = _ns(event["ts"]) + _ns(event["dur"])
            packets.event(end, END, tracks[event["pid"], event["tid"]])
    if stages is not None:
        stages(packets, groups["device"])
    _counters(packets, counters)
    return packets.bytes()


def _pairs(document: Any, plain: Any) -> Any:
    exact = document["traceEvents"] if isinstance(document, dict) else document
    events = plain["traceEvents"] if isinstance(plain, dict) else plain
    return zip(exact, events, strict=True)


def _stages(packets: Packets, work: list[Event]) -> None:
    table = packets.add().interned_data
    queues = sorted({event["tid"] for event in work})
    for name, iid in zip(
        ("Kernel", "Memcpy", "Memset", "Annotation"), range(1, 5), strict=True
    ):
        table.gpu_specifications.add(iid=iid, name=name)
    for place, queue in enumerate(queues):
        iid = _FIRST_QUEUE + place
        table.gpu_specifications.add(iid=iid, name=f"stream {queue:05}")
    for event in work:
        args = event["args"]
        stage = packets.add(_ns(event["ts"])).gpu_render_stage_event
        stage.duration = _ns(event["dur"])
        stage.gpu_id = args.get("device", event["pid"])
        stage.hw_queue_iid = _FIRST_QUEUE + queues.index(event["tid"])
        stage.stage_iid = _STAGES[event["cat"]]
        if event["cat"] in ("kernel", "gpu_user_annotation"):
            stage.name_iid = packets.name(event["name"])
        if "grid" in args:
            for size, key in (
                (stage.launch.grid_size, "grid"),
                (stage.launch.workgroup_size, "block"),
            ):
                size.x, size.y, size.z = args[key]
            for name in ("registers per thread", "shared memory"):
                word = {"registers per thread": "registers_per_thread"}
                if name in args:
                    stage.launch.args.add(
                        name=word.get(name, "shared_mem_dynamic"), uint_value=args[name]
                    )
        words = {"device": "device id", "stream": "stream id", "context": "context id"}
        for key, value in args.items():
            if key not in _OF_LAUNCHES and NUMBER.fullmatch(str(value)):
                stage.extra_data.add(name=words.get(key, key), value=str(value))
    # Names may be new: their packets must come before those of the stages.
    named = [p for p in packets.trace.packet if p.HasField("interned_data")]
    rest = [p for p in packets.trace.packet if not p.HasField("interned_data")]
    copies = [pb.TracePacket.FromString(p.SerializeToString()) for p in named + rest]
    del packets.trace.packet[:]
    packets.trace.packet.extend(copies)


def _counters(packets: Packets, count: int) -> None:
    if count == 0:
        return
    table = packets.add().interned_data.gpu_counter_descriptors.add(iid=1, gpu_id=0)
    table.counter_descriptor.specs.add(counter_id=0, name="Power (W)")
    table.counter_descriptor.specs.add(counter_id=1, name="SM Active (%)")
    for i in range(count):
        event = packets.add(1000 + i).gpu_counter_event
        event.counter_descriptor_iid = 1
        event.counters.add(counter_id=0, double_value=350.5 + i)
        event.counters.add(counter_id=1, int_value=i)
