# SPDX-License-Identifier: BSD-3-Clause
"""test_text.py: text for people: safe whatever a trace holds, and readable."""

from __future__ import annotations

import pytest

from torchtraceap._core import CriticalPath, Location, PathPlace
from torchtraceap.base.safe_text import encodable, printable
from torchtraceap.base.units import share_text, time_text
from torchtraceap.views.heading import kinds_text, path_line


def test_printable() -> None:
    assert printable("aten::mm × 2") == "aten::mm × 2"
    assert printable("a\x1b\n\u202e\ud800\U000e0001") == (
        r"a\x1b\x0a\u202e\ud800\U000e0001"
    )
    assert printable("abcdefghij", 5) == "ab…ij"
    assert len(printable("x" * 99, 40)) == 40


def test_encodable() -> None:
    assert encodable("12 µs ×3 …", "utf-8") == "12 µs ×3 …"
    assert encodable("12 µs ×3 …", "ascii") == "12 us x3 ..."
    assert encodable("12 µs 測", "latin-1") == r"12 us \u6e2c"
    assert encodable("×", None) == encodable("×", "no-such-encoding") == "x"


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "0 µs"),
        (0.13, "0.13 µs"),
        (412.4, "412 µs"),
        (999.4, "999 µs"),
        (999.5, "1 ms"),
        (12_400, "12.4 ms"),
        (1_234_567, "1.23 s"),
        (43_425_400, "43.4 s"),
        (1e10, "10000 s"),
    ],
)
def test_time_text(us: float, text: str) -> None:
    assert time_text(us) == text


def test_share_text() -> None:
    assert share_text(1, 3) == "33.3 %"
    assert share_text(0, 3) == "0.0 %"
    assert share_text(1, 1_000_000) == "<0.1 %"
    assert share_text(999_999, 1_000_000) == ">99.9 %"
    assert share_text(3, 3) == "100.0 %"
    assert share_text(1, 0) == "-"


# --- The sentence on what bounds a trace -------------------------------------------

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
        "Critical path, the chain of work that sets the trace's length: host 100.0 %; "
        "longest at train.py:88 step (600 µs), aten::copy_ (300 µs)."
    )


def test_a_path_without_places_or_time_is_said_as_such() -> None:
    assert path_line(CriticalPath(None, 0.0, {}, ())) == (
        "Critical path, the chain of work that sets the trace's length: nothing."
    )
