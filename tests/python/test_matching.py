# SPDX-License-Identifier: BSD-3-Clause
"""test_matching.py: findings are known again after lines have shifted."""

from __future__ import annotations

import gzip
import random
import re
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap._core import Finding, Location
from torchtraceap.gate.matching import match, path_below

from .trace_builder import loader_trace

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
    """Return the lines of each pair; the order in which findings come is no matter."""
    shuffled = random.Random(1)
    before, after = list(before), list(after)
    shuffled.shuffle(before)
    shuffled.shuffle(after)
    return {
        (was and line_of(was), now and line_of(now))
        for was, now in match(before, after)
    }


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
