# SPDX-License-Identifier: BSD-3-Clause
"""calls.py: which kinds of calls led to which, under short ids.

Ids stand for places in the graph, not for names: two names that are alike, or one that
is new in each step, change no line.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from torchtraceap import _core
from torchtraceap.base.safe_text import printable
from torchtraceap.base.units import three_digits, time_text
from torchtraceap.explain.masking import Mask
from torchtraceap.report_data import ReportData

_NAME_WIDTH = 48
_MOST = 14  # Nodes, besides those of the evidence.
_TIMES = "calls, how often and ms of the host; device: ms of what they launched"


class Names:
    """Short ids of what the trace names: o1 an operator, c1 a runtime call, k1 work of
    the device, a1 a range, f1 a Python frame, u1 a line of the program."""

    def __init__(self, mask: Mask) -> None:
        self.mask = mask
        self._ids: dict[object, tuple[str, str]] = {}
        self._count: dict[str, int] = {}

    def forget(self) -> None:
        """Begin anew, with the first numbers."""
        self._ids.clear()
        self._count.clear()

    def id_of(self, key: object, letter: str, name: str) -> str:
        """Return the id of what a key stands for, which has this name."""
        if key not in self._ids:
            self._count[letter] = number = self._count.get(letter, 0) + 1
            self._ids[key] = f"{letter}{number}", name
        return self._ids[key][0]

    def lines(self) -> list[str]:
        """Return what each id stands for, as quoted data, in the order of first use."""
        return [
            f"{id} = {self.quoted(name, _NAME_WIDTH)}"
            for id, name in self._ids.values()
        ]

    def quoted(self, text: str, width: int) -> str:
        """Return a text as a JSON string, masked, printable, cut in its middle."""
        return json.dumps(printable(self.mask(text), width), ensure_ascii=False)


class Calls:
    """The calls of some windows that tell most, with what called them.

    Args:
        report: Theirs.
        windows: Their indices.
        evidence: Rows of events that stand out, which are among them.
    """

    def __init__(
        self, report: ReportData, windows: Sequence[int], evidence: Sequence[int]
    ) -> None:
        self._nodes = report.core.call_graph(list(windows), _MOST, list(evidence))
        self._above = {i: node.parent for i, node in enumerate(self._nodes)}
        self._evidence = evidence
        self._report = report

    def __len__(self) -> int:
        return len(self._above)

    def drop_least(self) -> None:
        """Leave out the call that tells least: little time of its own, little work that
        hangs on it. What it called hangs on its caller then."""
        least = min(self._above, key=lambda index: _weight(self._nodes[index]))
        above = self._above.pop(least)
        for index, parent in self._above.items():
            if parent == least:
                self._above[index] = above

    def evidence(self, names: Names, most: int) -> list[str]:
        """Return of each kind and place of the events that stand out the longest, the
        longest first, with what called it."""
        duration = self._report.loaded.columns["dur"]
        found = [
            (node.marked, index, node.sort)
            for index, node in enumerate(self._nodes)
            if node.marked is not None
        ]
        # Frames, and what lies outside of the windows, are in no graph.
        inside = {node.sort.kind for node in self._nodes if node.marked is not None}
        sorts = self._report.core.sorts(list(self._evidence))
        others: dict[str, tuple[int, int, _core.SortOfEvent]] = {}
        for row, sort in zip(self._evidence, sorts, strict=True):
            longest = others.get(sort.kind)
            if sort.kind not in inside and (
                longest is None or duration[row] > duration[longest[0]]
            ):
                others[sort.kind] = row, -1, sort
        found += others.values()
        found.sort(key=lambda one: (-int(duration[one[0]]), one[0]))
        out = []
        for row, index, sort in found[:most]:
            key = ("row", sort.kind) if index < 0 else index
            id = names.id_of(key, sort.letter, self._report.loaded.name(row))
            text = f"{id} {sort.kind} {time_text(duration[row] / 1e3)}"
            if index >= 0 and (above := self._nodes[index].parent) >= 0:
                text += (
                    f" in {self._id_of(above, names)} {self._nodes[above].sort.kind}"
                )
            out.append(text)
        return out

    def lines(self, names: Names, form: str) -> list[str]:
        """Return a line for each, most time first below what called it, at once or by
        way of calls that are left out: as edges of a graph; or as a list that does not
        say what called what."""
        if not self._above:
            return []
        if form == "text":
            listed = sorted(self._above, key=lambda i: -self._nodes[i].self_ns)
            lines = [f"{self._id_of(i, names)} {self._figures(i)}" for i in listed]
            return [_TIMES, *lines]
        lines = []
        for index, above in self._above.items():
            edge = f"{self._id_of(above, names)}->" if above >= 0 else ""
            lines.append(f"{edge}{self._id_of(index, names)} {self._figures(index)}")
        return [_TIMES, "digraph {", *lines, "}"]

    def _id_of(self, index: int, names: Names) -> str:
        node = self._nodes[index]
        name = self._report.loaded.name(node.row)
        return names.id_of(index, node.sort.letter, name)

    def _figures(self, index: int) -> str:
        node = self._nodes[index]
        parts = [node.sort.kind]
        if node.units:
            parts.append(f"({node.units})")
        if node.count:
            parts.append(f"{node.count}x {_ms(node.time_ns)}")
        if node.device_ns:
            parts.append(f"device {_ms(node.device_ns)}")
        return " ".join(parts)


def _weight(node: _core.CallNode) -> float:
    # As the core chooses them.
    return node.self_ns + node.device_ns / 8


def _ms(ns: int) -> str:
    ms = ns / 1e6
    return three_digits(ms) if ms >= 0.001 else "0"
