# SPDX-License-Identifier: BSD-3-Clause
"""settling.py: what the loader found stands above what a first look guessed."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

from torchtraceap._core import Note, TraceFacts
from torchtraceap.base.units import time_text
from torchtraceap.ranks.candidates import trace_error
from torchtraceap.ranks.first_look import sensible_rank
from torchtraceap.ranks.recordings import (
    FILE,
    GIVEN,
    RankFile,
    RankFiles,
    Recording,
    refuse_clash,
)

# Ranks of one recording begin within this, whatever their clocks are set to.
_APART_US = 60e6


def settle(files: RankFiles, facts: Sequence[TraceFacts]) -> RankFiles:
    """Put the ranks right by what was loaded: ``facts`` of each of
    ``files.recording.files``, in that order.

    The result is in order of rank, so may be its files. Its notes say what is missing
    and what was recorded at another time. Raises TraceError if two files are of one
    rank, jobs of different sizes are mixed, or a file has no rank and is not alone.
    """
    told = [
        settled(file, fact)
        for file, fact in zip(files.recording.files, facts, strict=True)
    ]
    recording = Recording.of(files.recording.name, told)
    refuse_clash(told)
    if len(told) > 1:
        for file in told:
            if file.rank is None:
                raise _no_rank(file)
    return replace(files, recording=recording, apart=tuple(_apart(told, facts)))


def settled(file: RankFile, facts: TraceFacts) -> RankFile:
    """Put one file's rank right by what was loaded of it."""
    rank, size, odd = sensible_rank(facts.rank, facts.world_size)
    size = file.world_size if size is None else size
    if rank is None or file.rank_from == GIVEN:
        return replace(file, world_size=size, odd_rank=odd)
    return replace(file, rank=rank, rank_from=FILE, world_size=size, odd_rank=odd)


def _no_rank(file: RankFile) -> Exception:
    return trace_error(
        file.path,
        "no_rank",
        "neither its distributedInfo nor its name tells its rank",
        "Give the ranks, analyze({0: 'first.json', 1: 'second.json'}), or call the "
        "files rank0.json, rank1.json; torch.profiler writes the rank if "
        "torch.distributed is initialized before it starts",
    )


def _apart(files: Sequence[RankFile], facts: Sequence[TraceFacts]) -> list[Note]:
    """Say which files begin so far from the others that they share no time."""
    starts = [file.start_us for file in files if file.start_us is not None]
    if len(starts) < 2:
        return []
    usual = statistics.median_low(starts)
    longest = max(fact.span_us for fact in facts)
    far = [
        file
        for file in files
        if file.start_us is not None
        and abs(file.start_us - usual) > max(longest, _APART_US)
    ]
    if not far:
        return []
    away = max(abs((file.start_us or 0) - usual) for file in far)
    more = f" and {len(far) - 1} more" if far[1:] else ""
    text = (
        f"{far[0].path}{more}: recorded {time_text(away)} before or after the others, "
        "as far as the clocks tell. If it is of another run, leave it out."
    )
    return [Note("other_time", len(far), text)]
