# SPDX-License-Identifier: BSD-3-Clause
"""test_compare_steps.py: compared by step, variation between steps is noise; findings
are matched after lines have shifted."""

from __future__ import annotations

import gzip
import json
import random
import re
from pathlib import Path
from statistics import median, stdev
from typing import Any

import pytest

import torchtraceap
from torchtraceap._core import Finding, Location
from torchtraceap.gate.differences import median_error
from torchtraceap.gate.matching import match, path_below

from .compare_sides import NOTHING, made, statuses
from .trace_builder import loader_trace


def test_unequal_lengths_are_aligned_by_step() -> None:
    """Twice the steps cost twice the time, and that is not a change."""
    short, long = made(waits_us=[5000] * 4), made(waits_us=[5000] * 8)
    same = torchtraceap.compare(short, long)
    assert statuses(same) == NOTHING
    assert any("steps differ: 4 before, 8 after" in note for note in same.notes)
    worse = torchtraceap.compare(short, made(waits_us=[6000] * 8))
    assert statuses(worse) == {**NOTHING, "grown": ["dataloader_bound"]}
    (grown,) = worse.of("grown")
    assert (grown.cost.before, grown.cost.after) == (5000, 6000)
    # Half as many steps that each cost more are worse, though the sum is less.
    fewer = torchtraceap.compare(long, made(waits_us=[6000] * 4))
    assert [one.kind for one in fewer.worse()] == ["grown"]


def test_without_steps_shares_are_compared() -> None:
    short = made(waits_us=[5000] * 4, steps=False)
    long = made(waits_us=[5000] * 8, steps=False)
    same = torchtraceap.compare(short, long)
    assert (same.unit, same.step_us) == ("share", None)
    assert statuses(same) == NOTHING
    assert any("neither trace has steps" in note for note in same.notes)
    worse = torchtraceap.compare(short, made(waits_us=[7000] * 4, steps=False))
    assert statuses(worse)["grown"] == ["dataloader_bound"]
    one = torchtraceap.compare(short, made(waits_us=[5000] * 4))
    assert any("only the trace after has steps" in note for note in one.notes)
    (untold,) = one.worse(["slower"])
    assert not untold.known


def test_slower_steps() -> None:
    before = made(waits_us=[5000] * 4)
    after = made(waits_us=[5000] * 4, step_us=11_000)
    slower = torchtraceap.compare(before, after)
    assert (slower.step_us.before, slower.step_us.after) == (10_000, 11_000)
    assert [one.kind for one in slower.worse(["slower"])] == ["slower"]
    slightly = made(waits_us=[5000] * 4, step_us=10_400)
    assert torchtraceap.compare(before, slightly).worse(["slower"]) == []


def test_what_varies_from_step_to_step_is_noise() -> None:
    """The same means, once with steps that are alike and once with a wide spread."""
    steady = torchtraceap.compare(made(waits_us=[4000] * 6), made(waits_us=[5000] * 6))
    assert statuses(steady)["grown"] == ["dataloader_bound"]
    wild = [1000, 2000, 3000, 5000, 6000, 7000]
    noisy = torchtraceap.compare(
        made(waits_us=wild), made(waits_us=[wait + 1000 for wait in wild])
    )
    assert statuses(noisy) == NOTHING
    (change,) = noisy.findings
    assert (change.cost.before, change.cost.after) == (4000, 5000)
    assert change.cost.noise is not None
    assert change.cost.noise > 1000


SPARSE = [
    # Rare waits: of their figures, means of all steps, a median deviation is 0.
    ([1] * 9 + [50_000], [1] * 8 + [50_000] * 2),
    ([1] * 6 + [50_000] * 4, [1] * 5 + [50_000] * 5),
    ([1] * 10, [1] * 9 + [50_000]),
    ([0] * 10, [0] * 9 + [50_000]),
]


@pytest.mark.parametrize(("before", "after"), SPARSE)
def test_one_rare_wait_more_is_noise(before: list[float], after: list[float]) -> None:
    sides = [made(waits_us=waits, step_us=100_000) for waits in (before, after)]
    comparison = torchtraceap.compare(*sides)
    assert statuses(comparison) == NOTHING
    assert comparison.worse() == []
    assert not comparison.causes["dataloader_bound"].counts
    assert statuses(torchtraceap.compare(*reversed(sides))) == NOTHING


def test_rare_waits_that_become_common_are_no_noise() -> None:
    before = made(waits_us=[1] * 18 + [50_000] * 2, step_us=100_000)
    after = made(waits_us=[1] * 4 + [50_000] * 16, step_us=100_000)
    comparison = torchtraceap.compare(before, after)
    assert statuses(comparison) == {**NOTHING, "grown": ["dataloader_bound"]}
    assert comparison.causes["dataloader_bound"].counts


def test_what_came_once_between_steps_is_noise() -> None:
    """No step has it, so that steps show no spread of it; as often as steps, it is."""
    before = made(waits_us=[0] * 6)
    row = made(waits_us=[5000] * 4).to_dict()["findings"][0]  # type: ignore[index]
    for count, new in ((1, False), (5, True), (6, True)):
        form: dict[str, Any] = json.loads(before.to_json())
        form["findings"].append({**row, "count": count, "wasted_us": 30_000.0})
        assert bool(torchtraceap.compare(before, form).of("new")) == new


def test_steps_of_two_kinds_are_no_slower_by_one_of_them() -> None:
    """One step more of the slow kind moves the median all the way."""
    report = made(waits_us=[0] * 11)
    forms = []
    for slow in (5, 6):
        form: dict[str, Any] = json.loads(report.to_json())
        for number, step in enumerate(form["steps"]):
            step["end_us"] = step["start_us"] + (20_000 if number < slow else 10_000)
        forms.append(form)
    comparison = torchtraceap.compare(*forms)
    assert (comparison.step_us.before, comparison.step_us.after) == (10_000, 20_000)
    assert comparison.worse(["slower"]) == []


def test_two_steps_have_no_spread() -> None:
    few = torchtraceap.compare(made(waits_us=[5000] * 2), made(waits_us=[5000] * 9))
    assert few.step_us.noise is None
    assert any("2 steps are too few" in note for note in few.notes)


def test_the_error_of_a_median() -> None:
    """Three times that of a normal sample: its median is off by 1.2533 s / sqrt(n)."""
    draw = random.Random(1)
    medians, errors = [], []
    for _ in range(400):
        sample = tuple(draw.gauss(100.0, 5.0) for _ in range(101))
        medians.append(median(sample))
        errors.append(median_error(sample))
    typical = median(error for error in errors if error is not None)
    assert typical == pytest.approx(3 * stdev(medians), rel=0.15)
    assert median_error((1.0, 2.0)) is None


def test_what_is_small_does_not_count() -> None:
    """A new finding of under half a percent of the step is listed, but no change."""
    before = made(waits_us=[5000] * 40 + [0] * 2)
    small = {
        **before.to_dict()["findings"][0],  # type: ignore[index]
        "id": "gc_pause-12345678",
        "pattern": "gc_pause",
    }
    for share, new in ((0.004, False), (0.006, True)):
        form: dict[str, Any] = json.loads(before.to_json())
        wasted = share * before.trace.device_time_us
        form["findings"].append({**small, "wasted_us": wasted})
        comparison = torchtraceap.compare(before, form)
        assert bool(comparison.of("new")) == new
        assert len([f for f in comparison.findings if f.status == "new"]) == 1


# --- Findings are known again after lines have shifted --------------------------------

TRACE = "kineto2021-v100-resnet50-workers4.json.gz"


# A file, the roots, and the path that it is known by.
PATHS = [
    ("/ci/main/lib/net.py", ["/ci/main", "/ci/branch"], "lib/net.py"),
    ("/ci/main/lib/net.py", ["/ci/", "/ci/main/"], "lib/net.py"),  # The innermost.
    ("/ci/main/lib/net.py", ["/ci/ma", "main", "lib"], "/ci/main/lib/net.py"),
    ("C:\\ci\\1\\train.py", ["C:\\ci\\1"], "train.py"),
    ("src/train.py", ["src"], "train.py"),
    ("/here/src/train.py", ["src"], "train.py"),  # Of the working folder.
    ("/main/train.py", ["../main"], "train.py"),
    ("/here/src/train.py", [], "src/train.py"),
    ("/train.py", ["/"], "train.py"),
    ("/train.py", [""], "/train.py"),
    ("", ["/"], ""),  # It has no place.
]


@pytest.mark.parametrize(("file", "roots", "path"), PATHS)
def test_a_file_is_known_by_its_path_below_the_root(
    file: str, roots: list[str], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.getcwd", lambda: "/here")
    assert path_below(file, roots) == path


(WAIT,) = torchtraceap.analyze(loader_trace(waits_us=[5000] * 4)).findings


def seen(
    line: int, us: float, function: str = "step", operator: str = "item"
) -> Finding:
    return WAIT.replace(
        id=f"sync_stall-{function}-{operator}-{line}",
        pattern="sync_stall",
        subtype="read",
        location=Location("train.py", line, function, True),
        operator=operator,
        wasted_us=us,
    )


def line_of(finding: Finding) -> int:
    return (finding.location and finding.location.recorded_line) or 0


def function_of(finding: Finding) -> str:
    return finding.location.function if finding.location else ""


def pairs(
    before: list[Finding], after: list[Finding]
) -> set[tuple[int | None, int | None]]:
    """Return the lines of each pair; the order of findings does not matter."""
    draw = random.Random(1)
    sides = (draw.sample(side, len(side)) for side in (before, after))
    return {(was and line_of(was), now and line_of(now)) for was, now in match(*sides)}


@pytest.mark.parametrize("shift", [-1, 1, 1000])
def test_a_real_trace_whose_lines_shift_is_the_same(shift: int, data: Path) -> None:
    """Its findings are on neighboring lines, so that ids of one fit others after."""
    text = gzip.decompress((data / TRACE).read_bytes())
    moved, count = re.subn(
        rb"(resnet50_profiler_api\.py\()(\d+)\)",
        lambda found: b"%b%d)" % (found[1], int(found[2]) + shift),
        text,
    )
    assert count > 100
    before, after = torchtraceap.analyze(text), torchtraceap.analyze(moved)
    same = torchtraceap.compare(before, after)
    assert {found.status for found in same.findings} == {"same"}
    assert len(same.findings) == len(before.findings)
    for found in same.findings:
        assert found.before is not None and found.after is not None
        by = shift if found.before.location else 0
        assert line_of(found.after) - line_of(found.before) == by
        assert found.cost.before == found.cost.after
    assert same.worse() == []


def test_neighbors_that_shift_are_not_mixed_up() -> None:
    before = [seen(10, 10_000), seen(11, 100), seen(13, 5)]
    for shift in (-3, -2, -1, 1, 2, 3):
        after = [seen(line_of(one) + shift, one.wasted_us) for one in before]
        expected = {(line_of(one), line_of(one) + shift) for one in before}
        assert pairs(before, after) == expected


def test_neighbors_that_stay_are_told_by_their_order() -> None:
    """Whatever became of their costs."""
    before = [seen(10, 10_000), seen(11, 100)]
    assert pairs(before, [seen(10, 100), seen(11, 100)]) == {(10, 10), (11, 11)}
    assert pairs(before, [seen(10, 100), seen(11, 10_000)]) == {(10, 10), (11, 11)}


def test_one_more_and_one_less_amid_others() -> None:
    """What follows shifts by the lines of the edit."""
    few = [seen(10, 900), seen(12, 700), seen(14, 800)]
    more = [seen(10, 900), seen(11, 5000), seen(14, 700), seen(16, 800)]
    expected = {(10, 10), (None, 11), (12, 14), (14, 16)}
    assert pairs(few, more) == expected
    assert pairs(more, few) == {(now, was) for was, now in expected}
    # Where no line but that of the edit shifts.
    kept = [seen(10, 900), seen(12, 700), seen(13, 300), seen(14, 800)]
    assert pairs(few, kept) == {(10, 10), (12, 12), (None, 13), (14, 14)}
    assert pairs(kept, few) == {(10, 10), (12, 12), (13, None), (14, 14)}


def test_a_function_may_move_within_its_file() -> None:
    first = [seen(line, us, "first") for line, us in ((10, 100), (11, 9000))]
    second = [seen(line, us, "second") for line, us in ((20, 80), (22, 70), (23, 9))]
    moved = [
        *(seen(line_of(one) + 30, one.wasted_us, "first") for one in first),
        *(seen(line_of(one) - 10, one.wasted_us, "second") for one in second),
    ]
    assert pairs([*first, *second], moved) == {
        *((line_of(one), line_of(one) + 30) for one in first),
        *((line_of(one), line_of(one) - 10) for one in second),
    }


def test_as_many_pairs_as_there_can_be() -> None:
    """None is new where one of its kind and function is gone: it may have moved."""
    draw = random.Random(7)
    for _ in range(200):
        sides = [
            [
                seen(line, draw.uniform(1, 100), draw.choice("fg"), draw.choice("ab"))
                for line in draw.sample(range(40), draw.randint(0, 9))
            ]
            for _ in range(2)
        ]
        found = list(match(sides[0], sides[1]))
        for side in (0, 1):
            names = sorted(pair[side].id for pair in found if pair[side])  # type: ignore[union-attr]
            assert names == sorted(one.id for one in sides[side])
        kinds = []
        for was, now in found:
            if was and now:
                assert function_of(was) == function_of(now)
                assert was.operator == now.operator
            else:
                one = was or now
                assert one is not None
                kinds.append((function_of(one), one.operator, was is None))
        assert not any((f, o, not new) in kinds for f, o, new in kinds)


def test_many_findings_of_a_file_take_no_long() -> None:
    before = [seen(3 * n, 1.0 + n % 7, f"f{n % 100}") for n in range(3000)]
    after = [seen(3 * n + 4, 1.0 + n % 7, f"f{n % 100}") for n in range(3000)]
    found = match(before, after)
    assert all(a and b and line_of(b) - line_of(a) == 4 for a, b in found)
