# SPDX-License-Identifier: BSD-3-Clause
"""test_sync_verdict.py: when waits for the GPU are too much, and its message."""

from __future__ import annotations

from typing import Any

import pytest

from torchtraceap.base.source_lines import Line
from torchtraceap.waits.table import BY_OPERATOR
from torchtraceap.waits.verdict import Observation, decide
from torchtraceap.waits.wait import Wait

API = "aten::nonzero"
CAUSE = BY_OPERATOR[API]


def wait(line: int = 1, count: int = 1, us: float | None = None) -> Wait:
    where = Line("/home/me/train.py", line, "step")
    return Wait(where, API, CAUSE, {0: count}, us)


# --- The decision, without torch and pytest --------------------------------------


@pytest.mark.parametrize(
    ("waits", "options", "ok"),
    [
        ([], {}, True),
        ([wait()], {}, False),
        # max_count counts calls, not places.
        ([wait(1, count=2), wait(2)], {"max_count": 3}, True),
        ([wait(1, count=2), wait(2)], {"max_count": 2}, False),
        # over_us is of each wait, and needs times.
        ([wait(us=49.9)] * 9, {"over_us": 50.0}, True),
        ([wait(us=50.0)], {"over_us": 50.0}, False),
        ([wait(us=None)], {"over_us": 1e9}, False),
    ],
)
def test_limits(waits: list[Wait], options: dict[str, Any], ok: bool) -> None:
    assert decide(Observation(tuple(waits), "scope"), **options).ok == ok


@pytest.mark.parametrize(
    ("allowed", "ok"),
    [
        *((name, True) for name in ("nonzero", "aten::nonzero", "aten::non*")),
        *((name, True) for name in ("data_dependent_shape", "train.py", "*/me/*")),
        *((name, True) for name in ("train.py:88", "/home/me/train.py:88")),
        # Whole names only.
        *((name, False) for name in ("rain.py", "train.py:8", "non", "")),
    ],
)
def test_allow(allowed: str, ok: bool) -> None:
    assert decide(Observation((wait(88),), "scope"), allow=[allowed]).ok == ok


def test_message() -> None:
    long = (wait(9, 1, 80), wait(9, 1, 1e3), wait(9, 1, 10))
    waits = (wait(7, 2), *long, wait(3))
    verdict = decide(Observation(waits, "What was checked."), allow=["train.py:3"])
    assert verdict.message.splitlines() == [
        "/home/me/train.py:9: asking for a size (aten::nonzero) and 1 more wait for "
        "the GPU (max_count=0)",
        "  /home/me/train.py:9  asking for a size (aten::nonzero)  ×2, 1.08 ms blocked",
        f"      {CAUSE.what}",
        f"      instead: {CAUSE.instead}",
        "  /home/me/train.py:7  asking for a size (aten::nonzero)  ×2",
        "  and 2 that are allowed or shorter than over_us",
        "What was checked.",
        "To tolerate a line: allow=['train.py:9']",
    ]


def test_a_run_that_shows_nothing_fails() -> None:
    verdict = decide(Observation((), "", problem="Nothing was checked."), max_count=9)
    assert not verdict.ok
    assert "Nothing was checked." in verdict.message
