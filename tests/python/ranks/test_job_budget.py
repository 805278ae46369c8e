# SPDX-License-Identifier: BSD-3-Clause
"""test_job_budget.py: the ranks of a job, held against the [ranks] of a budget."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.gate.ratchet import ranks_toml

from .small_job import even, slow_loader


def budget(**limits: Any) -> torchtraceap.Budget:
    return torchtraceap.read_budget({"ranks": limits})


@pytest.mark.parametrize(
    ("limit", "broken", "kept", "found", "said"),
    [
        ("max_slowdown", 1.4, 1.6, 1.5, "and would take 20 ms with even ranks"),
        ("max_late_us", 8000, 9000, 8.4e3, "a step is 8.4 ms longer than if its work"),
        ("max_waited_share", 0.3, 0.4, 500 / 1440, "waited 34.7 % of their time"),
    ],
)
def test_a_limit_names_the_rank_and_the_line(
    limit: str, broken: float, kept: float, found: float, said: str
) -> None:
    job = slow_loader()
    assert budget(**{limit: kept}).check_ranks(job) == ()
    (violation,) = budget(**{limit: broken}).check_ranks(job)
    assert violation.limit == f"ranks.{limit}" and violation.known
    assert violation.found == pytest.approx(found)
    assert violation.rank == 3 and str(violation.location) == "data.py:41"
    assert violation.message.startswith("rank 3, data.py:41 load, dataloader_bound: ")
    assert said in violation.message


def test_missing_ranks_are_counted() -> None:
    job = slow_loader().with_facts(missing=(1, 2, 5))
    (violation,) = budget(max_missing=2).check_ranks(job)
    assert "3 ranks without a trace: 1, 2, 5" in violation.message
    assert budget(max_missing=3).check_ranks(job) == ()


def test_what_cannot_be_told_is_no_pass() -> None:
    apart = slow_loader().with_facts(joined_collectives=0, world_size=None)
    found = budget(max_slowdown=2, max_missing=0).check_ranks(apart)
    assert [(v.limit, v.known) for v in found] == [
        ("ranks.max_slowdown", False),
        ("ranks.max_missing", False),
    ]
    lenient = torchtraceap.read_budget(
        {"unknown": "pass", "ranks": {"max_slowdown": 2}}
    )
    assert lenient.check_ranks(apart) == ()


def test_late_ranks_that_were_not_replayed_are_no_pass() -> None:
    job = slow_loader()
    unasked = replace(job.ranks[6], caused_us=6 * 1001.0)
    job = replace(job, ranks=(*job.ranks[:6], unasked, *job.ranks[7:]))
    assert budget(max_late_us=9000).check_ranks(job) == ()
    broken, untold = budget(max_late_us=1000).check_ranks(job)
    assert (broken.rank, broken.known, untold.known) == (3, True, False)
    assert "is undetermined: 1 rank (6) made others wait" in untold.message


def test_of_one_trace_ranks_cannot_be_told(data: Path) -> None:
    report = torchtraceap.analyze(data / "mi250-rocm62-tiny.json.gz")
    (violation,) = budget(max_missing=0).check(report)
    assert not violation.known and "of one trace" in violation.message


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"max_slow": 1}, "ranks.max_slow: unknown key"),
        ({"max_slowdown": "much"}, "ranks.max_slowdown must be a number"),
        ({"max_slowdown": 0.5}, "must be at least 1, but is 0.5"),
        ({"max_waited_share": 2}, "ranks.max_waited_share must be at most 1"),
        ({}, "limits nothing"),
    ],
)
def test_a_mistake_is_named(limits: dict[str, Any], said: str) -> None:
    with pytest.raises(torchtraceap.ConfigError, match=said):
        torchtraceap.read_budget({"ranks": limits})


def test_a_written_budget_is_kept(tmp_path: Path) -> None:
    for job in (slow_loader(), even()):
        path = tmp_path / "budget.toml"
        path.write_text(ranks_toml(job, 0.1))
        written = torchtraceap.read_budget(path)
        assert len([*written.rank_lines()]) == 4
        assert written.check_ranks(job) == ()
    with pytest.raises(ValueError, match="no budget can be made of runs"):
        ranks_toml(slow_loader().with_facts(joined_collectives=0), 0.1)
