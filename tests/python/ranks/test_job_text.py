# SPDX-License-Identifier: BSD-3-Clause
"""test_job_text.py: a job as text: who is late and why, or that nobody is."""

from __future__ import annotations

from dataclasses import replace

from torchtraceap.views.job_text import write_job
from torchtraceap.views.job_words import notable_causes, notable_culprits

from .small_job import even, failed, late, row, slow_loader


def test_a_late_rank_is_told_with_its_line_its_reason_and_what_it_costs() -> None:
    text = write_job(slow_loader(), 10)
    lines = text.splitlines()
    assert lines[:2] == [
        "runs",
        "8 of 8 ranks, 6 steps, NVIDIA H100 80GB HBM3, recording rank*.json",
    ]
    assert "Slowdown 1.50: a step takes 30 ms, and would take 20 ms, 10 ms less" in text
    (told,) = (line for line in lines if line.startswith("  rank 3  data.py:41 load"))
    assert told == (
        "  rank 3  data.py:41 load  dataloader_bound  11 ms late  -> 7 ranks waited "
        "462 GPU-ms in 6 collectives, longest in allreduce #118; without it a step is "
        "8.3 ms shorter"
    )
    assert "1. dataloader_bound (single_process): The step waited 66 ms" in text
    assert "Load in the background." in text
    assert "That is 92.4 % of the 500 GPU-ms" in text and "For 4.0 % the late" in text
    assert lines[-1] == "To look closer at rank 3: torchtraceap analyze runs/rank3.json"
    # What is noise is not listed, nor is a column that says the same of all.
    assert "rank 5  data.py" not in text and "node0" not in text
    assert "4 KiB     6×  490 ms     96 ms   586 ms  small  allreduce" in text
    assert max(map(len, (line for line in lines if line != told))) <= 88


def test_without_a_culprit_none_is_named() -> None:
    text = write_job(even(), 10)
    assert "No stragglers: a step takes 30 ms, and would take 29.8 ms" in text
    assert "Who is late: none." in text and "data.py" not in text
    assert notable_causes(even()) == notable_culprits(even()) == ()
    some = even().with_facts(missing=(1, 2))
    assert "No stragglers among the ranks at hand" in write_job(some, 10)


def test_what_is_chance_is_not_listed() -> None:
    job = slow_loader()
    assert [one.waited_us for one in notable_causes(job)] == [462e3]
    assert [one.name for one in notable_culprits(job)] == ["3", "host"]
    chance = replace(job, late=tuple(replace(one, culprit=False) for one in job.late))
    assert notable_causes(chance) == ()


def test_of_512_ranks_those_come_first_that_others_waited_for() -> None:
    text = write_job(slow_loader(512), 10)
    assert len(text.splitlines()) < 50
    assert "Ranks (10 of 512), the most waited for first:" in text
    first = text.partition("(10 of 512), the most waited for first:\n")[2].splitlines()[1]
    assert first.split()[0] == "3"


def test_without_gpus_time_is_that_of_ranks() -> None:
    text = write_job(slow_loader(device="CPU"), 10)
    assert "7 ranks waited 462 ms together in" in text and "GPU" not in text


def test_what_is_not_known_is_said() -> None:
    job = slow_loader().with_facts(
        missing=(1, 2),
        ranks=6,
        unmatched=4,
        contradicted=2,
        notes=tuple(failed(f"runs/rank{rank}.json") for rank in range(1, 13)),
    )
    text = write_job(job, 10)
    assert "6 of 8 ranks, 2 missing" in text
    assert (
        "Note: runs/rank1.json: it is cut off." in text and "and 2 more notes" in text
    )
    assert "Not joined: 4 collectives of one rank alone and 2 whose ranks" in text
    apart = replace(
        slow_loader().with_facts(joined_collectives=0), late=(), collectives=()
    )
    text = write_job(apart, 10)
    assert "no two of these traces have a collective" in " ".join(text.split())
    assert "Who is late" not in text and "Clocks" not in text


def test_ranks_that_differ_get_a_column_for_it() -> None:
    job = slow_loader()
    other = row(0, host="node1", device="CPU", stage=1, verdict="degraded")
    text = write_job(replace(job, ranks=(other, *job.ranks[1:])), 10)
    assert "8 of 8 ranks, 6 steps, CPU and NVIDIA H100 80GB HBM3, 2 hosts" in text
    for name in ("stage", "host", "device", "quality"):
        assert name in text.partition("Ranks:\n")[2].splitlines()[0]


def test_names_of_the_trace_cannot_write_to_the_terminal() -> None:
    job = slow_loader()
    odd = late(collective="all\x1b[31mreduce", location=None, name="x\x1b[2J")
    text = write_job(replace(job.with_facts(source="a\x1b[1m"), late=(odd,)), 10)
    assert "\x1b" not in text
