# SPDX-License-Identifier: BSD-3-Clause
"""test_records.py: what the classes of records do, whichever record it is."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

import torchtraceap
from torchtraceap import _core
from torchtraceap._core import Balance, Event, Finding, Location, Stage, Window


def records_in(value: Any) -> Iterator[Any]:
    """Yield a record and all that are in it."""
    if isinstance(value, tuple):
        for one in value:
            yield from records_in(one)
    elif hasattr(value, "from_dict"):
        yield value
        for name, _, _ in _core.fields(type(value)):
            yield from records_in(getattr(value, name))


@pytest.fixture(scope="module")
def records(slow_loader: torchtraceap.Report) -> list[Any]:
    """One of each kind and content that a report has."""
    r = slow_loader
    parts = (
        *(r.trace, r.quality, r.rule_windows, r.rule_findings, r.balance, r.steps),
        *(r.story, r.recovery, r.critical_paths, r.kernels, r.copies, r.operators),
        *(r.threads, r.kernel_counts, r.overlap, r.unexplained),
    )
    found = list(records_in(parts))
    kinds = {type(one).__name__ for one in found}
    assert {"Label", "Counts", "Fidelity", "PathPlace", "Event"} <= kinds
    return found


def test_they_survive_json_and_pickle(records: list[Any]) -> None:
    for one in records:
        kind = type(one)
        assert kind.from_dict(json.loads(json.dumps(one.to_dict()))) == one
        assert pickle.loads(pickle.dumps(one)) == one == copy.deepcopy(one)
        assert one.replace() == one
        assert list(one.to_dict()) == [name for name, _, _ in _core.fields(kind)]


def test_a_time_is_there_twice() -> None:
    event = Event(7, "aten::mm", 1e15 + 0.001, 2.5)  # As since 1970, in microseconds.
    assert (event.duration_us, event.duration_ns) == (2.5, 2500)
    assert event.start_us == event.start_ns / 1000
    exact = Event(index=7, name="aten::mm", start_ns=event.start_ns, duration_ns=2500)
    assert exact == event and hash(exact) == hash(event)
    assert event != Event(8, "aten::mm", 1e15 + 0.001, 2.5) != "aten::mm"
    assert repr(Event(1, "a", 0.5, 2)) == (
        "Event(index=1, name='a', start_us=0.5, duration_us=2.0)"
    )


def test_they_cannot_be_changed_but_replaced() -> None:
    place = Location("train.py", 8, "step")
    with pytest.raises(AttributeError):
        place.line = 9  # type: ignore[misc]
    assert place.replace(line=9).line == 9 and place.line == 8
    assert str(place) == "train.py:8" and place.recorded_line == 8
    finding = Finding(pattern="sync_stall", subtype="event", location=place)
    assert finding.kind == "sync_stall (event)" and finding.wasted_us == 0
    assert finding.location == place and finding.shares_gain_with == ()


def test_figures_by_name() -> None:
    row = Balance(idle_us={"sync_stall": 1.5})
    assert row.idle_us["sync_stall"] == 1.5 and row.idle_us["launch_bound"] == 0
    assert row.idle_ns == {"sync_stall": 1500}
    assert pickle.loads(pickle.dumps(row.idle_us)) == {"sync_stall": 1.5}
    stage = Stage(id="busy", figures={"span_us": 2.5, "kernels": 3})
    assert stage.figures == {"span_us": 2.5, "kernels": 3}
    assert pickle.loads(pickle.dumps(stage)) == stage


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Event("one"), ValueError, "Event.index must be a whole number"),
        (lambda: Event(-1), ValueError, "a whole number from 0 to 4294967295"),
        (lambda: Event(True), ValueError, "Event.index must be a whole number"),
        (lambda: Event(1, b"a"), ValueError, "Event.name must be text"),
        (lambda: Event(1, "a", float("nan")), ValueError, "must be a finite number"),
        (lambda: Event(1, "a", 1e300), ValueError, "a time of less than 285 years"),
        (lambda: Event(1, "a", 0, 0, 0), TypeError, "Event has 4 fields, but 5"),
        (lambda: Event(begin_us=1), TypeError, "Event has no field begin_us"),
        (lambda: Window(labels=3), ValueError, "Window.labels must be a list"),
        (lambda: Window(labels=[3]), ValueError, r"labels\[0\] must be a Label"),
        (lambda: Window(pid=1.5), ValueError, "Window.pid must be a whole number"),
        (lambda: Finding(side="tpu"), ValueError, "one of cpu, gpu, but is 'tpu'"),
        (lambda: Event.from_dict([]), ValueError, "Event must be an object"),
        (lambda: Event.from_dict({"index": 1}), ValueError, "Event has no name"),
        (
            lambda: Window.from_dict({**Window().to_dict(), "labels": [{}]}, "w[3]"),
            ValueError,
            r"w\[3\]\.labels\[0\] has no pattern",
        ),
    ],
)
def test_wrong_values_are_named(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make()


def test_members_of_later_versions_are_ignored() -> None:
    form = {**Event(1, "a", 2, 3).to_dict(), "later": 1}
    assert Event.from_dict(form) == Event(1, "a", 2, 3)


def test_only_records_have_fields() -> None:
    with pytest.raises(TypeError, match="int is no record"):
        _core.fields(int)
    assert _core.fields(Event)[2] == (
        "start_us",
        "float",
        "Start, on the trace's clock.",
    )
