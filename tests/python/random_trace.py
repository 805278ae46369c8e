# SPDX-License-Identifier: BSD-3-Clause
"""random_trace.py: sound traces in every legal layout, the same for the same seed."""

from __future__ import annotations

import json
import random

from .slow_loader import ALIASES, ARG_KEYS, CATEGORIES

_BLANKS = ("", "", " ", "\n", "\r\n", "\t", "  \n    ")
_NAMES = (
    "aten::mm",
    "void k<128, 4>(float*, char const*)",
    "",
    'Library("_inductor_test", "IMPL")',
    "C:\\new\\table\n",
    "\u6838\u51fd\u6570 \U0001f680 \u202e\0",
    "]}, {[",
    "x" * 700,
)
_PHASES = "XXXXXXXXXiMstfBEC"
_CATEGORIES = (*sorted(CATEGORIES), *sorted(ALIASES), "novel")


class Writer:
    """Writes values as JSON in a style of its own."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.blanks = rng.choice(
            [("",), (" ",), ("\n",), ("\r\n", "\r\n  "), ("\t",), _BLANKS]
        )
        self.escapes = rng.choice([0.0, 0.0, 0.02, 0.3])
        self.shuffles = rng.random() < 0.5
        self.oddness = rng.choice([0.0, 0.1, 0.8])

    def blank(self) -> str:
        return self.rng.choice(self.blanks)

    def text(self, value: str) -> str:
        plain = json.dumps(value, ensure_ascii=self.rng.random() < 0.5)
        if not self.escapes or "\\" in plain or value.isdecimal():
            return plain
        return "".join(
            f"\\u{ord(c):04x}"
            if c != '"' and ord(c) < 0x10000 and self.rng.random() < self.escapes
            else c
            for c in plain
        )

    def micros(self, ns: int) -> str:
        """Write nanoseconds as microseconds, in one of the forms that JSON has."""
        sign, ns = ("-" if ns < 0 else ""), abs(ns)
        whole, part = divmod(ns, 1000)
        if self.rng.random() >= self.oddness:
            return f"{sign}{whole}.{part:03}" if part else f"{sign}{whole}"
        digits = f"{ns:04}"
        forms = [
            f"{sign}{whole}.{part:03}{'0' * self.rng.randrange(9)}",
            f"{sign}{ns}e-3",
            f"{sign}{whole}.{part:03}4999",  # Rounds to the same.
            f"{sign}{whole}.{part:03}E+0",
            f"{sign}{ns}.000E-03",
            f"{sign}0.{digits}e{len(digits) - 3}",
        ]
        return self.rng.choice(forms)

    def value(self, value: object, depth: int = 0) -> str:
        if isinstance(value, Raw):
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            items = list(value.items())
            if self.shuffles:
                self.rng.shuffle(items)
            parts = [
                f"{self.text(key)}{self.blank()}:{self.blank()}{self.value(item)}"
                for key, item in items
            ]
            return "{" + self.joined(parts) + "}"
        if isinstance(value, list):
            return "[" + self.joined([self.value(item) for item in value]) + "]"
        return json.dumps(value)

    def joined(self, parts: list[str]) -> str:
        return (
            self.blank() + f"{self.blank()},{self.blank()}".join(parts) + self.blank()
        )


class Raw(str):
    """Text that goes into the document as it stands."""


def nested(rng: random.Random, depth: int = 0) -> object:
    """Return some value, at most five levels deep."""
    kind = rng.randrange(9 if depth < 5 else 6)
    if kind < 6:
        scalars = (None, True, False, rng.randrange(-(2**70), 2**70), 0.5, 'a"b\\]}')
        return scalars[kind]
    if kind == 6:
        return {f"k{i}": nested(rng, depth + 1) for i in range(rng.randrange(4))}
    return [nested(rng, depth + 1) for _ in range(rng.randrange(5))]


def event(rng: random.Random, writer: Writer, begin: int, number: int) -> dict:
    """Return one event; what Kineto may leave out is left out at times."""
    members: dict[str, object] = {"ph": rng.choice(_PHASES)}
    ts = begin + number * rng.choice([1, 1_001, 999_999]) - rng.randrange(3)
    members["ts"] = Raw(writer.micros(ts))
    if members["ph"] == "X":
        members["dur"] = Raw(writer.micros(rng.choice([0, 1, 200, 12_345, 10**12])))
    if members["ph"] in "stf":
        members["id"] = rng.randrange(2**40)
    if rng.random() < 0.95:
        members["cat"] = rng.choice(_CATEGORIES)
    if rng.random() < 0.97:
        members["name"] = rng.choice(_NAMES) + (str(number) if number % 3 else "")
    for key in ("pid", "tid"):
        if rng.random() < 0.95:
            members[key] = rng.choice([0, 7, 2**33, -1, "stream 7", "Spans", "42", ""])
    if rng.random() < 0.8:
        args: dict[str, object] = {"Input Dims": nested(rng), "ts": 1, "ph": "M"}
        for key in ARG_KEYS:
            if rng.random() < 0.4:
                args[key] = rng.choice([0, 1, -1, rng.randrange(2**63), None, "12"])
        members["args"] = args
    return members


def random_trace(seed: int) -> bytes:
    """Return a sound trace of up to 80 events, or at times of some thousand."""
    rng = random.Random(seed)
    writer = Writer(rng)
    begin = rng.choice([0, -5_000, 4_372_189_311_950_743, 1_759_276_800_123_456_789])
    count = rng.choice([0, 1, 5, 30, 80]) if seed % 100 else 4_000
    events = [event(rng, writer, begin, i) for i in range(count)]
    if rng.random() < 0.15 and events:
        return (writer.blank() + writer.value(events) + writer.blank()).encode()
    top: dict[str, object] = {"schemaVersion": 1, "traceEvents": events}
    for i in range(rng.randrange(4)):
        top[f"meta{i}"] = {"traceEvents": nested(rng), "x": "\\" * rng.randrange(9)}
    members = list(top.items())
    rng.shuffle(members)
    document = writer.blank() + writer.value(dict(members)) + writer.blank()
    return document.encode()
