# SPDX-License-Identifier: BSD-3-Clause
"""test_path_text.py: the sentence on what bounds a trace."""

from __future__ import annotations

from torchtraceap.findings import Location
from torchtraceap.path_text import kinds_text, path_line
from torchtraceap.recovery import CriticalPath, PathPlace

LINE = Location("train.py", 88, "step", user=True)


def test_kinds_come_most_first_and_small_ones_are_left_out() -> None:
    kinds = {"host": 20.0, "device_delay": 0.9, "compute": 79.1, "copies": 0.0}
    assert kinds_text(kinds) == "compute 79.1 %, host 20.0 %"


def test_the_longest_places_are_named_with_their_time() -> None:
    places = (
        PathPlace(LINE, "aten::mm", 600.0),
        PathPlace(None, "aten::copy_", 300.0),
        PathPlace(None, "", 50.0),  # neither a line nor a name says nothing
        PathPlace(LINE, "", 9.0),
    )
    path = CriticalPath(None, 1000.0, {"host": 1000.0}, places)
    assert path_line(path) == (
        "Critical path: host 100.0 %; longest at train.py:88 step (600 µs), "
        "aten::copy_ (300 µs)."
    )


def test_a_path_without_places_or_time_is_said_as_such() -> None:
    assert path_line(CriticalPath(None, 0.0, {}, ())) == "Critical path: nothing."


def test_names_of_a_trace_are_printed_safely() -> None:
    hostile = PathPlace(None, "a\x1b[2Jb\nc", 600.0)
    line = path_line(CriticalPath(None, 1000.0, {"host": 1000.0}, (hostile,)))
    assert "\x1b" not in line and "\n" not in line
