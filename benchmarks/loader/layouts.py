# SPDX-License-Identifier: BSD-3-Clause
"""layouts.py: events as text, in Kineto's own layout or compact, ready to repeat.

A `Layout` writes one event as a template for the % operator, with a %d where a number
repeats, so that a million events cost a few seconds and no memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.loader.steps import Event, Repeating


class Template:
    """Text with gaps, and the numbers that fill them at each repetition."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._gaps: list[Repeating] = []

    def literal(self, text: str) -> None:
        """Add text as it stands."""
        self._text.append(text.replace("%", "%%"))

    def value(self, value: Any, separators: tuple[str, str]) -> None:
        """Add a JSON value."""
        if isinstance(value, Repeating):
            self.literal(value.head)
            self._text.append("%d")
            self.literal(value.tail)
            self._gaps.append(value)
        else:
            self.literal(json.dumps(value, separators=separators, ensure_ascii=False))

    def finish(self) -> None:
        """Join what was added; to be called once."""
        self._joined = "".join(self._text)
        self._base = np.array([gap.base for gap in self._gaps], dtype=np.int64)
        self._step = np.array([gap.step for gap in self._gaps], dtype=np.int64)

    def text(self, repetition: int) -> bytes:
        """Return the text of one repetition."""
        numbers = self._base + repetition * self._step
        return (self._joined % tuple(numbers.tolist())).encode()


class Kineto:
    """As the profiler of torch 2.13 writes: a key a line, args on one line."""

    def begin(self, metadata: dict[str, Any]) -> bytes:
        """Return what precedes the first event."""
        lines = [f"    {json.dumps(k)}: {json.dumps(v)}," for k, v in metadata.items()]
        return "\n".join(["{", *lines, '    "traceEvents": [\n    \n']).encode()

    between = b",\n"
    end = b"\n  ]}"

    def write(self, out: Template, event: Event) -> None:
        """Add one event."""
        out.literal("  {\n")
        for n, (key, value) in enumerate(event.items()):
            comma = ",\n" if n else ""
            if key == "args" and event["ph"] == "X":
                comma = "\n    ,\n"  # a line of its own
            out.literal(f'{comma}    "{key}": ')
            if key == "args":
                out.literal("{\n      ")
                self._args(out, value)
                out.literal("\n    }")
            elif isinstance(value, float):
                out.literal(f"{value:.3f}")
            else:
                out.value(value, (", ", ": "))
        out.literal("\n  }" if "args" in event else "\n    \n  }")

    def _args(self, out: Template, args: dict[str, Any]) -> None:
        for n, (key, value) in enumerate(args.items()):
            comma = ("", ",", ", ")[min(n, 2)]  # no space after the first
            out.literal(f'{comma}"{key}": ')
            out.value(value, (", ", ": "))


class Compact:
    """As json.dump writes with separators=(",", ":"): no white space, one line."""

    def begin(self, metadata: dict[str, Any]) -> bytes:
        """Return what precedes the first event."""
        text = json.dumps(metadata, separators=(",", ":"))
        return (text[:-1] + ',"traceEvents":[').encode()

    between = b","
    end = b"]}"

    def write(self, out: Template, event: Event) -> None:
        """Add one event."""
        for n, (key, value) in enumerate(event.items()):
            out.literal(f'{"," if n else "{"}"{key}":')
            if isinstance(value, dict):
                self.write(out, value)
            elif key in ("ts", "dur") and isinstance(value, float):
                out.literal(f"{value:.3f}")
            else:
                out.value(value, (",", ":"))
        out.literal("}")


Layout = Kineto | Compact


def template_of(events: Iterable[Event], layout: Layout) -> Template:
    """Return the text of events that follow one another."""
    out = Template()
    for n, event in enumerate(events):
        if n:
            out.literal(layout.between.decode())
        layout.write(out, event)
    out.finish()
    return out
