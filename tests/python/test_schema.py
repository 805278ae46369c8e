# SPDX-License-Identifier: BSD-3-Clause
"""test_schema.py: the JSON form keeps to the schema that the package carries."""

from __future__ import annotations

import copy
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.gate.side import side_of
from torchtraceap.views import json_form

jsonschema = pytest.importorskip("jsonschema")


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    text = (files("torchtraceap") / "report.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


@pytest.fixture(scope="module")
def validator(schema: dict[str, Any]) -> Any:
    return jsonschema.Draft202012Validator(schema)


@pytest.fixture(scope="module")
def forms(data: Path) -> list[Any]:
    """The JSON form of every trace in the tree."""
    return [
        json.loads(torchtraceap.analyze(path).to_json())
        for path in sorted(data.glob("*.json.gz"))
    ]


def test_reports_are_valid(validator: Any, forms: list[Any]) -> None:
    for form in forms:
        validator.validate(form)
    empty = torchtraceap.analyze(b'{"traceEvents": []}')
    validator.validate(json.loads(empty.to_json()))


def closed(node: Any) -> Any:
    """The schema without room for members that it does not list."""
    if isinstance(node, list):
        return [closed(one) for one in node]
    if not isinstance(node, dict):
        return node
    listed = isinstance(node.get("properties"), dict)
    more = {"additionalProperties": False} if listed else {}
    return {**more, **{key: closed(value) for key, value in node.items()}}


def test_the_schema_lists_every_member(schema: Any, forms: list[Any]) -> None:
    """It allows others, for readers of later versions; we write none of those."""
    for form in forms:
        jsonschema.validate(form, closed(schema), jsonschema.Draft202012Validator)


def test_what_is_too_much_to_list_is_counted(
    slow_loader: torchtraceap.Report, validator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole: Any = slow_loader.to_dict()
    assert set(whole["unlisted"].values()) == {0}
    monkeypatch.setattr(json_form, "MOST", 4)
    report = torchtraceap.analyze(slow_loader.loaded)  # Nothing is converted yet.
    form = json.loads(report.to_json())
    validator.validate(form)
    assert form["unlisted"] == {"steps": 2, "windows": 349, "critical_paths": 2}
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
    validator: Any, slow_loader: torchtraceap.Report, path: list[Any], wrong: Any
) -> None:
    form = copy.deepcopy(slow_loader.to_dict())
    at: Any = form
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = wrong
    assert not validator.is_valid(form)


def test_the_form_says_what_the_report_says(slow_loader: torchtraceap.Report) -> None:
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


def test_to_json_writes_what_it_returns(
    slow_loader: torchtraceap.Report, tmp_path: Path
) -> None:
    text = slow_loader.to_json(tmp_path / "report.json")
    assert (tmp_path / "report.json").read_text("ascii") == text + "\n"
    with pytest.raises(OSError):
        slow_loader.to_json(tmp_path / "no" / "report.json")
