# SPDX-License-Identifier: BSD-3-Clause
"""horovod_text.py: a Horovod timeline for people."""

from __future__ import annotations

from collections.abc import Iterator

from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import align, wrapped
from torchtraceap.base.units import time_text
from torchtraceap.ranks.horovod import HorovodRank, HorovodTensor, HorovodTimeline

_MANY = 12
_RANKS = ("rank", "came last", "held up others", "waited for others")
_TENSORS = (
    "negotiated",
    "rank to rank",
    "operation",
    "transfer",
    "times",
    "last",
    "tensor",
)


def horovod_text(timeline: HorovodTimeline) -> str:
    """Write who was waited for, in the collectives of which tensors."""
    return "\n".join(_lines(timeline))


def _lines(timeline: HorovodTimeline) -> Iterator[str]:
    t = timeline
    waited = sum(tensor.wait_us for tensor in t.tensors)
    yield f"{printable(t.path)}: a Horovod timeline, {time_text(t.span_us)}"
    yield ""
    ranks = f" of {len(t.ranks)} ranks" if t.ranks else ""
    text = f"{t.count:,} negotiations{ranks} over {len(t.tensors):,} tensors."
    late = [rank for rank in t.ranks if rank.last]
    if late:
        worst = max(late, key=lambda rank: rank.held_up_us)
        text += (
            f" Rank {worst.rank} held up the others most: it came last {worst.last:,} "
            f"times of {t.named:,}, by {time_text(worst.held_up_us)} in all."
        )
    elif t.ranks:
        text += " No rank came later than the others by more than half a cycle."
    yield from wrapped(text, "")
    if t.named < t.count:
        yield from wrapped(
            f"{t.count - t.named:,} negotiations name no ranks, as Horovod's response "
            "cache knew their tensors: HOROVOD_CACHE_CAPACITY=0 has all of them named.",
            "",
        )
    if t.open:
        yield from wrapped(
            f"{t.open:,} ranges have no end: the file was cut, or the job ended or "
            "hung there.",
            "",
        )
    if t.ranks:
        yield ""
        yield from align([_RANKS, *map(_rank_row, t.ranks)], right=range(4))
    yield ""
    shown = t.tensors[:_MANY]
    yield from align([_TENSORS, *map(_tensor_row, shown)], right=range(5))
    if t.tensors[_MANY:]:
        yield f"and {len(t.tensors) - _MANY:,} more"
    yield ""
    yield from wrapped(
        f"negotiated: until all ranks were ready, {time_text(waited)} of it from the "
        "first rank to the last where ranks are named. Rank 0 hears from the others "
        "once a cycle (1 ms unless HOROVOD_CYCLE_TIME says otherwise): less than that "
        "is no difference.",
        "",
    )


def _rank_row(rank: HorovodRank) -> tuple[str, ...]:
    return (
        str(rank.rank),
        f"{rank.last:,}×",
        time_text(rank.held_up_us),
        time_text(rank.waited_us),
    )


def _tensor_row(tensor: HorovodTensor) -> tuple[str, ...]:
    last = ", ".join(f"rank {rank} {n}×" for rank, n in list(tensor.last.items())[:2])
    return (
        time_text(tensor.negotiation_us),
        time_text(tensor.wait_us) if tensor.named else "?",
        time_text(tensor.operation_us),
        time_text(tensor.transfer_us),
        f"{tensor.count:,}×",
        last or ("-" if tensor.named else "?"),
        f"{tensor.operation} {tensor.name}",
    )
