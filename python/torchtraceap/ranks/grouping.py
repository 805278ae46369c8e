# SPDX-License-Identifier: BSD-3-Clause
"""grouping.py: which files of a folder are of one recording."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence

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
        for name, of_one_size in _by_world_size(shape, alike):
            cycles = list(_cycles(of_one_size))
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


def _by_world_size(
    shape: str, files: list[Candidate]
) -> Iterable[tuple[str, list[Candidate]]]:
    sizes: dict[int | None, list[Candidate]] = defaultdict(list)
    for file in files:
        sizes[file.first.world_size].append(file)
    if len(sizes.keys() - {None}) <= 1:
        return [(shape, files)]
    return [
        (f"{shape} of {size} ranks" if size else shape, some)
        for size, some in sizes.items()
    ]


def _cycles(files: list[Candidate]) -> Iterable[list[Candidate]]:
    """Yield the cycles of stamped files: one ends where a rank comes again."""
    if not all(file.name.stamp for file in files):
        yield files
        return
    by_start = all(file.first.start_us is not None for file in files)
    order = sorted(
        files,
        key=lambda f: (f.first.start_us if by_start else 0, natural(f.name.stamp)),
    )
    cycle: dict[Hashable, Candidate] = {}
    for file in order:
        owner = _owner(file)
        if owner in cycle:
            yield list(cycle.values())
            cycle = {}
        cycle[owner] = file
    yield list(cycle.values())


def _owner(file: Candidate) -> Hashable:
    if file.first.rank is not None:
        return file.first.rank
    name = file.name
    return name.rank if name.rank is not None else (name.process, *name.axes.items())


def _alone_together(groups: Groups) -> Groups:
    """Join recordings of one file each, in one folder, whose files tell that they are
    different ranks of a job of one size: a.json and b.json."""
    alone: dict[tuple[str, int], list[str]] = defaultdict(list)
    for name, files in groups.items():
        size = files[0].first.world_size
        if len(files) == 1 and size is not None and files[0].first.rank is not None:
            alone[os.path.dirname(files[0].path), size].append(name)
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
