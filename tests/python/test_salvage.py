# SPDX-License-Identifier: BSD-3-Clause
"""test_salvage.py: what is left of a trace that was cut, at every byte there is.

The whole events before a cut are counted with Python's json on the sound text.
Damage inside events is the matter of tests/cpp/trace/test_recover.cpp.
TORCHTRACEAP_EVERY_CUT=1 cuts three real traces at every byte too (minutes).
"""

from __future__ import annotations

import bisect
import gzip
import json
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import torchtraceap

from .faults.base import list_start, spans, synthetic

ROOT = Path(__file__).resolve().parents[2]
LONG = [
    ROOT / "tests" / "data" / f"{name}.json.gz"
    for name in (
        "old-catnames-tiny-no-schema",
        "a100-event-sync-3streams-tiny",
        "mi300-torch-compile-triton",
    )
]
needs_hours = pytest.mark.skipif(
    not os.environ.get("TORCHTRACEAP_EVERY_CUT"),
    reason="TORCHTRACEAP_EVERY_CUT not set",
)


class Sound:
    """A sound text, and where its list and each of its events end."""

    def __init__(self, text: str) -> None:
        assert text.isascii()  # So that characters are bytes.
        self.content = text.encode()
        self.start = list_start(text) + 1
        self.ends = [end for _, end in spans(text, self.start - 1)]
        self.end = len(text.rstrip())

    def whole_events(self, length: int) -> int:
        """Count the events that end within the first bytes."""
        return bisect.bisect_right(self.ends, length)


def small() -> Sound:
    """Return a text of 14 events and members on both sides, under 10 KB."""
    base = synthetic()
    return Sound(base.text(base.events[:14]))


def check_cut(content: bytes, sound: Sound, length: int, **options: Any) -> None:
    """Check both ways of loading a file of which `length` bytes of text are left."""
    with pytest.raises(torchtraceap.TraceError) as caught:
        torchtraceap.load(content)
    error = caught.value
    whole = sound.whole_events(length)
    assert error.kind in ("truncated", "gzip_truncated")
    assert f" {whole} whole events" in str(error)
    if length == 0:  # The cut is so early that the gzip holds no text.
        with pytest.raises(torchtraceap.TraceError):
            torchtraceap.load(content, recover=True)
        return
    trace = torchtraceap.load(content, recover=True)
    assert len(trace) == whole
    assert error.kind in {warning.kind for warning in trace.warnings}


def test_every_cut() -> None:
    sound = small()
    assert len(sound.content) <= 10_000
    for length in range(1, sound.end):
        check_cut(sound.content[:length], sound, length)


def test_cuts_of_gzip() -> None:
    sound = small()
    data = gzip.compress(sound.content, mtime=0)
    for length in range(12, len(data)):
        text = zlib.decompressobj(31).decompress(data[:length])
        check_cut(data[:length], sound, len(text))


def test_what_is_recovered_is_what_was_there() -> None:
    sound = small()
    whole = torchtraceap.load(sound.content)
    cut = torchtraceap.load(sound.content[: sound.ends[9] + 30], recover=True)
    names, cut_names = whole.strings, cut.strings
    for column, values in cut.columns.items():
        expected = whole.columns[column][:10]
        if column == "name":
            assert [cut_names[i] for i in values] == [names[i] for i in expected]
        else:
            np.testing.assert_array_equal(values, expected, column)
    events = json.loads(sound.content)["traceEvents"]
    args = [json.loads(text) if text else None for text in cut.read_args(range(10))]
    assert args == [event.get("args") for event in events[:10]]


@needs_hours
@pytest.mark.parametrize("path", LONG, ids=lambda path: path.name)
def test_every_cut_of_real_traces(path: Path) -> None:
    sound = Sound(gzip.decompress(path.read_bytes()).decode())
    for length in range(1, sound.end):
        check_cut(sound.content[:length], sound, length)
