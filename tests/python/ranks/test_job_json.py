# SPDX-License-Identifier: BSD-3-Clause
"""test_job_json.py: the JSON form of a job keeps to the schema in the package."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.views import job_json

from ..test_schema import closed
from .small_job import even, slow_loader

jsonschema = pytest.importorskip("jsonschema")


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    text = (files("torchtraceap") / "job.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


@pytest.fixture(scope="module")
def validator(schema: dict[str, Any]) -> Any:
    return jsonschema.Draft202012Validator(schema)


def test_jobs_are_valid_and_no_member_is_unlisted(
    schema: dict[str, Any], validator: Any, slow_job: Path, tmp_path: Path
) -> None:
    real = torchtraceap.analyze(slow_job)
    form = real.to_json(tmp_path / "job.json")
    assert json.loads((tmp_path / "job.json").read_text("ascii")) == form
    for one in (form, job_json.job_json(slow_loader()), job_json.job_json(even())):
        validator.validate(one)
        jsonschema.validate(one, closed(schema), jsonschema.Draft202012Validator)


def test_it_says_what_the_job_says(validator: Any) -> None:
    form = job_json.job_json(slow_loader())
    assert form["job"]["slowdown"] == 1.5 and form["unlisted"] == {
        "joined_collectives": 0
    }
    assert [late["culprit"] for late in form["late"]] == [True, False, False]
    assert form["late"][0]["finding"]["location"]["line"] == 41
    assert form["ranks"][3]["span_us"] == 180e3
    assert form["joined_collectives"][0]["arrivals"][3]["wait_us"] == 0.0
    for path, wrong in (
        (["schema_version"], 1),
        (["job", "slowdown"], None),
        (["ranks", 0, "verdict"], "fine"),
        (["late", 0, "location"], {"file": "a.py"}),
        (["late", 0, "finding", "pattern"], "No Pattern"),
        (["culprits", 0, "what"], "weather"),
        (["joined_collectives", 0, "arrivals", 0, "wait_us"], -1),
    ):
        broken: Any = copy.deepcopy(form)
        at = broken
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = wrong
        assert not validator.is_valid(broken), path


def test_of_many_collectives_those_with_most_waiting_are_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(job_json, "MOST_ARRIVALS", 20)
    job = slow_loader()
    collectives = tuple(
        replace(job.joined_collectives[0], wait_us=w) for w in (1.0, 9.0, 2.0, 8.0)
    )
    form = job_json.job_json(replace(job, joined_collectives=collectives))
    assert [one["wait_us"] for one in form["joined_collectives"]] == [9.0, 8.0]
    assert form["unlisted"] == {"joined_collectives": 2}
