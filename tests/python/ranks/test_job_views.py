# SPDX-License-Identifier: BSD-3-Clause
"""test_job_views.py: a job as text, as JSON, as a page, held against a budget: who is
late and why, or no rank.

The page in a browser: test_job_page_browser.py.
"""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import torchtraceap
from torchtraceap._core import JobAnswerRow, LateRank, SharedFinding
from torchtraceap.data.job import JobData
from torchtraceap.gate.ratchet import ranks_toml
from torchtraceap.views import job_json
from torchtraceap.views.html.job_page import job_page
from torchtraceap.views.job_answer import job_answer_line, job_answer_lines
from torchtraceap.views.job_drawing import drawing_of
from torchtraceap.views.job_text import write_job
from torchtraceap.views.job_words import notable_causes, notable_culprits

from ..test_schema import closed
from .sample_jobs import data_parallel_job
from .small_job import LOADER, apart, even, failed, late, row, slow_loader

# --- The first screen -----------------------------------------------------------------


def test_the_first_screen_says_who_is_late_where_what_to_do_and_the_gain() -> None:
    assert job_answer_lines(slow_loader()) == [
        "runs",
        "8 of 8 ranks, 6 steps, NVIDIA H100 80GB HBM3, recording rank*.json, a step "
        "takes 30 ms",
        "Rank 3 is late, at data.py:41 load: others wait for it 32.1 % of all ranks' "
        "time.",
        "Load in the background. A fix saves 28 % (27 to 30) of a step.",
        "",
        "  observed  a fix saves      what              where",
        "    32.1 %  28 % (27 to 30)  dataloader_bound  rank 3, data.py:41 load",
        "",
        "More: --full, --html FILE, torchtraceap analyze runs/rank3.json",
    ]


def test_the_first_screen_of_other_jobs() -> None:
    job = slow_loader()
    in_turn = replace(
        job.with_facts(late_gain_us=6e3),
        late_ranks=(LateRank(rank=3), LateRank(rank=5)),
        shared=(SharedFinding(pattern="comm_exposed", ranks=8, of=8, share=0.4),),
        answer=job.answer.replace(
            rows=(
                JobAnswerRow(
                    of="late_ranks",
                    observed_fraction=0.33,
                    low_fraction=0.2,
                    middle_fraction=0.3,
                    high_fraction=0.4,
                ),
                JobAnswerRow(
                    of="culprits",
                    index=1,
                    low_fraction=0.2,
                    middle_fraction=0.27,
                    high_fraction=0.4,
                ),
                JobAnswerRow(of="shared", observed_fraction=0.4),
            ),
            caveat="Take these gains as rough.",
        ),
    )
    lines = job_answer_lines(in_turn)
    assert lines[2:4] == [
        "Ranks 3 and 5 are late in turn: others wait for them 33.0 % of all ranks' "
        "time.",
        "If all ranks worked at the others' speed, that would save 33 % (30 to 35) of "
        "a step.",
    ]
    assert [line.split("  ")[-1] for line in lines[6:9]] == [
        "ranks 3 and 5",
        "all ranks",
        "8 of 8 ranks",
    ]
    assert lines[10].startswith("Gains overlap: ") and "as rough" in lines[11]
    narrow = job_answer_lines(in_turn, 70)
    assert "      ranks 3 and 5" in narrow and max(map(len, narrow[:-1])) <= 70
    by_kind = in_turn.answer.replace(rows=in_turn.answer.rows[1:])
    assert "most of all for work of the host: Python and operators." in (
        job_answer_line(replace(in_turn, answer=by_kind))
    )
    without = job.answer.replace(rows=())
    assert "Ranks wait for each other in turn, for many causes." in (
        job_answer_line(replace(job, answer=without))
    )
    sometimes = replace(job, answer=without).with_facts(sometimes_late=5)
    assert "Rank 5 is late in some steps: that is most of" in job_answer_line(sometimes)
    assert "rank 5, in some steps" in write_job(replace(sometimes, late=()), 10)
    slow = replace(job, answer=job.answer.replace(verdict="transfers", rows=()))
    assert "Transfers are slow: at the usual time of their" in job_answer_line(slow)
    assert job_answer_line(even()) == (
        "runs: No rank is late: equal speed would save 0.7 % (seen once) of a step."
    )
    missing = even().with_facts(ranks=6, missing=(1, 2))
    assert "late among the 6 of 8 ranks available: " in job_answer_line(missing)
    noted = apart().with_facts(notes=tuple(map(failed, "abc")))
    told = " ".join(job_answer_lines(noted))
    assert "It is unknown which rank waited for which" in told
    assert "Note: a: it is cut off. (2 more)" in told


# --- As text --------------------------------------------------------------------------


def test_a_late_rank_is_told_with_its_line_its_reason_and_what_it_costs() -> None:
    text = write_job(slow_loader(), 10)
    lines = text.splitlines()
    assert lines[:2] == [
        "runs",
        "8 of 8 ranks, 6 steps, NVIDIA H100 80GB HBM3, recording rank*.json",
    ]
    assert "Slowdown 1.50: a step takes 30 ms. If every rank worked at" in text
    (told,) = (line for line in lines if line.startswith("  rank 3  data.py:41 load"))
    assert told == (
        "  rank 3  data.py:41 load  dataloader_bound  11 ms late  -> 7 ranks waited "
        "462 GPU-ms in 6 collectives, longest in allreduce #118; without it a step is "
        "about 8.3 ms (8 ms to 9 ms) shorter"
    )
    assert "1. dataloader_bound (single_process): The step waited 66 ms" in text
    assert "Load in the background." in text
    assert "That is 92.4 % of the 500 GPU-ms" in text and "For 4.0 % the late" in text
    assert lines[-1] == "Look closer at rank 3: torchtraceap analyze runs/rank3.json"
    # What is noise is not listed, nor is a column that says the same of all.
    assert "rank 5  data.py" not in text and "node0" not in text
    assert "4 KiB     6×  490 ms     96 ms   586 ms  small  allreduce" in text
    assert max(map(len, (line for line in lines if line != told))) <= 88


def test_without_a_culprit_none_is_named() -> None:
    text = write_job(even(), 10)
    assert "No stragglers: a step takes 30 ms, and would take 29.8 ms" in text
    assert "Who is late: none." in text and "data.py" not in text
    assert notable_causes(even()) == notable_culprits(even()) == ()
    job = slow_loader()
    assert [one.waited_us for one in notable_causes(job)] == [462e3]
    assert [one.name for one in notable_culprits(job)] == ["3", "host"]
    some = even().with_facts(ranks=6, missing=(1, 2), unjoined=(3,))
    assert "No stragglers among the 5 of 8 ranks" in write_job(some, 10)


def test_of_512_ranks_those_come_first_that_others_waited_for() -> None:
    text = write_job(slow_loader(512), 10)
    assert len(text.splitlines()) < 50
    assert "Ranks (10 of 512), costliest first:" in text
    first = text.partition("(10 of 512), costliest first:\n")[2].splitlines()[1]
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
    assert "Note: runs/rank1.json: it is cut off." in text
    assert "and 2 more notes" in text
    assert "Not joined: 4 collectives of a single rank and 2 whose ranks" in text
    text = write_job(apart(), 10)
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


# --- As JSON --------------------------------------------------------------------------


SCHEMA = json.loads((files("torchtraceap") / "job.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_jobs_are_valid_and_no_member_is_unlisted(
    slow_job: Path, tmp_path: Path
) -> None:
    VALIDATOR.check_schema(SCHEMA)
    real = torchtraceap.analyze(slow_job)
    form = real.to_json(tmp_path / "job.json")
    assert json.loads((tmp_path / "job.json").read_text("ascii")) == form
    for one in (form, job_json.job_json(slow_loader()), job_json.job_json(even())):
        jsonschema.Draft202012Validator(closed(SCHEMA)).validate(one)


def test_it_says_what_the_job_says() -> None:
    form = job_json.job_json(slow_loader())
    assert form["job"]["slowdown"] == 1.5 and form["unlisted"] == {
        "joined_collectives": 0
    }
    assert [late["culprit"] for late in form["late"]] == [True, False, False]
    assert form["late"][0]["finding"]["location"]["line"] == 41
    assert form["ranks"][3]["span_us"] == 180e3
    assert form["joined_collectives"][0]["arrivals"][3]["wait_us"] == 0.0
    for path, wrong in (
        (["schema_version"], 1),
        (["job", "slowdown"], None),
        (["ranks", 0, "verdict"], "fine"),
        (["late", 0, "location"], {"file": "a.py"}),
        (["late", 0, "finding", "pattern"], "No Pattern"),
        (["culprits", 0, "what"], "weather"),
        (["joined_collectives", 0, "arrivals", 0, "wait_us"], -1),
    ):
        broken: Any = copy.deepcopy(form)
        at = broken
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = wrong
        assert not VALIDATOR.is_valid(broken), path


def test_of_many_collectives_those_with_most_waiting_are_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(job_json, "MOST_ARRIVALS", 20)
    job = slow_loader()
    collectives = tuple(
        job.joined_collectives[0].replace(wait_us=w) for w in (1.0, 9.0, 2.0, 8.0)
    )
    form = job_json.job_json(replace(job, joined_collectives=collectives))
    assert [one["wait_us"] for one in form["joined_collectives"]] == [9.0, 8.0]
    assert form["unlisted"] == {"joined_collectives": 2}


# --- As a page ------------------------------------------------------------------------


HOSTILE = "</script><script>alert(1)</script>\"'<!--\\\u202e\u0000\n&amp;"


def data_of(page: str) -> Any:
    """What the page's script draws."""
    (text,) = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL
    )
    return json.loads(text)


def slices_of(rank: Any) -> list[tuple[int, int, int, int]]:
    """Begin, end, wait and collective of what a rank was in."""
    out, begin, place = [], 0, 0
    columns = (rank[name] for name in ("start", "length", "wait", "collective"))
    for start, length, wait, collective in zip(*columns, strict=True):
        begin, place = begin + start, place + collective
        out.append((begin, begin + length, wait, place))
    return out


def test_it_says_who_was_late_and_why() -> None:
    page = job_page(slow_loader())
    assert "<b>Rank 3 is late, at data.py:41 load: others wait" in page
    assert "<dt>Slowdown</dt><dd>1.500" in page
    assert LOADER.message in page and LOADER.advice in page
    assert "8 of 8 ranks" in page and "462 ms" in page
    assert 'id="ranks"' in page and 'id="collectives"' in page
    assert "For the worst rank they end within 12.5 µs" in page


def test_nobody_is_named_where_ranks_are_even() -> None:
    page = job_page(even())
    assert "<b>No rank is late: " in page and "Late most" not in page


def test_every_rank_is_a_row_on_the_common_clock() -> None:
    job = data_parallel_job(8, slow=5)
    data = data_of(job_page(job))
    assert [rank["label"] for rank in data["ranks"]] == [f"rank {r}" for r in range(8)]
    for place, rank in enumerate(data["ranks"]):
        drawn = slices_of(rank)
        assert len(drawn) == len(job.joined_collectives)
        for begin, end, wait, collective in drawn:
            arrival = job.joined_collectives[collective].arrivals[place]
            there = (arrival.begin_us, arrival.end_us, arrival.wait_us)
            assert [x / 1000 for x in (begin, end, wait)] == pytest.approx(there)
        assert len(rank["steps"]) == 2 * job.facts.steps
    assert [number for number, *_ in data["steps"]] == [0, 1, 2, 3]
    assert {data["ranks"][m["last"]]["label"] for m in data["collectives"]} == {
        "rank 5"
    }
    for collective in data["collectives"]:
        assert collective["own"] and collective["late"] > 1e6
        text, _ = collective["why"][0]
        assert data["names"][text].startswith("rank 5: kernels in compute")


def test_a_rank_that_another_made_late_is_told_apart() -> None:
    job = slow_loader()
    (cause,) = job.causes
    data = data_of(job_page(replace(job, causes=(cause.replace(rank=2),))))
    assert [collective["own"] for collective in data["collectives"]] == [False]


def test_the_shortest_collectives_are_left_out_and_counted() -> None:
    job = data_parallel_job(8, slow=5)
    length = [
        sum(a.end_us - a.begin_us for a in m.arrivals) for m in job.joined_collectives
    ]
    drawing = drawing_of(job, 8 * 10)
    kept = {drawn.place for drawn in drawing.collectives}
    assert len(kept) == 10 and drawing.left_out == len(job.joined_collectives) - 10
    left = [us for place, us in enumerate(length) if place not in kept]
    assert max(left) <= min(length[place] for place in kept)
    assert drawing.left_out_us == pytest.approx(sum(left))


def test_512_ranks_make_a_page_of_bounded_size() -> None:
    page = job_page(data_parallel_job(512, slow=300, steps=2, collectives=4))
    assert len(page) < 500_000
    assert "rank 300" in page


def hostile_job() -> JobData:
    job = slow_loader()
    finding = LOADER.replace(pattern=HOSTILE, message=HOSTILE, advice=HOSTILE)
    rows = [r.replace(host=HOSTILE, device=HOSTILE, path=HOSTILE) for r in job.ranks]
    collectives = tuple(
        m.replace(name=HOSTILE, group=HOSTILE) for m in job.joined_collectives
    )
    lates = (late(finding=finding, location=None, name=HOSTILE, collective=HOSTILE),)
    job = replace(job, ranks=tuple(rows), joined_collectives=collectives, late=lates)
    return job.with_facts(source=HOSTILE, recording=HOSTILE)


def test_names_are_no_markup() -> None:
    page = job_page(hostile_job())
    assert len(re.findall("<script", page)) == 2 == len(re.findall("</script", page))
    assert "<!--" not in page and "\u202e" not in page and "\0" not in page
    assert "alert(1)" in page


def test_it_needs_nothing_else() -> None:
    page = job_page(slow_loader())
    assert "default-src 'none'" in page
    assert not re.search(r"""(src|href)=["'](?!#)|url\(|@import""", page)
    assert page == job_page(slow_loader())


# --- Held against the [ranks] of a budget ---------------------------------------------


def budget(**limits: Any) -> torchtraceap.Budget:
    return torchtraceap.read_budget({"ranks": limits})


@pytest.mark.parametrize(
    ("limit", "broken", "kept", "found", "said"),
    [
        ("max_slowdown", 1.4, 1.6, 1.5, "and would take 20 ms with even ranks"),
        ("max_late_us", 8000, 9000, 8.4e3, "a step is 8.4 ms longer than if it worked"),
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
    unasked = job.ranks[6].replace(caused_us=6 * 1001.0)
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
        ({"max_slowdown": 0.5}, "at least 1, but is 0.5"),
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
