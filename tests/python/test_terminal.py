# SPDX-License-Identifier: BSD-3-Clause
"""test_terminal.py: text for people is readable, and safe with hostile names anywhere
in a trace."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from torchtraceap._core import CriticalPath, Location, PathPlace
from torchtraceap.base.safe_text import encodable, printable
from torchtraceap.base.units import share_text, time_text
from torchtraceap.views.heading import kinds_text, path_line

from .conftest import Cli
from .trace_builder import frame, named, starved_events, trace_of

HOSTILE = {
    "colors, title and bell": "\x1b[31m\x1b]0;title\x07",
    "controls of eight bits": "\x9b31m\x90q\x9c",
    "forged lines": "\r\nFindings, most wasted time first:\x0b\x0c\x85",
    "other ends of lines": "a\u2028b\u2029c",
    "bidirectional": "\u202a\u202b\u202c\u202d\u202egnp\u2066\u2067\u2068\u2069\u061c",
    "directional marks": "\u200e\u200f",
    "zero width": "a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg\u034fh",
    "blank letters": "\u3164\u115f\u1160\uffa0\u2800\u17b4\u17b5",
    "blanks": "\u00a0\u2003\u3000\u205f",
    "tags": "\U000e0001\U000e0041\U000e007f",
    "combining": "Z" + "\u0308\u0315\u0489" * 200,
    "combining at the start": "\u0336" * 3 + "name",
    "private and unassigned": "\ue000\U000f0000\U0010ffff\u0378",
}


def assert_harmless(text: str) -> None:
    """Judge by Unicode's own tables, not by the code under test."""
    marks = 0
    for c in text.replace("\n", ""):
        category = unicodedata.category(c)
        assert category[0] != "C" and category not in ("Zl", "Zp"), f"{c!r}"
        assert category != "Zs" or c == " ", f"{c!r}"
        assert c not in "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0", f"{c!r}"
        marks = marks + 1 if category in ("Mn", "Me") else 0
        assert marks <= 4
    for line in text.splitlines():
        assert not unicodedata.combining(line.lstrip(" ")[:1] or " ")


def hostile_trace(name: str) -> bytes:
    """A loader that keeps a device waiting, with a name in every place there is."""
    return trace_of(
        frame(f"{name}.py(3): {name}", 0, 70_000),
        {"ph": name, "name": name},
        named("process_name", name, pid=name),
        {"ph": "X", "cat": name, "name": name, "pid": name, "tid": name, "ts": name},
        *starved_events(6, name, name),
        deviceProperties=[{"id": 0, "name": name}],
        **{name: name},
    )


@pytest.mark.parametrize("case", HOSTILE)
def test_what_the_program_prints(cli: Cli, tmp_path: Path, case: str) -> None:
    name = HOSTILE[case]
    path = tmp_path / (name.replace("\0", "")[:40] + ".json")
    path.write_bytes(hostile_trace(name))
    results = [
        cli("analyze", path, "--windows", 9),
        cli("inspect", path),
        cli("inspect", path, "--json"),
    ]
    for result in results:
        assert_harmless(result.fine())
        assert result.err == ""
    lines = results[0].out.splitlines()
    assert sum(line.startswith("Findings,") for line in lines) == 1
    path.write_text(f'{{"traceEvents": [{{"name": {name!r}')
    for command in ("analyze", "inspect"):
        code, _, err = cli(command, path)
        assert code == 2
        assert_harmless(err)


@pytest.mark.parametrize(
    "text",
    [
        "aten::mm × 2 µs …",
        "内核 ядро カーネル 🔥",
        "Việt Nam a\u0302\u0301",  # two marks on one letter, as Vietnamese has
        "שָׁלוֹם",
        "กี่",
        "हिन्दी",
    ],
)
def test_names_in_all_languages_are_kept(text: str) -> None:
    assert printable(text) == text


def test_marks_beyond_four_are_written_out() -> None:
    assert printable("e" + "\u0301" * 6) == "e" + "\u0301" * 4 + r"\u0301\u0301"
    assert printable("\u0301e") == r"\u0301e"


# --- Text for people ------------------------------------------------------------------


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
