# SPDX-License-Identifier: BSD-3-Clause
"""test_rank_files.py: from a folder, a glob or a list to the files of one job.

Above 400 lines, for all that a user may name is one question, with one set of samples.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap import TraceError
from torchtraceap.data.source import RankPaths, source_of
from torchtraceap.ranks.rank_files import find_ranks
from torchtraceap.ranks.recordings import RankFiles, ranks_text, settle

from .rank_folder import HOUR_US, put, rank_trace

Put = Callable[..., Path]


@pytest.fixture
def runs(tmp_path: Path) -> Put:
    """Writes a trace below the folder that tests ask for, and returns its path."""

    def add(name: str, *args: Any, **options: Any) -> Path:
        return put(tmp_path / name, rank_trace(*args, **options))

    return add


def ranks_in(source: object) -> RankFiles:
    found = source_of(source)
    assert isinstance(found, RankPaths)
    return find_ranks(found)


def ranks_of(found: RankFiles) -> list[tuple[int | None, str]]:
    return [(f.rank, os.path.basename(f.path)) for f in found.recording.files]


def kinds_of(found: RankFiles) -> list[str]:
    return [note.kind for note in found.notes]


NAMES = {
    "torchtitan": (
        ["iteration_10/rank0_trace.json.gz", "iteration_10/rank10_trace.json.gz"],
        [0, 10],
        "iteration_10/rank*_trace.json.gz",
    ),
    "Megatron": (
        ["pytorch_profile/rank-0.json.gz", "pytorch_profile/rank-1.json.gz"],
        [0, 1],
        "pytorch_profile/rank-*.json.gz",
    ),
    "vLLM": (
        [
            "dp0_pp0_tp0_dcp0_ep0_rank0.1751111111111111111.pt.trace.json.gz",
            "dp0_pp0_tp1_dcp0_ep1_rank1.1751111111111122222.pt.trace.json.gz",
        ],
        [0, 1],
        "dp*_pp*_tp*_dcp*_ep*_rank*.*.pt.trace.json.gz",
    ),
    "SGLang": (
        [
            "1699.5-TP-0-PP-0-DECODE.trace.json.gz",
            "1699.5-TP-1-PP-0-DECODE.trace.json.gz",
            "1699.5-TP-0-PP-1-DECODE.trace.json.gz",
            "1699.5-TP-1-PP-1-DECODE.trace.json.gz",
        ],
        [0, 1, 2, 3],
        "1699.5-TP-*-PP-*-DECODE.trace.json.gz",
    ),
    "Accelerate": (["profile_0.json", "profile_3.json"], [0, 3], "profile_*.json"),
    "Lightning": (["0_trace.json", "1_trace.json"], [0, 1], "*_trace.json"),
    "HTA": (
        ["rank-0.Apr_03_15_12_41.json.gz", "rank-1.Apr_03_15_12_43.json.gz"],
        [0, 1],
        "rank-*.*.json.gz",
    ),
    "any": (["flex_rank_0.json", "flex_rank_3.json"], [0, 3], "flex_rank_*.json"),
    "folders": (["rank0/trace.json", "rank1/trace.json"], [0, 1], "rank*/trace.json"),
}


@pytest.mark.parametrize("writer", NAMES)
def test_a_rank_is_read_from_the_names_that_trainers_give(
    writer: str, runs: Put, tmp_path: Path
) -> None:
    names, ranks, recording = NAMES[writer]
    for name in reversed(names):
        runs(name)
    found = ranks_in(tmp_path)
    assert [file.rank for file in found.recording.files] == ranks
    assert [file.path for file in found.recording.files] == [
        str(tmp_path / name) for name in names
    ]
    assert found.recording.name == recording
    local = writer == "Lightning"
    assert f"rank_by_{'local_' if local else ''}name" in kinds_of(found)


@pytest.mark.parametrize("tail", [False, True])
@pytest.mark.parametrize("ending", [".json", ".json.gz"])
def test_what_the_file_tells_stands_above_its_name(
    tail: bool, ending: str, runs: Put, tmp_path: Path
) -> None:
    runs(f"rank0{ending}", 1, 2, tail=tail)
    runs(f"rank1{ending}", 0, 2, tail=tail)
    found = ranks_in(tmp_path)
    assert ranks_of(found) == [(0, f"rank1{ending}"), (1, f"rank0{ending}")]
    assert found.recording.complete
    assert kinds_of(found) == ["rank_name_differs"] * 2


def test_files_of_any_name_are_one_job_by_what_they_tell(
    runs: Put, tmp_path: Path
) -> None:
    runs("a.json", 1, 2)
    runs("b.json", 0, 2)
    assert ranks_of(ranks_in(tmp_path)) == [(0, "b.json"), (1, "a.json")]
    for rank in range(3):
        runs(f"x/trace_{rank}.json", rank, 3)
    assert ranks_in(tmp_path / "x").recording.name == "trace_*.json"


def test_a_long_header_is_read_and_no_more(tmp_path: Path) -> None:
    def header(numbers: int) -> bytes:
        groups = b'"distributedInfo": {"rank": 3, "world_size": 8, "pg_config": ['
        return b'{"schemaVersion": 1, ' + groups + b"0, " * numbers + b"0]}, "

    put(tmp_path / "a.json", header(100_000) + rank_trace()[1:])
    found = ranks_in(tmp_path)
    assert (found.recording.files[0].rank, found.recording.world_size) == (3, 8)
    put(tmp_path / "a.json.gz", header(500_000) + rank_trace()[1:])
    put(tmp_path / "b.json", "\ufeff[{".encode() + b'"args": {}, "ph": "X"}]')
    found = ranks_in([tmp_path / "a.json.gz", tmp_path / "b.json"])
    assert [file.rank for file in found.recording.files] == [3, None]


@pytest.mark.parametrize("rank", [-1, 8, "x", 2.5, True, 2**70, "7" * 5000])
def test_a_rank_that_cannot_be_is_said_and_not_used(
    rank: object, runs: Put, tmp_path: Path
) -> None:
    runs("rank2.json", rank, 8)
    found = ranks_in(tmp_path)
    assert found.recording.files[0].rank == 2
    assert "odd_rank" in kinds_of(found)


def test_a_world_size_that_cannot_be_is_said_and_not_used(
    runs: Put, tmp_path: Path
) -> None:
    for rank in range(2):
        runs(f"rank{rank}.json", rank, 2**24 - 1)
    found = ranks_in(tmp_path)
    assert (found.recording.world_size, found.recording.missing) == (None, ())
    assert kinds_of(found).count("odd_rank") == 2
    job = torchtraceap.analyze([tmp_path / "rank0.json", tmp_path / "rank1.json"])
    assert len(job) == 2
    settled = settle(found, [report.trace for report in job])
    assert kinds_of(settled).count("odd_rank") == 2


def test_two_files_of_one_rank_are_an_error_that_names_both(
    runs: Put, tmp_path: Path
) -> None:
    paths = [runs("a/x.json", 1, 2), runs("b/x.json", 1, 2)]
    with pytest.raises(TraceError, match="rank 1, and so is") as caught:
        ranks_in(paths)
    assert caught.value.kind == "rank_clash"
    assert all(str(path) in str(caught.value) for path in paths)
    locals_ = [runs("node0/0_trace.json"), runs("node1/0_trace.json")]
    with pytest.raises(TraceError, match="count ranks from 0 on every node"):
        ranks_in(tmp_path / "*" / "0_trace.json")
    given = ranks_in({0: locals_[0], 1: locals_[1]})
    assert [f.rank_from for f in given.recording.files] == ["given", "given"]
    assert given.recording.complete
    with pytest.raises(TraceError, match="given as rank 0 and as rank 1"):
        ranks_in({0: locals_[0], 1: locals_[0]})
    with pytest.raises(ValueError, match="a rank in source"):
        ranks_in({-1: locals_[0]})


# The files of a folder, without .json; the number of ranks that those with a rank in
# their names tell, if any; and what the folder may be split into: nothing where names
# tell no recordings apart.
CHOICES: dict[str, tuple[str, int, list[str]]] = {
    "torchtitan": (
        "iteration_9/rank0_trace iteration_9/rank1_trace iteration_10/rank0_trace "
        "iteration_10/rank1_trace iteration_20/rank1_trace",
        2,
        ["iteration_9/rank*_trace.json' (2 files)",
         "iteration_10/rank*_trace.json' (2 files)",
         "iteration_20/rank1_trace.json' (1 file)"],
    ),
    "SGLang": (
        "17-TP-0-EXTEND.trace 17-TP-0-DECODE.trace 17-TP-1-EXTEND.trace "
        "17-TP-1-DECODE.trace",
        0,
        ["17-TP-*-DECODE.trace.json' (2 files)", "17-TP-*-EXTEND.trace.json'"],
    ),
    "stamps that ranks share": (
        "rank0.00.pt.trace rank0.10.pt.trace rank1.00.pt.trace rank1.10.pt.trace",
        2,
        ["rank*.00.pt.trace.json' (2 files)", "rank*.10.pt.trace.json' (2 files)"],
    ),
    "stamps of each rank": (
        "rank0.1699999999000000000.pt.trace rank1.1699999999000000001.pt.trace "
        "rank0.1699999999000000010.pt.trace rank1.1699999999000000011.pt.trace",
        2,
        [],
    ),
    "programs of one process": (
        "host_70.1699999999000000000.pt.trace host_71.1699999999000000000.pt.trace",
        0,
        ["host_70.1699999999000000000.pt.trace.json' (1 file)", "host_71."],
    ),
    "replicas": (
        "dp0_pp0_tp0_dcp0_ep0_rank0.170.pt.trace "
        "dp0_pp0_tp1_dcp0_ep0_rank1.170.pt.trace "
        "dp1_pp0_tp0_dcp0_ep0_rank0.171.pt.trace "
        "dp1_pp0_tp1_dcp0_ep0_rank1.171.pt.trace",
        0,
        ["dp0_pp*_tp*_dcp*_ep*_rank*.*.pt.trace.json' (2 files)", "dp1_pp*"],
    ),
    "jobs of two sizes": (
        "size2_rank0 size2_rank1 size4_rank0 size4_rank1 size4_rank2 size4_rank3",
        2,
        ["size2_rank*.json' (2 files)", "size4_rank*.json' (4 files)"],
    ),
    "others that are not ranks": (
        "rank0 rank1 step_5", 2, ["rank*.json' (2 files)", "step_5.json' (1 file)"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CHOICES)
@pytest.mark.parametrize("given", ["folder", "glob"])
def test_several_recordings_are_refused_with_what_to_pass_for_each(
    case: str, given: str, runs: Put, tmp_path: Path
) -> None:
    names, told, choice = CHOICES[case]
    for name in names.split():
        rank, size = (re.search(rf"{what}(\d+)", name) for what in ("rank", "size"))
        tells = (int(rank[1]), int(size[1]) if size else told) if told and rank else ()
        runs(f"[a]/{name}.json", *tells)
    folder = tmp_path / "[a]"
    source = folder if given == "folder" else tmp_path / "?a?" / "**" / "*.json"
    with pytest.raises(TraceError) as caught:
        torchtraceap.analyze(source)
    assert caught.value.kind in ("rank_clash", "other_job", "no_rank")
    said = str(caught.value)
    assert ("If these are several recordings, pass one of them" in said) == bool(choice)
    at = 0
    for part in choice:
        assert (at := said.find(part, at)) > 0, (part, said)


def test_what_is_named_for_a_recording_is_that_recording(runs: Put, here: Path) -> None:
    for iteration in range(12):
        for rank in range(2):
            runs(f"runs/iteration_{iteration}/rank{rank}_trace.json", rank, 2)
    with pytest.raises(TraceError) as caught:
        ranks_in("runs")
    assert caught.value.hint.count("(2 files)") == 8
    assert caught.value.hint.endswith("(2 files), 4 more.")
    _, named, _ = caught.value.hint.split("'", 2)
    found = ranks_in(named)
    assert named == "runs/iteration_0/rank*_trace.json" and found.recording.complete
    assert [file.rank for file in found.recording.files] == [0, 1]


def test_ranks_of_replicas_that_go_on_are_one_job(runs: Put, tmp_path: Path) -> None:
    for dp in range(2):
        for tp in range(2):
            name = f"dp{dp}_pp0_tp{tp}_dcp0_ep0_rank{2 * dp + tp}.17{dp}{tp}"
            runs(f"{name}.pt.trace.json")
    found = ranks_in(tmp_path)
    assert [file.rank for file in found.recording.files] == [0, 1, 2, 3]


def test_what_was_merged_of_files_beside_it_is_left_out(
    runs: Put, tmp_path: Path
) -> None:
    for rank in range(2):
        runs(f"17-TP-{rank}-DECODE.trace.json")
    runs("merged-17.trace.json")
    found = ranks_in(tmp_path)
    assert found.recording.name == "17-TP-*-DECODE.trace.json"
    assert [one.why for one in found.skipped] == ["it is merged of the others"]


def test_a_list_of_jobs_of_different_sizes_is_refused(runs: Put) -> None:
    paths = [runs("x/rank0.json", 0, 2), runs("x/rank1.json", 1, 4)]
    with pytest.raises(TraceError, match=r"job of 4 ranks, and .* of one of 2"):
        ranks_in(paths)


def test_missing_ranks_are_named(runs: Put, tmp_path: Path) -> None:
    for rank in (0, 1, 2, 4, 5, 7):
        runs(f"rank{rank}.json", rank, 8)
    found = ranks_in(tmp_path)
    assert found.recording.missing == (3, 6)
    (note,) = found.notes
    assert note.detail.startswith("2 of 8 ranks have no file: 3 and 6.")
    assert ranks_text(range(2, 128)) == "2 to 127"
    assert ranks_text([0, 1, 5]) == "0, 1 and 5"


def test_a_folder_with_one_trace_is_that_trace(runs: Put, tmp_path: Path) -> None:
    path = runs("sub/trace.json")
    put(tmp_path / "report.json", b'{"findings": []}')
    found = ranks_in(str(tmp_path))
    assert [file.path for file in found.recording.files] == [str(path)]
    assert kinds_of(found) == ["skipped_files"]


AND_OTHERS = {"a": rank_trace(), "b": b"{}"}


def only_others(folder: Path) -> Path:
    put(folder / "a.json", b"{}")
    put(folder / "b.json", b"")
    put(folder / "c.json.gz", b"x").write_bytes(b"\x1f\x8bdamaged")
    return folder


def circle(folder: Path) -> Path:
    (folder / "again").symlink_to(folder)
    (folder / "a.json").symlink_to(folder / "b.json")
    (folder / "b.json").symlink_to(folder / "a.json")
    return folder


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda folder: folder, "no_traces", "no .json, .json.gz, .pftrace or"),
        (only_others, "no_traces", "none of 3 files is a trace: .*it is empty"),
        (circle, "no_traces", "levels of symbolic links"),
        (lambda folder: folder / "*.json", "no_match", "no file matches this pattern"),
        (
            lambda folder: [
                put(folder / f"{n}.json", t) for n, t in AND_OTHERS.items()
            ],
            "not_a_trace",
            "b.json: it has no list of events",
        ),
        (
            lambda folder: [folder / "a\0.json"],
            "not_a_trace",
            "this is not a file name",
        ),
    ],
)
def test_bad_input_is_told_with_what_where_and_what_to_do(
    make: Callable[[Path], Any], kind: str, text: str, tmp_path: Path
) -> None:
    with pytest.raises(TraceError, match=text) as caught:
        ranks_in(make(tmp_path))
    assert caught.value.kind == kind
    assert caught.value.hint in str(caught.value)
    assert caught.value.path


def test_a_file_that_is_named_twice_is_no_job(runs: Put) -> None:
    path = runs("rank0.json", 0, 2)
    with pytest.raises(TraceError, match="it is named twice"):
        ranks_in([path, path])


def facts_of(paths: Sequence[str]) -> list[torchtraceap.TraceFacts]:
    return [torchtraceap.analyze(path).trace for path in paths]


def test_the_loader_has_the_last_word(runs: Put, tmp_path: Path) -> None:
    # At the end of a gzip file, behind more than is looked at.
    for rank in range(2):
        data = rank_trace(1 - rank, 3, tail=True, start_us=1e9)
        filler = b'"traceEvents": [' + b'{"ph": "M", "name": "x"}, ' * 5000
        put(
            tmp_path / f"rank{rank}.json.gz",
            data.replace(b'"traceEvents": [', filler),
        )
    found = ranks_in(tmp_path)
    assert "rank_by_name" in kinds_of(found)
    facts = facts_of([file.path for file in found.recording.files])
    settled = settle(found, facts)
    assert ranks_of(settled) == [(0, "rank1.json.gz"), (1, "rank0.json.gz")]
    assert settled.recording.missing == (2,)
    assert kinds_of(settled) == ["rank_name_differs"] * 2 + ["ranks_missing"]
    with pytest.raises(TraceError, match="and so is"):
        settle(found, [fact.replace(rank=1) for fact in facts])
    with pytest.raises(TraceError, match=r"job of . ranks, and .* of one of 5"):
        settle(found, [facts[0], facts[1].replace(world_size=5)])


def test_files_without_a_rank_are_refused_with_what_to_do(
    runs: Put, tmp_path: Path
) -> None:
    found = ranks_in([runs("a.json"), runs("b.json")])
    with pytest.raises(TraceError, match=r"call the files rank0.json, rank1.json"):
        settle(found, facts_of([file.path for file in found.recording.files]))


def test_a_file_of_another_time_is_told(runs: Put, tmp_path: Path) -> None:
    for rank in range(3):
        runs(f"rank{rank}.json", rank, 3, start_us=1e12 + HOUR_US * (rank == 2))
    found = ranks_in(tmp_path)
    settled = settle(found, facts_of([file.path for file in found.recording.files]))
    (note,) = settled.notes
    assert note.kind == "other_time"
    assert "rank2.json" in note.detail
