# SPDX-License-Identifier: BSD-3-Clause
"""file_names.py: the rank and the recording in the name of a trace file."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from torchtraceap.data.source import ENDINGS


@dataclass(frozen=True)
class FileName:
    """What is known of a file by its path alone."""

    rank: int | None  #: None if the name tells none.
    rank_is_local: bool = False  #: It counts from 0 on every node.
    #: What SGLang and vLLM call a rank: {"TP": 1, "PP": 0}.
    axes: Mapping[str, int] = field(default_factory=dict)
    #: The process that wrote it, where its name tells one: "host_4242".
    process: str = ""
    #: The path in pieces: what varies ("rank", "process", "stamp", an axis; "" for
    #: what does not), and its text.
    pieces: tuple[tuple[str, str], ...] = ()

    def pattern(self, fixed: Iterable[str] = ()) -> str:
        """Return the path as a glob, with * for what varies and is not ``fixed``."""
        return "".join(
            "*" if kind and kind not in fixed else glob.escape(text)
            for kind, text in self.pieces
        )


@dataclass(frozen=True)
class _Pattern:
    """One way to name files; matched against the name without folder and ending."""

    pattern: re.Pattern[str]
    local: bool = False


def _named(text: str, *, local: bool = False) -> _Pattern:
    return _Pattern(re.compile(text, re.IGNORECASE), local)


# The first that matches counts. `rank` is the rank, `process` and `stamp` as above.
_PATTERNS = (
    # 0_trace (Lightning's own export).
    _named(r"^(?P<rank>\d+)_trace$", local=True),
    _named(r"local[-_.]?rank[-_.= ]?(?P<rank>\d+)", local=True),
    # rank3_trace (torchtitan), rank-003 (Megatron), rank-0.Apr_03_15_12 (HTA),
    # dp0_pp0_tp0_dcp0_ep0_rank0.<ns> (vLLM), trace_rank_3, global_rank3.
    _named(r"(?:^|[^a-z]|global)rank[-_.= ]?(?P<rank>\d+)(?:\.(?P<stamp>.*\d.*))?"),
    # profile_3 (Accelerate).
    _named(r"^profile_(?P<rank>\d+)$"),
    # worker3 (the tutorials of torch.profiler).
    _named(r"^worker[-_]?(?P<rank>\d+)(?:\.(?P<stamp>\d{13,}))?$"),
    # host_pid.<ns> (tensorboard_trace_handler): a process, but no rank.
    _named(r"^(?P<process>.+_\d+)\.(?P<stamp>\d{13,})$"),
    # fit-name-0.<ns> (Lightning with a folder).
    _named(r"-(?P<rank>\d+)(?:\[[^]]*\])?\.(?P<stamp>\d{13,})$", local=True),
)
# 1699999999.12-TP-1-DP-0-DECODE (SGLang).
_SGLANG_AXIS = re.compile(r"-(TP|DP|PP|EP)-(\d+)(?=-|$)")
# dp0_pp0_tp1_dcp0_ep0_ (vLLM), before a rank.
_VLLM_AXIS = re.compile(r"(?:(?<=_)|^)(p?d?cp|dp|pp|tp|ep)(\d+)_")
# Folders that mean a part of the job, and not a recording.
_OF_A_PART = re.compile(
    r"(?:^|(?<=[/\\]))"
    r"(node|host|machine|pod|(?:global[-_]?)?rank|local[-_]?rank)[-_=]?(\d+)(?=[/\\])",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(\d+)")


def read_name(path: str, top: str, told: int | None = None) -> FileName:
    """Read the name of a file, and those of its folders below `top`.

    ``told`` is the rank that the file itself tells: a last number that is the same is
    the rank in the name, as of trace_3.json.
    """
    relative = os.path.relpath(path, top)
    stem = _without_ending(relative)
    begin = stem.rfind(os.sep) + 1
    name = stem[begin:]
    rank, local, process = None, False, ""
    axes = {}
    spans = []
    for axis in _SGLANG_AXIS.finditer(name):
        axes[axis[1]] = int(axis[2])
        spans.append((*axis.span(2), axis[1]))
    for known in () if axes else _PATTERNS:
        if (match := known.pattern.search(name)) is None:
            continue
        found = {kind: text for kind, text in match.groupdict().items() if text}
        local = known.local
        rank = int(found["rank"][:20]) if "rank" in found else None
        process = found.get("process", "")
        spans += [(*match.span(kind), kind) for kind in found]
        for axis in _VLLM_AXIS.finditer(name):
            axes[axis[1].upper()] = int(axis[2])
            spans.append((*axis.span(2), axis[1].upper()))
        break
    if rank is None and not axes and not process and told is not None:
        last = next(reversed(list(_NUMBER.finditer(name))), None)
        if last is not None and int(last[0][:20]) == told:
            spans.append((*last.span(), "rank"))
    spans = [(first + begin, end + begin, kind) for first, end, kind in spans]
    for part in reversed(list(_OF_A_PART.finditer(stem, 0, begin))):
        kind = part[1].lower()
        spans.append((*part.span(2), "part"))
        if rank is None and not axes and "rank" in kind:
            rank, local = int(part[2][:20]), kind.startswith("local")
    return FileName(rank, local, axes, process, _pieces(relative, sorted(spans)))


def _pieces(
    text: str, spans: Iterable[tuple[int, int, str]]
) -> tuple[tuple[str, str], ...]:
    pieces = []
    at = 0
    for begin, end, kind in spans:
        pieces += [("", text[at:begin]), (kind, text[begin:end])]
        at = end
    return (*pieces, ("", text[at:]))


def ranks_of_axes(axes: Sequence[Mapping[str, int]]) -> list[int | None]:
    """Return the ranks of all parts of a job that are called by their axes.

    Tensor parallel ranks are next to each other, stages of a pipeline further apart, as
    SGLang, vLLM and Megatron count them. Data parallel replicas come last, and only
    where the others do not tell the parts apart: within a group of attention they are
    not ranks of their own. Without an axis a part has no rank.
    """
    for order in (("TP",), ("PP", "TP"), ("DP", "PP", "TP"), ("DP", "PP", "EP", "TP")):
        places = [tuple(one.get(axis, 0) for axis in order) for one in axes]
        if len(set(places)) == len(places) and all(axes):
            sizes = [max(numbers) + 1 for numbers in zip(*places, strict=True)]
            return [_place(place, sizes) for place in places]
    return [None] * len(axes)


def _place(place: tuple[int, ...], sizes: list[int]) -> int:
    rank = 0
    for number, size in zip(place, sizes, strict=True):
        rank = rank * size + number
    return rank


def _without_ending(name: str) -> str:
    for more in (".pt.trace", ".trace", ""):
        for ending in ENDINGS:
            if name.lower().endswith(more + ending):
                return name[: -len(more + ending)]
    return name
