# SPDX-License-Identifier: BSD-3-Clause
"""calls.py: which calls led to which, under short ids that stand for their names."""

from __future__ import annotations

import json
from collections.abc import Sequence

from torchtraceap import _core
from torchtraceap.base.safe_text import printable
from torchtraceap.base.units import three_digits
from torchtraceap.explain.masking import Mask
from torchtraceap.report_data import ReportData

_NAME_WIDTH = 48
_MOST = (
    14  # Nodes that are counted for their own time; what called them comes with them.
)
_TIMES = "calls, how often and ms of the host; device: ms of what they launched"
#: Of kinds (``Features.kinds()``): the letter of the ids; an "o" is an operator.
_LETTERS = {
    **dict.fromkeys(("frame",), "f"),
    **dict.fromkeys(("range", "loader", "collect", "step"), "a"),
    **dict.fromkeys(
        ("launch", "graph_launch", "wait", "copy_call", "memory", "event"), "c"
    ),
    **dict.fromkeys(("module", "call"), "c"),
    **dict.fromkeys(("matrix_kernel", "elementwise_kernel", "reduce_kernel"), "k"),
    **dict.fromkeys(("kernel", "communication", "memset"), "k"),
    **dict.fromkeys(("to_device", "to_host", "in_device"), "k"),
}


class Names:
    """Short ids for names that the trace chose: o1 an operator, c1 a runtime call, k1
    work of the device, a1 a range, f1 a Python frame, u1 a line of the program."""

    def __init__(self, mask: Mask) -> None:
        self.mask = mask
        self._ids: dict[tuple[str, str], str] = {}
        self._count: dict[str, int] = {}

    def forget(self) -> None:
        """Begin anew, with the first numbers."""
        self._ids.clear()
        self._count.clear()

    def id_of(self, kind: str, name: str) -> str:
        """Return the id of a name, the same for the same name and letter."""
        letter = _LETTERS.get(kind, "u" if kind == "line" else "o")
        if (letter, name) not in self._ids:
            self._count[letter] = number = self._count.get(letter, 0) + 1
            self._ids[letter, name] = f"{letter}{number}"
        return self._ids[letter, name]

    def lines(self) -> list[str]:
        """Return what each id stands for, as quoted data, in the order of first use."""
        return [
            f"{id} = {self.quoted(name, _NAME_WIDTH)}"
            for (_, name), id in self._ids.items()
        ]

    def quoted(self, text: str, width: int) -> str:
        """Return a text as a JSON string, masked, printable, cut in its middle."""
        return json.dumps(printable(self.mask(text), width), ensure_ascii=False)


class Calls:
    """The costliest calls of some windows, with what called them."""

    def __init__(self, report: ReportData, windows: Sequence[int]) -> None:
        self._nodes = report.core.call_graph(list(windows), _MOST)
        self._above = {i: node.parent for i, node in enumerate(self._nodes)}
        self._name = report.loaded.name

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

    def caller_of(self, name: str) -> _core.CallNode | None:
        """Return what called the costliest of the calls of a name; None: nothing did,
        or they are too cheap to be here."""
        called = [node for node in self._nodes if self._name(node.row) == name]
        longest = max(called, key=lambda node: node.self_ns, default=None)
        if longest is None or longest.parent < 0:
            return None
        return self._nodes[longest.parent]

    def lines(self, names: Names, form: str) -> list[str]:
        """Return a line for each, most time first below what called it, at once or by
        way of calls that are left out: as edges of a graph; or as a list that does not
        say what called what."""
        nodes = {index: self._nodes[index] for index in self._above}
        if not nodes:
            return []
        if form == "text":
            listed = sorted(nodes.values(), key=lambda node: -node.self_ns)
            lines = [f"{self.id_of(node, names)} {_figures(node)}" for node in listed]
            return [_TIMES, *lines]
        lines = []
        for index, node in nodes.items():
            above = nodes.get(self._above[index])
            edge = f"{self.id_of(above, names)}->" if above else ""
            lines.append(f"{edge}{self.id_of(node, names)} {_figures(node)}")
        return [_TIMES, "digraph {", *lines, "}"]

    def id_of(self, node: _core.CallNode, names: Names) -> str:
        """Return the id of a call's name."""
        return names.id_of(node.kind, self._name(node.row))


def _figures(node: _core.CallNode) -> str:
    parts = [node.kind]
    if node.units:
        parts.append(f"({node.units})")
    if node.count:
        parts.append(f"{node.count}x {_ms(node.time_ns)}")
    if node.device_ns:
        parts.append(f"device {_ms(node.device_ns)}")
    return " ".join(parts)


def _weight(node: _core.CallNode) -> float:
    return node.self_ns + node.device_ns / 8


def _ms(ns: int) -> str:
    ms = ns / 1e6
    return three_digits(ms) if ms >= 0.001 else "0"
