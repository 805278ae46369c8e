# SPDX-License-Identifier: BSD-3-Clause
"""test_simulated_comparison.py: what changed between two simulations of dry runs."""

from __future__ import annotations

import re
from typing import Any

import pytest

import torchtraceap
from torchtraceap import _core
from torchtraceap.report import Report

from .waits_trace import WAIT, trace


def stepping(lengths_us: list[int], waits: Any = ()) -> Report:
    """Steps of which each runs one kernel and waits for it."""
    p = _core.Program()
    p.add_device(0, "H100 SXM", 80 << 30, 132, 9, 0)
    thread, stream = p.add_thread(1, "python"), p.add_stream(7)
    for step, length_us in enumerate(lengths_us):
        p.open_span(thread, f"ProfilerStep#{step}")
        p.open(thread, "aten::mm", '"Call stack": "/home/me/train.py(11): step"')
        p.host(thread, 10_000)
        p.kernel(thread, stream, "aten::mm", length_us * 1000, 4_000)
        p.stream_sync(thread, stream)
        p.close(thread)
        p.close(thread)
    note = {"gpu": "H100 SXM", "host_us_per_op": 10.0, "waits": list(waits)}
    return torchtraceap.analyze(p.trace_text({"dry_run": note}))


@pytest.mark.parametrize("steps", [2, 3, 4])
def test_of_simulations_any_change_of_the_step_is_one(steps: int) -> None:
    before = stepping([5_000] + [100] * (steps - 1))
    for longer in (102, 185):
        after = stepping([5_000] + [longer] * (steps - 1))
        comparison = torchtraceap.compare(before, after)
        change = comparison.step_us
        assert change.after - change.before == pytest.approx(longer - 100)
        assert [w.kind for w in comparison.worse(["slower"])] == ["slower"]
        text = " ".join(comparison.summary().split())
        assert ": slower" in text
        assert "is noise" not in text
        assert "too few to tell" not in text
        assert "simulations have no noise" in text
    same = torchtraceap.compare(before, stepping([9_000] + [100] * (steps - 1)))
    assert not same.step_us.counts
    assert not torchtraceap.compare(before, before).worse()


def test_a_run_that_ends_within_a_step_is_no_change() -> None:
    """One program, run for 3 and for 5 steps, of which the last lack their waits."""
    three, five, twice = (
        torchtraceap.analyze(trace([{**WAIT, "steps": runs}], steps=steps))
        for steps, runs in ((3, [[0, 1, 1]]), (5, [[0, 3, 1]]), (5, [[0, 3, 3]]))
    )
    for one, other in ((three, five), (five, three)):
        assert not torchtraceap.compare(one, other).worse()
    (grown,) = torchtraceap.compare(three, twice).worse(["grown"])
    assert "×2.4 a step, was ×0.667" in grown.message


def test_a_wait_that_came_is_new_whatever_it_costs() -> None:
    before, after = (torchtraceap.analyze(trace(w)) for w in ([], [WAIT]))
    (new,) = torchtraceap.compare(before, after).worse(["new"])
    assert "train.py:12: new sync_stall (scalar_read)" in new.message
    (gone,) = torchtraceap.compare(after, before).of("gone")
    assert gone.seen.location and gone.seen.location.recorded_line == 12
    assert not torchtraceap.compare(after, after).worse()


def several(each: int, steps: int = 4, setup: int = 0) -> Report:
    """A wait that costs no time, so often in each step."""
    runs = [[0, 0, each + setup], [1, steps - 1, each]] if setup else [[0, 3, each]]
    return torchtraceap.analyze(trace([{**WAIT, "steps": runs}]))


def test_a_wait_that_comes_more_often_has_grown() -> None:
    comparison = torchtraceap.compare(several(1), several(12))
    (worse,) = comparison.worse()
    assert worse.kind == "grown"
    assert worse.message.endswith(
        "train.py:12: grown sync_stall (scalar_read), ×12 a step, was ×1"
    )
    (found,) = comparison.of("grown")
    assert found.often is not None and found.cost.after == 0
    assert (found.often.before, found.often.after, found.often.counts) == (1, 12, True)
    assert comparison.to_dict()["findings"][0]["often"]["after"] == 12
    text = comparison.summary()
    assert re.search(r"grown +/home/me/train.py:12 .* ×1 +-> +×12$", text, re.MULTILINE)
    assert "| ×1 | ×12 |" in comparison.to_markdown()
    assert "1 grown, 0 shrunk" in text
    (shrunk,) = torchtraceap.compare(several(12), several(1)).of("shrunk")
    assert shrunk.seen.location and shrunk.seen.location.recorded_line == 12
    assert not torchtraceap.compare(several(12), several(1)).worse()
    assert not torchtraceap.compare(several(12), several(12)).worse()
    (more,) = torchtraceap.compare(several(1), several(1, setup=1)).worse()
    assert more.message.endswith("×1.25 a step, was ×1")


def test_a_new_wait_says_how_often_it_comes() -> None:
    none = torchtraceap.analyze(trace([]))
    (new,) = torchtraceap.compare(none, several(3)).worse()
    assert new.message.endswith("new sync_stall (scalar_read), ×3 a step")
    text = torchtraceap.compare(several(3), none).summary()
    assert re.search(r"gone .* ×3 +-> +-$", text, re.MULTILINE)


def test_what_setting_up_does_once_is_no_change_in_more_steps() -> None:
    """4 and 2 steps: alike in all, and so not alike by the step; or the reverse."""

    def of(runs: list[list[int]], steps: int) -> Report:
        return torchtraceap.analyze(trace([{**WAIT, "steps": runs}], steps=steps))

    once = of([[0, 0, 6]], 4), of([[0, 0, 6]], 2)
    each = of([[0, 3, 1]], 4), of([[0, 1, 1]], 2)
    both = of([[0, 0, 7], [1, 3, 1]], 4), of([[0, 0, 7], [1, 1, 1]], 2)
    for pair in (once, each, both):
        for sides in (pair, pair[::-1]):
            comparison = torchtraceap.compare(*sides)
            assert [f.status for f in comparison.findings if f.often] == ["same"]
    (grown,) = torchtraceap.compare(each[0], of([[0, 1, 4]], 2)).worse(["grown"])
    assert "×4 a step, was ×1" in grown.message


def test_where_a_wait_costs_time_the_time_decides() -> None:
    before, after = (
        torchtraceap.analyze(trace([{**WAIT, "steps": [[0, 3, n]]}], read_us=200))
        for n in (1, 12)
    )
    comparison = torchtraceap.compare(before, after)
    assert not comparison.worse()
    assert all(finding.often is None for finding in comparison.findings)


def test_counts_of_recordings_are_not_compared() -> None:
    before, after = several(1).to_dict(), several(12).to_dict()
    for form in (before, after):
        form["trace"]["simulated"] = None
    comparison = torchtraceap.compare(before, after)
    assert comparison.comparable and not comparison.worse(["grown", "new"])
    assert all(finding.often is None for finding in comparison.findings)
