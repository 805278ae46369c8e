# SPDX-License-Identifier: BSD-3-Clause
"""test_load_options.py: what the options of `load` and `analyze` keep and refuse."""

from __future__ import annotations

import gzip
import inspect
import itertools
import json
import os
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import torchtraceap
from torchtraceap import analyze, load
from torchtraceap.data.load import LoadOptions

STEPS = "kineto2021-v100-resnet50-workers0-memory.json.gz"  # ProfilerStep#5 to #10


@pytest.fixture(scope="module")
def text(data: Path) -> bytes:
    return gzip.decompress((data / STEPS).read_bytes())


@pytest.fixture(scope="module")
def events(text: bytes) -> list[dict[str, Any]]:
    """The events as Python's json sees them; times in this file are whole."""
    found: list[dict[str, Any]] = json.loads(text)["traceEvents"]
    return found


def names_of(trace: torchtraceap.Trace) -> list[str]:
    """Return the names of all events, in file order."""
    strings, columns = trace.strings, trace.columns
    return [strings[i] for i in columns["name"][np.argsort(columns["args_offset"])]]


def meets(event: dict[str, Any], begin: float, end: float) -> bool:
    """Tell whether an event meets [begin, end), in microseconds; without a time it
    does, and so does metadata."""
    if "ts" not in event or event["ph"] == "M":
        return True
    start, length = event["ts"], event.get("dur", 0)
    return start < end and (start >= begin or start + length > begin)


@pytest.mark.parametrize("categories", [["kernel"], ["cpu_op", "gpu_memset"]])
def test_categories(
    text: bytes, events: list[dict[str, Any]], categories: list[str]
) -> None:
    kept = load(text, categories=categories)
    today = {"Operator": "cpu_op", "Kernel": "kernel", "Memset": "gpu_memset"}
    expected = [
        e["name"]
        for e in events
        if today.get(e.get("cat", ""), e.get("cat")) in categories or e["ph"] == "M"
    ]
    metadata = sum(e["ph"] == "M" for e in events)
    assert names_of(kept) == expected and expected
    assert kept.left_out == len(events) - len(expected)
    rest = load(text, skip_categories=iter(categories))
    assert len(rest) == kept.left_out + metadata
    assert rest.left_out == len(kept) - metadata


def test_both_lists_of_categories_hold(text: bytes) -> None:
    both = load(text, categories=["kernel", "cpu_op"], skip_categories=["cpu_op"])
    assert names_of(both) == names_of(load(text, categories=["kernel"]))


def test_time_range(text: bytes, events: list[dict[str, Any]]) -> None:
    starts = sorted(e["ts"] for e in events if e["ph"] == "X")
    begin, end = starts[len(starts) // 3], starts[len(starts) // 2]
    for low, high in ((begin, end), (begin, None), (None, end)):
        bounds = (low or 0, high or float("inf"))
        expected = [e["name"] for e in events if meets(e, *bounds)]
        kept = load(text, time_range_us=(low, high))
        assert names_of(kept) == expected
        assert kept.left_out == len(events) - len(expected) > 0
    assert len(load(text, time_range_us=(None, None))) == len(events)
    as_floats = load(text, time_range_us=(np.float64(begin), Fraction(end)))
    assert len(as_floats) == len(load(text, time_range_us=(begin, end)))


def test_bounds_are_read_as_the_file_is() -> None:
    """To the nanosecond, where a multiplied double would be off by one."""
    stamps = ["4372189311950.743", "4372189311950.744", "0.001", "0.003"]
    for stamp in stamps:
        event = f'{{"ph": "i", "name": "a", "ts": {stamp}}}'
        source = f'{{"traceEvents": [{event}]}}'.encode()
        assert len(load(source, time_range_us=(float(stamp), None))) == 1
        assert len(load(source, time_range_us=(None, float(stamp)))) == 0


def time_of_steps(events: list[dict[str, Any]], first: int, last: int) -> list[int]:
    """Return when steps of this trace begin, and when the work they launched ends."""
    names = {f"ProfilerStep#{number}" for number in range(first, last + 1)}
    spans = [e for e in events if e["name"] in names]
    begin = min(e["ts"] for e in spans)
    end = max(e["ts"] + e["dur"] for e in spans)
    launched = {
        e["args"]["correlation"]
        for e in events
        if e.get("cat") == "Runtime" and begin <= e["ts"] < end
    }
    work = [
        e["ts"] + e["dur"]
        for e in events
        if e.get("cat") in ("Kernel", "Memcpy", "Memset")
        and e["args"]["correlation"] in launched
    ]
    return [begin, max([end, *work])]


@pytest.mark.parametrize(("first", "last"), [(5, 5), (6, 7), (10, 10)])
def test_steps_keep_what_meets_them(
    text: bytes, events: list[dict[str, Any]], first: int, last: int
) -> None:
    begin, end = time_of_steps(events, first, last)
    expected = [e["name"] for e in events if meets(e, begin, end)]
    loaded = load(text, steps=(first, last))
    assert names_of(loaded) == expected and f"ProfilerStep#{last}" in expected
    assert loaded.left_out == len(events) - len(expected) > 0
    assert analyze(text, steps=(first, last)).trace.events == len(expected)


def test_one_number_is_one_step(text: bytes) -> None:
    assert names_of(load(text, steps=6)) == names_of(load(text, steps=(6, 6)))


@pytest.fixture
def touched(tmp_path: Path, text: bytes) -> Iterator[Path]:
    """A trace that somebody writes to all the time."""
    path = tmp_path / "trace.json"
    path.write_bytes(text)
    over = threading.Event()

    def touch() -> None:
        for number in itertools.count(1):
            os.utime(path, ns=(number, number))
            if over.is_set():
                return

    thread = threading.Thread(target=touch)
    thread.start()
    yield path
    over.set()
    thread.join()


def test_a_file_that_changes_while_it_is_read(touched: Path, text: bytes) -> None:
    with pytest.raises(torchtraceap.TraceError, match="changed while it was") as error:
        load(touched)
    assert (error.value.kind, error.value.path) == ("changed", str(touched))
    # Cut so far, which is not damage: it is being written.
    touched.write_bytes(text[: len(text) // 2])
    for recover in (False, True):
        with pytest.raises(
            torchtraceap.TraceError, match="when it is complete"
        ) as error:
            load(touched, recover=recover)
        assert error.value.kind == "changed"


def test_a_file_that_goes_while_it_is_read(data: Path, tmp_path: Path) -> None:
    """It was whole. What needs it once more says what to do."""
    path = tmp_path / "trace.json.gz"
    path.write_bytes((data / STEPS).read_bytes())
    trace = load(path)
    path.unlink()
    again = r"trace\.json\.gz: cannot be opened: .* restore it, or load a copy that st"
    with pytest.raises(FileNotFoundError, match=again):
        trace.read_args([0])


def test_a_file_that_changes_between_the_passes(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes((data / STEPS).read_bytes())
    find = torchtraceap._core.step_range

    def find_while_it_is_written(*args: int) -> tuple[int, int]:
        os.utime(path, ns=(1, 1))
        return find(*args)

    monkeypatch.setattr(torchtraceap._core, "step_range", find_while_it_is_written)
    with pytest.raises(torchtraceap.TraceError, match="changed while it was") as error:
        load(path, steps=5)
    assert (error.value.kind, error.value.path) == ("changed", str(path))


def test_steps_that_are_not_there(data: Path, tmp_path: Path) -> None:
    with pytest.raises(torchtraceap.TraceError, match="Its steps are 5 to 10") as error:
        load(data / STEPS, steps=(9, 11))
    assert error.value.kind == "no_such_step"
    assert "ProfilerStep#11" in str(error.value)
    with pytest.raises(torchtraceap.TraceError, match="no profiler steps"):
        load(b'{"traceEvents": []}', steps=0)


def test_load_and_analyze_take_the_same_options() -> None:
    taken = list(inspect.signature(load).parameters)[1:]
    assert taken == list(LoadOptions.__annotations__)
    for name in taken:
        assert f"{name}: " in (load.__doc__ or "")
        assert name in (analyze.__doc__ or "")


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"recover": 1}, TypeError, "recover must be True or False, but is of type int"),
    ({"threads": 0}, ValueError, "threads must be at least 1, but is 0"),
    ({"threads": 257}, ValueError, "threads must be at most 256"),
    ({"threads": True}, TypeError, "threads must be an int, but is of type bool"),
    ({"threads": 2.0}, TypeError, "threads must be an int, but is of type float"),
    ({"max_text_bytes": -1}, ValueError, "at least 1, but is -1"),
    ({"max_text_bytes": 10**5000}, ValueError, "but is far more"),
    ({"max_ratio": 0}, ValueError, "greater than 0, but is 0"),
    ({"max_ratio": float("nan")}, ValueError, "greater than 0, but is nan"),
    ({"max_ratio": "2"}, TypeError, "max_ratio must be a number"),
    ({"categories": "kernel"}, TypeError, "categories must be a list of names"),
    ({"categories": 3}, TypeError, "categories must be a list of names"),
    ({"categories": [3]}, TypeError, "type str, but one is of type int"),
    ({"categories": ["kernal"]}, ValueError, "'kernal' is not a category.*gpu_memcpy"),
    ({"categories": ["\ud800"]}, ValueError, "is not a category"),
    ({"categories": []}, ValueError, "leave no category"),
    ({"skip_categories": ["gpu"]}, ValueError, "skip_categories: 'gpu' is no"),
    (
        {"categories": ["kernel"], "skip_categories": ["Kernel"]},
        ValueError,
        "leave no category",
    ),
    ({"steps": (5, 3)}, ValueError, "5 is after 3"),
    ({"steps": -1}, ValueError, "steps must be at least 0"),
    ({"steps": True}, TypeError, "steps must be an int"),
    ({"steps": (1, 2, 3)}, TypeError, r"pair \(first, last\)"),
    ({"steps": "12"}, TypeError, r"pair \(first, last\)"),
    ({"steps": 1.5}, TypeError, "steps must be an int"),
    ({"steps": 2**64}, ValueError, "at most 9223372036854775807"),
    ({"steps": 1, "time_range_us": (0, 1)}, ValueError, "exclude each other"),
    ({"time_range_us": 5}, TypeError, r"pair \(begin, end\)"),
    ({"time_range_us": (1, 2, 3)}, TypeError, r"pair \(begin, end\)"),
    ({"time_range_us": (5, 3)}, ValueError, r"but is \(5, 3\)"),
    ({"time_range_us": (5, 5)}, ValueError, r"but is \(5, 5\)"),
    ({"time_range_us": (float("nan"), 3)}, ValueError, "but one is nan"),
    ({"time_range_us": (None, float("inf"))}, ValueError, "but one is inf"),
    ({"time_range_us": (-(10**5000), 0)}, ValueError, "times that a trace can have"),
    ({"time_range_us": (True, 3)}, TypeError, "not of type bool"),
    ({"time_range_us": ("1", 3)}, TypeError, "not of type str"),
    ({"progress": "yes"}, TypeError, "progress must be True, False, None or a call"),
    ({"progress": 1}, TypeError, "but is of type int"),
]


@pytest.mark.parametrize(("options", "error", "message"), WRONG)
def test_wrong_options_are_refused(
    tmp_path: Path, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    # Before any file is touched: this one is not there.
    gone = tmp_path / "gone.json"
    for refused in (
        lambda: load(gone, **options),
        lambda: analyze(gone, **options),
        lambda: analyze([], **options),
    ):
        with pytest.raises(error, match=message) as caught:
            refused()
        assert type(caught.value) is error and len(str(caught.value)) < 1000


def test_options_of_loading_do_not_apply_to_what_is_loaded(text: bytes) -> None:
    trace = load(b'{"traceEvents": []}')
    message = r"steps, recover: .* a Trace, .* Pass them to load"
    for source in (trace, [trace]):
        with pytest.raises(TypeError, match=message):
            analyze(source, steps=3, recover=True)
    assert analyze(trace, recover=False, steps=None, progress=False)
    with pytest.raises(TypeError, match="unexpected option 'step'"):
        analyze(trace, step=3)  # type: ignore[call-overload]


def test_iterators_of_categories_last_for_all_traces(text: bytes) -> None:
    reports = analyze([text, text], skip_categories=iter(["cpu_op"]))
    assert reports[0].trace.events == reports[1].trace.events < len(load(text))


def test_a_profiler_takes_none_of_them() -> None:
    torch = pytest.importorskip("torch")
    with torch.profiler.profile() as prof:
        torch.ones(3).sum()
    with pytest.raises(TypeError, match=r"steps: .* a profiler, .* Export the trace"):
        analyze(prof, steps=1)
