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
        self._shown = list(range(len(self._nodes)))
        self._name = report.loaded.name

    def __len__(self) -> int:
        return len(self._shown)

    def drop_least(self) -> None:
        """Leave out the call that takes least of those that led to none."""
        above = {self._nodes[index].parent for index in self._shown}
        leaves = [index for index in self._shown if index not in above]
        self._shown.remove(min(leaves, key=lambda index: self._nodes[index].self_ns))

    def lines(self, names: Names, form: str) -> list[str]:
        """Return a line for each, most time first below what called it: as edges of a
        graph, or as a list that does not say what called what."""
        nodes = [self._nodes[index] for index in self._shown]
        if not nodes:
            return []
        if form == "text":
            nodes.sort(key=lambda node: -node.self_ns)
            lines = [f"{self._id(node, names)} {_figures(node)}" for node in nodes]
            return [_TIMES, *lines]
        lines = []
        for node in nodes:
            above = node.parent
            edge = f"{self._id(self._nodes[above], names)}->" if above >= 0 else ""
            lines.append(f"{edge}{self._id(node, names)} {_figures(node)}")
        return [_TIMES, "digraph {", *lines, "}"]

    def _id(self, node: _core.CallNode, names: Names) -> str:
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


def _ms(ns: int) -> str:
    ms = ns / 1e6
    return three_digits(ms) if ms >= 0.001 else "0"
