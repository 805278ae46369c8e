# SPDX-License-Identifier: BSD-3-Clause
"""test_schema.py: records, and their JSON form, which keeps to the packaged schema."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap import Report, _core
from torchtraceap._core import Balance, Event, Finding, Location, Stage, Window
from torchtraceap.gate.side import side_of
from torchtraceap.views import json_form


@pytest.fixture(scope="module")
def jsonschema() -> Any:
    return pytest.importorskip("jsonschema")


@pytest.fixture(scope="module")
def schema(jsonschema: Any) -> dict[str, Any]:
    text = (files("torchtraceap") / "report.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


@pytest.fixture(scope="module")
def validator(jsonschema: Any, schema: dict[str, Any]) -> Any:
    return jsonschema.Draft202012Validator(schema)


@pytest.fixture(scope="module")
def forms(data: Path, form_of: Any) -> list[Any]:
    """The JSON form of every trace in the tree; all are valid."""
    assert form_of(torchtraceap.analyze(b'{"traceEvents": []}'))
    return [form_of(torchtraceap.analyze(p)) for p in sorted(data.glob("*.json.gz"))]


def closed(node: Any) -> Any:
    """The schema without room for members that it does not list."""
    if isinstance(node, list):
        return [closed(one) for one in node]
    if not isinstance(node, dict):
        return node
    listed = isinstance(node.get("properties"), dict)
    more = {"additionalProperties": False} if listed else {}
    return {**more, **{key: closed(value) for key, value in node.items()}}


def test_the_schema_lists_every_member(
    jsonschema: Any, schema: Any, forms: list[Any]
) -> None:
    """It allows others, for readers of later versions; we write none of those."""
    for form in forms:
        jsonschema.validate(form, closed(schema), jsonschema.Draft202012Validator)


def test_what_is_too_much_to_list_is_counted(
    slow_loader: Report, validator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole: Any = slow_loader.to_dict()
    assert set(whole["unlisted"].values()) == {0}
    monkeypatch.setattr(json_form, "MOST", 4)
    report = torchtraceap.analyze(slow_loader.loaded)  # Nothing is converted yet.
    form = json.loads(report.to_json())
    validator.validate(form)
    assert form["unlisted"] == {
        **{"steps": 2, "windows": 349, "critical_paths": 2},
        **{"roofline": len(whole["roofline"]) - 4, "utilization": 3},
        **{"collectives": 0, "engine_steps": 0, "graphs": 0},
    }
    assert form["steps"] == whole["steps"][:4]
    paths = whole["replay"]["critical_paths"]
    assert form["replay"]["critical_paths"] == paths[:5] and len(paths) == 7

    def wasted(window: Any) -> float:
        return sum(label["wasted_us"] for label in window["labels"])

    most = sorted(whole["windows"], key=wasted)[-4:]
    assert form["windows"] == [w for w in whole["windows"] if w in most]
    shown = {window["index"] for window in most}
    for cut, full in zip(form["findings"], whole["findings"], strict=True):
        assert cut["windows"] == [i for i in full["windows"] if i in shown]
        assert {**cut, "windows": 0} == {**full, "windows": 0}
    assert form["trace"] == whole["trace"] and form["balance"] == whole["balance"]
    # A comparison of two such forms is one of all their steps.
    assert side_of(form).steps == 6 and side_of(form).causes == side_of(whole).causes


def test_members_are_required_and_described(schema: Any) -> None:
    for name, node in schema["$defs"].items():
        if "properties" in node and "balance" not in name:
            assert set(node["required"]) == set(node["properties"]), name


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (["schema_version"], 1),
        (["trace", "quality", "verdict"], "fine"),
        (["trace", "events"], -1),
        (["trace", "span_us"], None),
        (["windows", 0, "cpu_wasted_fraction"], 1.5),
        (["windows", 0, "start_us"], "0"),
        (["findings", 0, "severity"], "terrible"),
        (["findings", 0, "location"], {"file": "a.py"}),
        (["findings", 0, "pattern"], "No Pattern"),
        (["findings", 0, "wasted_us"], -1),
        (["balance", 0, "idle_us"], {}),
        (["steps", 0, "balance", "busy_us"], None),
        (["steps", 0, "balance", "idle_us"], {}),
        (["story", 0, "id"], "hurry"),
        (["story", 0, "figures"], {"busy_us": "much"}),
        (["findings", 0, "docs"], "sync_stall.md"),
    ],
)
def test_wrong_reports_are_refused(
    validator: Any, slow_loader: Report, path: list[Any], wrong: Any
) -> None:
    form = copy.deepcopy(slow_loader.to_dict())
    at: Any = form
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = wrong
    assert not validator.is_valid(form)


def test_the_form_says_what_the_report_says(slow_loader: Report) -> None:
    form: Any = json.loads(slow_loader.to_json())
    assert form["tool"] == {"name": "torchtraceap", "version": torchtraceap.__version__}
    assert form["trace"]["steps"] == 6
    assert [step["number"] for step in form["steps"]] == [5, 6, 7, 8, 9, 10]
    limit = next(stage for stage in form["story"] if stage["id"] == "limit")
    assert limit["verdict"] == "host" and limit["known"]
    first = form["findings"][0]
    assert first["docs"] == "docs/patterns/dataloader_bound.md"
    assert first["location"]["line"] == 42
    share = first["recoverable_us"] / form["trace"]["span_us"]
    assert first["recoverable_fraction"] == pytest.approx(share)
    assert form["replay"]["refusal"] is None


def test_to_json_writes_what_it_returns(slow_loader: Report, tmp_path: Path) -> None:
    text = slow_loader.to_json(tmp_path / "report.json")
    assert (tmp_path / "report.json").read_text("ascii") == text + "\n"


# --- Records --------------------------------------------------------------------------


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
def records(slow_loader: Report) -> list[Any]:
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
        (lambda: Event(1, "a", 1e300), ValueError, "a time below 285 years"),
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
    with pytest.raises(TypeError, match="int is not a record"):
        _core.fields(int)
    assert _core.fields(Event)[2] == (
        "start_us",
        "float",
        "Start, on the trace's clock.",
    )
