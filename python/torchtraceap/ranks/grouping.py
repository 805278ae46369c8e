# SPDX-License-Identifier: BSD-3-Clause
"""grouping.py: which files of a folder are of one recording."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence

from torchtraceap.ranks.candidates import Candidate
from torchtraceap.ranks.file_names import natural, with_star_for

Groups = dict[str, tuple[Candidate, ...]]


def in_recordings(files: Sequence[Candidate], top: str) -> Groups:
    """Sort files into recordings, by a name for each.

    Files are of one recording if their paths differ in nothing but what a rank makes
    differ, and if none tells another world size. Cycles of one profiler, which differ
    by a time stamp, are told apart by their order in time.
    """
    by_shape: dict[str, list[Candidate]] = defaultdict(list)
    for file in files:
        by_shape[_shape(file, top)].append(file)
    groups: Groups = {}
    for shape, alike in by_shape.items():
        for name, of_one_job in _jobs(shape, alike):
            cycles = _cycles(of_one_job)
            for i, cycle in enumerate(cycles, 1):
                groups[f"{name} #{i}" if cycles[1:] else name] = tuple(cycle)
    return _alone_together(groups)


def _shape(file: Candidate, top: str) -> str:
    name = file.name
    if name.rank is None and not name.axes and not name.process:
        rank = file.first.rank
        return name.shape if rank is None else with_star_for(name.shape, rank)
    # Without a rank these are programs of one process, each with a log of its own.
    if name.process and file.first.rank is None and file.first.world_size is None:
        return os.path.relpath(file.path, top)
    return name.shape


def _jobs(shape: str, files: list[Candidate]) -> Iterator[tuple[str, list[Candidate]]]:
    """Yield the files of each job: of each world size, and of each replica if those
    count their ranks from 0."""
    sizes: dict[int | None, list[Candidate]] = defaultdict(list)
    for file in files:
        sizes[file.first.world_size].append(file)
    if len(sizes.keys() - {None}) <= 1:
        sizes = {None: files}
    for size, of_size in sizes.items():
        name = f"{shape} of {size} ranks" if size else shape
        replicas: dict[int | None, list[Candidate]] = defaultdict(list)
        for file in of_size:
            replicas[file.name.axes.get("DP")].append(file)
        owners = [
            owner for each in replicas.values() for owner in set(map(_owner, each))
        ]
        if len(set(owners)) == len(owners):
            yield name, of_size
            continue
        for replica, of_replica in replicas.items():
            yield f"{name} of DP {replica}", of_replica


def _cycles(files: list[Candidate]) -> list[list[Candidate]]:
    """Sort files by cycle: by stamps that ranks share, else in order of time."""
    stamps: dict[str, list[Candidate]] = defaultdict(list)
    for file in files:
        stamps[file.name.stamp].append(file)
    if "" in stamps:
        return [files]
    if len(stamps) < len(files):
        return [stamps[stamp] for stamp in sorted(stamps, key=natural)]
    starts = [file.first.start_us for file in files]
    if any(start is None for start in starts):
        order = sorted(files, key=lambda f: natural(f.name.stamp))
        return _turns(order, [0.0] * len(files))
    order = sorted(files, key=lambda f: (_start(f), natural(f.name.stamp)))
    return _turns(order, [_start(file) for file in order])


def _turns(files: list[Candidate], starts: list[float]) -> list[list[Candidate]]:
    """Begin a cycle where a rank comes again, and at the latest after half the time
    from one cycle to the next: a rank may lack a file."""
    before: dict[Hashable, float] = {}
    periods = []
    for file, start in zip(files, starts, strict=True):
        owner = _owner(file)
        if owner in before:
            periods.append(start - before[owner])
        before[owner] = start
    longest = min(periods, default=0.0) / 2 or float("inf")
    cycles: list[list[Candidate]] = []
    first, owners = 0.0, set[Hashable]()
    for file, start in zip(files, starts, strict=True):
        owner = _owner(file)
        if not cycles or owner in owners or start - first > longest:
            cycles.append([])
            first, owners = start, set()
        cycles[-1].append(file)
        owners.add(owner)
    return cycles


def _start(file: Candidate) -> float:
    return file.first.start_us or 0.0


def _owner(file: Candidate) -> Hashable:
    if file.first.rank is not None:
        return file.first.rank
    name = file.name
    if name.rank is not None:
        return name.rank
    return (name.process, *((a, n) for a, n in name.axes.items() if a != "DP"))


def _alone_together(groups: Groups) -> Groups:
    """Join recordings of one file each, in one folder, whose files tell that they are
    different ranks of a job of one size: a.json and b.json."""
    alone: dict[tuple[str, int | None], list[str]] = defaultdict(list)
    for name, files in groups.items():
        file, size = files[0], files[0].first.world_size
        told = size is not None and file.first.rank is not None
        if told and len(files) == 1 and not file.name.stamp:
            alone[os.path.dirname(file.path), size].append(name)
    for names in alone.values():
        together = tuple(groups[name][0] for name in names)
        distinct = {file.first.rank for file in together}
        if len(distinct) < len(together) or not names[1:]:
            continue
        for name in names:
            del groups[name]
        folder = os.path.dirname(names[0])
        groups[os.path.join(folder, "*") if folder else "*"] = together
    return groups
