# SPDX-License-Identifier: BSD-3-Clause
"""slow_loader.py: what the columns of a trace must hold, read with Python's json.

It shares no code with the loader, takes numbers as text until their meaning is known,
and does one thing after the other. Only for texts that are JSON.
"""

from __future__ import annotations

import decimal
import gzip
import json
import re
from itertools import groupby
from typing import Any

NO_TIME = -(2**63)
NO_ID = -1

# Kineto's names (ActivityType.h), and those of other years.
DEVICE_SIDE = {
    *("kernel", "gpu_memcpy", "gpu_memset", "mtia_ccp_events", "hpu_op"),
    *("gpu_user_annotation", "cuda_sync", "cuda_profiler_range", "mtia_insight"),
    *("graph_event_node", "graph_host_node"),
}
CATEGORIES = [  # In the order of cpp/trace/columns.h.
    *("unknown", "cpu_op", "user_annotation", "python_function", "cuda_runtime"),
    *("cuda_driver", "mtia_runtime", "glow_runtime", "xpu_runtime", "xpu_driver"),
    *("privateuse1_runtime", "privateuse1_driver", "kernel", "gpu_memcpy"),
    *("gpu_memset", "mtia_ccp_events", "hpu_op", "gpu_user_annotation", "cuda_sync"),
    *("cuda_profiler_range", "mtia_insight", "graph_event_node", "graph_host_node"),
    *("overhead", "cpu_instant_event", "Trace", "ac2g", "fwdbwd"),
]
# What encloses what, of events that start and end together.
OUTER = ["python_function", "user_annotation", "cpu_op"]
ALIASES = {
    **{"Operator": "cpu_op", "CPU functions": "cpu_op", "Runtime": "cuda_runtime"},
    **{"Kernel": "kernel", "Memcpy": "gpu_memcpy", "Memset": "gpu_memset"},
    **{"Python": "python_function", "forward_backward": "fwdbwd", "async": "ac2g"},
    **{"async_gpu": "ac2g", "async_cpu_to_gpu": "ac2g"},
}
ARG_KEYS = {
    "device": "device",
    "stream": "stream",
    "correlation": "correlation",
    "External id": "external_id",
    "external id": "external_id",
    "Python id": "python_id",
    "Python parent id": "python_parent_id",
    "Sequence number": "sequence",
}
ARG_ORDER = tuple(dict.fromkeys(ARG_KEYS.values()))
COLUMNS = ("name", "category", "phase", "ts", "dur", "pid", "tid", *ARG_KEYS.values())
_EXACT = decimal.Context(prec=10_000, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,15}")
_HALF = re.compile("[\ud800-\udfff]")


class Number(str):
    """A number as the text has it."""


class Members(list):
    """An object as its pairs, in order, repeats and all."""


def parse(data: bytes) -> Any:
    """Parse JSON or its gzip; raises ValueError where it is not strictly JSON."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return json.loads(
        data.decode("utf-8-sig"),
        parse_float=Number,
        parse_int=Number,
        parse_constant=_refuse,
        object_pairs_hook=Members,
    )


def plain(value: Any) -> Any:
    """Make dicts and lists of what `parse` gives; of repeated keys the last counts."""
    if isinstance(value, Members):
        return {key: plain(item) for key, item in value}
    return [plain(item) for item in value] if isinstance(value, list) else value


class SlowTrace:
    """The columns, by name, as lists; names and identities as the text has them."""

    def __init__(self, document: Any) -> None:
        top = document if isinstance(document, Members) else [("traceEvents", document)]
        self.metadata = {key: value for key, value in top if key != "traceEvents"}
        (events,) = (value for key, value in top if key == "traceEvents")
        self.args: list[Any] = []
        self.place: list[int] = []  # in the file
        self.columns: dict[str, list] = {column: [] for column in COLUMNS}
        for event in events:
            if isinstance(event, Members):
                self._add(dict(event))
        self._sort()
        if self._pair():
            self._sort()

    def _pair(self) -> bool:
        """Make spans of beginnings and ends, as cpp/trace/spans.h says."""
        column = self.columns
        threads: dict[Any, list[int]] = {}
        untimed = []
        for row, phase in enumerate(column["phase"]):
            if phase not in "BE":
                continue
            if abs(column["ts"][row]) < 2**61:
                who = column["pid"][row], column["tid"][row]
                threads.setdefault(who, []).append(row)
            elif column["category"][row] != "unknown":
                untimed.append(row)
        gone = {row for row in untimed if column["phase"][row] == "E"}
        for rows in threads.values():
            gone |= self._pair_thread(rows)
        self._only([row for row in range(len(self.args)) if row not in gone])
        return bool(gone)

    def _pair_thread(self, rows: list[int]) -> set[int]:
        """Return the ends that are not rows any more; `rows` are in order."""
        column = self.columns
        ts, phase, name = column["ts"], column["phase"], column["name"]
        category, gone = column["category"], set()
        stack: list[int] = []
        begins: list[int] = []

        def says(end: int) -> bool:
            return name[end] != "" or category[end] != "unknown"

        def fits(end: int, begin: int) -> bool:
            known = {category[end], category[begin]} - {"unknown"}
            return name[end] in ("", name[begin]) and len(known) < 2

        def choice(ends: list[int]) -> tuple[int, int] | None:
            last = [row for row in stack if ts[row] == ts[stack[-1]]]
            for begin in last[::-1]:
                for end in ends:
                    if says(end) and fits(end, begin):
                        return begin, end
            for end in ends:
                if not (says(end) and any(fits(end, begin) for begin in begins)):
                    return stack[-1], end
            return None

        moments = [[r for r in rows if ts[r] == when] for when in {ts[r] for r in rows}]
        moments.sort(key=lambda now: ts[now[0]])
        if any(phase[row] == "E" and not says(row) for row in rows):
            for now in moments:
                now.sort(key=lambda row: self.place[row])
            places = [self.place[row] for now in moments for row in now]
            if places == sorted(places):
                moments = [
                    list(run)
                    for now in moments
                    for _, run in groupby(now, lambda row: phase[row])
                ]
        for now in moments:
            begins = [row for row in now if phase[row] == "B"]
            ends = [row for row in now if phase[row] == "E"]
            for later in (begins, []):
                while ends and stack and (found := choice(ends)):
                    begin, end = found
                    stack.remove(begin)
                    ends.remove(end)
                    if {category[begin], category[end]} != {"unknown"}:
                        self._join(begin, end)
                        gone.add(end)
                stack += later
                begins = []
            if any(category[row] != "unknown" for row in rows):
                gone.update(ends)
        return gone

    def _join(self, begin: int, end: int) -> None:
        column = self.columns
        column["phase"][begin] = "X"
        column["dur"][begin] = column["ts"][end] - column["ts"][begin]
        for key, unset in (("name", ""), ("category", "unknown")):
            if column[key][begin] == unset:
                column[key][begin] = column[key][end]
        for key in ARG_ORDER:
            if key != "device" and column[key][begin] == NO_ID:
                column[key][begin] = column[key][end]
        if self.args[begin] is None:
            self.args[begin] = self.args[end]

    def _only(self, rows: list[int]) -> None:
        self.args = [self.args[row] for row in rows]
        self.place = [self.place[row] for row in rows]
        for name, values in self.columns.items():
            self.columns[name] = [values[row] for row in rows]

    def _sort(self) -> None:
        """Order rows as cpp/trace/order.h says; those that agree stay as they are."""
        column = self.columns

        def key(row: int) -> tuple[Any, ...]:
            ids = [column[name][row] for name in ARG_ORDER]
            who = [
                (isinstance(column[name][row], str), column[name][row])
                for name in ("pid", "tid")
            ]
            category = column["category"][row]
            return (
                column["ts"][row],
                -column["dur"][row],
                OUTER.index(category) if category in OUTER else len(OUTER),
                *who,
                column["name"][row].encode(),
                *ids,
                CATEGORIES.index(category),
                column["phase"][row],
            )

        self._only(sorted(range(len(self.args)), key=key))

    def _add(self, event: dict[str, Any]) -> None:
        if not is_text(event.get("ph")):
            return
        args = event.get("args")
        self.place.append(len(self.place))
        self.args.append(args if isinstance(args, Members) else None)
        ids = dict.fromkeys(ARG_KEYS.values(), NO_ID)
        for key, value in args if isinstance(args, Members) else ():
            if key in ARG_KEYS:
                ids[ARG_KEYS[key]] = an_id(value)
        name, category, phase = event.get("name"), event.get("cat"), event["ph"]
        category = category if is_text(category) else ""
        category = ALIASES.get(category, category)
        if len(phase) != 1 or not " " < phase < "\x7f":
            phase = "?"
        if phase in "stf":
            ids["correlation"] = an_id(event.get("id"))
        pid, tid = (
            identity(event[key]) if key in event else NO_ID for key in ("pid", "tid")
        )
        place_on_device(ids, category, pid, tid)
        row = {
            "name": _HALF.sub("\ufffd", name) if is_text(name) else "",
            "category": category if category in CATEGORIES else "unknown",
            "phase": phase,
            "ts": nanoseconds(event.get("ts")),
            "dur": nanoseconds(event.get("dur")),
            "pid": pid,
            "tid": tid,
            **ids,
        }
        for column, value in row.items():
            self.columns[column].append(value)


def is_text(value: object) -> bool:
    return isinstance(value, str) and not isinstance(value, Number)


def place_on_device(
    ids: dict[str, int], category: str, pid: object, tid: object
) -> None:
    """Decide device and stream, which only rows of the device side have."""
    if category not in DEVICE_SIDE:
        ids["device"] = ids["stream"] = NO_ID
        return
    if ids["device"] == NO_ID and isinstance(pid, int):
        ids["device"] = pid
    if not -1 <= ids["device"] < 2**31:
        ids["device"] = NO_ID
    if ids["stream"] == NO_ID:
        if isinstance(tid, int):
            ids["stream"] = tid
        elif _INTEGER.fullmatch(number := tid.removeprefix("stream ")):
            ids["stream"] = int(number)


def nanoseconds(value: object) -> int:
    """Convert microseconds, also those written as text, rounding half to even."""
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        return NO_TIME
    scaled = _whole(value, 3)
    return NO_TIME if scaled is None else scaled


def an_id(value: object) -> int:
    """Convert an id: a number without fraction, its text, or an address."""
    if is_text(value) and _HEX.fullmatch(value):
        return int(value, 16)
    if not isinstance(value, str) or (is_text(value) and not _INTEGER.fullmatch(value)):
        return NO_ID
    number = _integer(value)
    return NO_ID if number is None else number


def identity(value: object) -> int | str:
    """Convert a pid or tid: a number, or else its text; NO_ID for lists and objects."""
    if isinstance(value, list):
        return NO_ID
    if isinstance(value, str) and (_INTEGER.fullmatch(value) or not is_text(value)):
        number = _integer(value)
        if number is not None and number < 2**62:
            return number
    return _HALF.sub("\ufffd", value) if isinstance(value, str) else json.dumps(value)


def _integer(text: str) -> int | None:
    number = _whole(text, 0)
    if number is None or decimal.Decimal(text) != number:
        return None
    return number


def _whole(text: str, shift: int) -> int | None:
    """Return text * 10^shift as an integer, None if 64 bits do not hold it."""
    try:
        value = decimal.Decimal(text)
    except decimal.InvalidOperation:  # An exponent of 20 digits.
        mantissa, _, exponent = text.lower().partition("e")
        small = exponent.startswith("-") or not decimal.Decimal(mantissa)
        return 0 if small else None
    if not value or value.adjusted() + shift < -2:
        return 0
    if value.adjusted() + shift > 19:
        return None
    scaled = value.scaleb(shift, _EXACT)
    whole = int(scaled.to_integral_value(decimal.ROUND_HALF_EVEN, _EXACT))
    return whole if abs(whole) < 2**63 else None


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")
