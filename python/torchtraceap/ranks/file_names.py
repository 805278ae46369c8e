# SPDX-License-Identifier: BSD-3-Clause
"""file_names.py: what the name of a trace file says of its rank and its recording."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

#: What the names of files end with that may be traces.
ENDINGS = (".json", ".json.gz")


@dataclass(frozen=True)
class FileName:
    """What is known of a file by its path alone."""

    rank: int | None  #: None if the name tells none.
    rank_is_local: bool = False  #: It counts from 0 on every node.
    #: What SGLang and vLLM call a rank: {"TP": 1, "PP": 0}.
    axes: Mapping[str, int] = field(default_factory=dict)
    #: The process that wrote it, where its name tells one: "host_4242".
    process: str = ""
    #: What tells the cycles of one process apart: "1699999999123456789"; "" if nothing.
    stamp: str = ""
    #: The path with * for all of that: files that share it are of one recording.
    shape: str = ""


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
# Folders that stand for a part of the job, and not for a recording.
_OF_A_PART = re.compile(
    r"^(node|host|machine|pod|(?:global[-_]?)?rank|local[-_]?rank)[-_=]?(\d+)$",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(\d+)")


def read_name(path: str, top: str) -> FileName:
    """Read the name of a file, and those of its folders below `top`."""
    relative = os.path.relpath(path, top)
    *folders, name = relative.split(os.sep)
    stem, ending = _without_ending(name)
    rank, local, process, stamp = None, False, "", ""
    axes = {key: int(text) for key, text in _SGLANG_AXIS.findall(stem)}
    shape = _SGLANG_AXIS.sub(lambda m: f"-{m[1]}-*", stem)
    for known in () if axes else _PATTERNS:
        if (match := known.pattern.search(stem)) is None:
            continue
        found = match.groupdict()
        local = known.local
        rank = int(found["rank"][:20]) if found.get("rank") else None
        process = found.get("process") or ""
        stamp = found.get("stamp") or ""
        shape = stem
        for part in ("stamp", "rank", "process"):  # From the back: places stay.
            if found.get(part):
                shape = shape[: match.start(part)] + "*" + shape[match.end(part) :]
        axes = {key.upper(): int(number) for key, number in _VLLM_AXIS.findall(stem)}
        shape = _VLLM_AXIS.sub(r"\1*_", shape)
        break
    for i, folder in reversed(list(enumerate(folders))):
        if (of_a_part := _OF_A_PART.match(folder)) is None:
            continue
        kind, number = of_a_part.groups()
        folders[i] = f"{kind}*"
        if rank is None and not axes and "rank" in kind.lower():
            rank, local = int(number[:20]), kind.lower().startswith("local")
    shape = "/".join([*folders, shape + ending])
    return FileName(rank, local, axes, process, stamp, shape)


def with_star_for(shape: str, rank: int) -> str:
    """Return a shape with * for the last number of the file's name if it is the rank:
    trace_3.json."""
    folders, slash, name = shape.rpartition("/")
    numbers = list(_NUMBER.finditer(name))
    last = numbers[-1] if numbers else None
    if last is None or int(last[0][:20]) != rank:
        return shape
    return folders + slash + name[: last.start()] + "*" + name[last.end() :]


def ranks_of_axes(axes: Sequence[Mapping[str, int]]) -> list[int | None]:
    """Return the ranks of all parts of a job that are called by their axes.

    Tensor parallel ranks are next to each other, stages of a pipeline further apart, as
    SGLang, vLLM and Megatron count them. Data parallel replicas come last, and only
    where the others do not tell the parts apart: within a group of attention they are
    no ranks of their own. Without an axis a part has no rank.
    """
    for order in (("TP",), ("PP", "TP"), ("DP", "PP", "TP"), ("DP", "PP", "EP", "TP")):
        places = [tuple(one.get(axis, 0) for axis in order) for one in axes]
        if len(set(places)) == len(places) and all(axes):
            sizes = [max(numbers) + 1 for numbers in zip(*places, strict=True)]
            return [_place(place, sizes) for place in places]
    return [None] * len(axes)


def axes_text(axes: Mapping[str, int]) -> str:
    """Return what a name calls a rank: "TP 1, PP 0"; "" if nothing."""
    return ", ".join(f"{axis} {number}" for axis, number in axes.items())


def natural(text: str) -> list[tuple[int, str]]:
    """Return a key that sorts iteration_9 before iteration_10."""
    return [
        (int(part[:20]), part) if part.isdigit() and part.isascii() else (-1, part)
        for part in _NUMBER.split(text)
    ]


def _place(place: tuple[int, ...], sizes: list[int]) -> int:
    rank = 0
    for number, size in zip(place, sizes, strict=True):
        rank = rank * size + number
    return rank


def _without_ending(name: str) -> tuple[str, str]:
    for ending in (
        ".pt.trace.json.gz",
        ".pt.trace.json",
        ".trace.json.gz",
        ".trace.json",
    ):
        if name.lower().endswith(ending):
            return name[: -len(ending)], name[-len(ending) :]
    for ending in ENDINGS[::-1]:
        if name.lower().endswith(ending):
            return name[: -len(ending)], name[-len(ending) :]
    return name, ""
