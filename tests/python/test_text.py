# SPDX-License-Identifier: BSD-3-Clause
"""test_text.py: text for people: safe whatever a trace holds, and readable."""

from __future__ import annotations

import json

import pytest

import torchtraceap
from torchtraceap._core import CriticalPath, Location, PathPlace
from torchtraceap.base.safe_text import encodable, printable
from torchtraceap.base.units import share_text, time_text
from torchtraceap.views.heading import kinds_text, path_line

from .trace_builder import report_of, starved_events

# A name that would recolour a terminal, forge a line, reverse text and run a script.
HOSTILE = "\x1b[31mred\nforged line\u202egnp.js\x9b<script>alert(1)</script>"


@pytest.fixture(scope="module")
def hostile() -> torchtraceap.Report:
    """A loader that keeps a device waiting, all of whose names are hostile."""
    devices = [{"id": 0, "name": HOSTILE}]
    events = starved_events(6, HOSTILE, HOSTILE)
    return report_of(*events, deviceProperties=devices, **{HOSTILE: 1})


def test_names_from_the_trace_are_harmless(hostile: torchtraceap.Report) -> None:
    assert hostile.findings
    for text in (hostile.summary(windows=True), repr(hostile)):
        assert text.replace("\n", "").isprintable()
        assert "\u202e" not in text
        assert not any(line.startswith("forged") for line in text.splitlines())
    assert json.loads(hostile.to_json())["trace"]["devices"][0]["name"] == HOSTILE
    assert hostile.to_json().replace("\n", "").isprintable()


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


def test_names_of_a_trace_are_printed_safely() -> None:
    hostile = PathPlace(None, "a\x1b[2Jb\nc", 600.0)
    line = path_line(CriticalPath(None, 1000.0, {"host": 1000.0}, (hostile,)))
    assert "\x1b" not in line and "\n" not in line
