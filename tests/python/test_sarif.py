# SPDX-License-Identifier: BSD-3-Clause
"""test_sarif.py: SARIF and Markdown of reports: valid, on the line, and harmless."""

from __future__ import annotations

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import torchtraceap
from torchtraceap import Report, _core
from torchtraceap.gate.budget import read_budget
from torchtraceap.gate.checks import (
    FORMS,
    check_markdown,
    check_report,
    check_text,
)
from torchtraceap.views.sarif import source_uri

from .conftest import Cli
from .trace_builder import loader_trace

jsonschema = pytest.importorskip("jsonschema")

# What a trace may bring: it names whatever it likes.
HOSTILE = [
    "</script><img src=x onerror=alert(1)>.py",
    "a|b\n# forged\n| c | `code` | ``more`` |.py",
    "[link](http://evil.example/) ![x](http://evil.example/).py",
    "{0} {1} \\[x\\] @everyone #1.py",
    "\x00\x01\x1b[31mred\x1b[0m\u202egnp.py",
    "\ufffe\uffff\ud800\u2028.py",
    "]]> <!-- & \" ' -->.py",
    "```\n$x$ ~~~.py",
]


@pytest.fixture(scope="module")
def validator(data: Path) -> Any:
    """Of the schema that OASIS publishes with the standard."""
    text = (data / "sarif" / "sarif-schema-2.1.0.json").read_text("utf-8")
    schema = json.loads(text)
    assert schema["id"].endswith("/sarif-schema-2.1.0.json")
    checker = jsonschema.FormatChecker()
    return jsonschema.Draft4Validator(schema, format_checker=checker)


def run_of(report: Report, **options: Any) -> dict[str, Any]:
    (run,) = json.loads(report.to_sarif(**options))["runs"]
    assert isinstance(run, dict)
    return run


def test_every_trace_gives_valid_sarif(data: Path, validator: Any) -> None:
    for path in sorted(data.glob("*.json.gz")):
        report = torchtraceap.analyze(path)
        form = json.loads(report.to_sarif())
        validator.validate(form)
        (run,) = form["runs"]
        told = run["invocations"][0]["toolExecutionNotifications"]
        # Each finding is reported once, with a line or without.
        places = [f for f in report.findings if f.location]
        assert len(run["results"]) == len(places)
        rest = len(report.findings) - len(places)
        assert len(told) == rest + len(report.quality.reasons)
        for result in run["results"]:
            rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
            assert rule["id"] == result["ruleId"]


def test_the_validator_does_object(slow_loader: Report, validator: Any) -> None:
    form = json.loads(slow_loader.to_sarif())
    form["runs"][0]["results"][0]["level"] = "high"
    assert not validator.is_valid(form)


def test_a_finding_is_on_its_line(slow_loader: Report, tmp_path: Path) -> None:
    path = tmp_path / "out.sarif"
    text = slow_loader.to_sarif(path)
    assert path.read_text() == text + "\n"
    result = json.loads(text)["runs"][0]["results"][0]
    finding = slow_loader.findings[0]
    assert (result["ruleId"], result["level"]) == ("dataloader_bound", "error")
    assert result["partialFingerprints"]["finding/v1"] == finding.id
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {
            "uri": "resnet50_profiler_api.py",
            "uriBaseId": "%SRCROOT%",
        },
        "region": {"startLine": 42},
    }
    assert "20.8 %" in result["message"]["text"]
    assert result["properties"]["wastedUs"] == finding.wasted_us
    rules = run_of(slow_loader)["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [
        pattern.name for pattern in _core.patterns() if pattern.user_finding
    ]


def test_a_place_stays_when_lines_shift() -> None:
    reports = [torchtraceap.analyze(loader_trace(line=n)) for n in (12, 20)]
    marks = [run_of(r)["results"][0]["partialFingerprints"] for r in reports]
    assert marks[0]["place/v1"] == marks[1]["place/v1"]
    assert marks[0]["finding/v1"] != marks[1]["finding/v1"]


def test_uris(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = str(here)
    (here / "in").mkdir()
    expected = {
        "train.py": ("train.py", True),
        "./a/../train.py": ("train.py", True),
        "a b/ü#?%.py": ("a%20b/%C3%BC%23%3F%25.py", True),
        "c:d.py": ("c%3Ad.py", True),
        "sub\\win.py": ("sub/win.py", True),
        f"{root}/in/x.py": ("in/x.py", True),
        f"{root}/../x.py": (f"file://{here.parent}/x.py", False),
        "../x.py": (f"file://{here.parent}/x.py", False),
        "in/../../../x.py": (f"file://{here.parent.parent}/x.py", False),
        f"{root}2/x.py": (f"file://{root}2/x.py", False),
        "/opt/x y.py": ("file:///opt/x%20y.py", False),
        "C:\\My Code\\t.py": ("file:///C:/My%20Code/t.py", False),
        "D:/t/../../u.py": ("file:///D:/u.py", False),
    }
    assert {file: source_uri(file, root) for file in expected} == expected
    for nothing in ("", "<string>", "<frozen importlib._bootstrap>", "a\0b", "."):
        assert source_uri(nothing, root) is None
    assert source_uri("\\\\server\\share\\x.py", root) is None
    # Relative to the working folder, if no other is named.
    assert source_uri(f"{root}/in/x.py") == ("in/x.py", True)
    # The profiler leaves out the folder of sys.path that a module is in.
    (here / "in" / "module.py").write_text("")
    monkeypatch.syspath_prepend(str(here / "in"))
    assert source_uri("module.py") == ("in/module.py", True)


def test_uris_lead_back_to_the_file(tmp_path: Path) -> None:
    for name in (*HOSTILE, "plain.py", "a b.py", "%41.py", "#.py", "?.py"):
        if "\0" in name or "\ud800" in name or name[0] == "<":
            continue
        uri, relative = source_uri(name, str(tmp_path)) or ("", False)
        assert uri.isascii()
        assert not urlsplit(uri).scheme and not urlsplit(uri).netloc
        assert relative and ".." not in uri.split("/")
        assert unquote(uri) == os.path.normpath(name.replace("\\", "/"))


def test_the_root_can_be_told(tmp_path: Path) -> None:
    report = torchtraceap.analyze(loader_trace(file=f"{tmp_path}/src/train.py"))
    for root, uri in ((tmp_path, "src/train.py"), (tmp_path / "src", "train.py")):
        result = run_of(report, root=root)["results"][0]
        place = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert place == {"uri": uri, "uriBaseId": "%SRCROOT%"}


def test_without_a_line_nothing_is_lost() -> None:
    report = torchtraceap.analyze(loader_trace(file="<string>"))
    assert len(report.findings) == 1
    run = run_of(report)
    assert run["results"] == []
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"].startswith("dataloader_bound (")
    rule = run["tool"]["driver"]["rules"][note["associatedRule"]["index"]]
    assert rule["id"] == "dataloader_bound"


def test_several_traces_are_several_runs(
    cli: Cli, data: Path, tmp_path: Path, validator: Any
) -> None:
    trace = data / "h100-vit-nsfw-inference.json.gz"
    out = tmp_path / "out.sarif"
    cli("analyze", trace, trace, "--sarif", out).fine()
    form = json.loads(out.read_text())
    validator.validate(form)
    ids = [run["automationDetails"]["id"] for run in form["runs"]]
    assert len(set(ids)) == 2


class Tags(HTMLParser):
    """Collects what HTML a text has."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.found.add(tag)


def outside_code(markdown: str) -> str:
    """Return what a Markdown reader takes for more than code: an own small reader of
    CommonMark's code spans, in which a fence ends at one of equal length."""
    out, at = [], 0
    while at < len(markdown):
        if markdown[at] == "\\":
            at += 2
        elif markdown[at] == "`":
            fence = len(markdown[at:]) - len(markdown[at:].lstrip("`"))
            end = at + fence
            while True:
                end = markdown.index("`", end)
                run = len(markdown[end:]) - len(markdown[end:].lstrip("`"))
                if run == fence:
                    break
                end += run
            assert "\n" not in markdown[at:end]
            at = end + fence
        else:
            out.append(markdown[at])
            at += 1
    return "".join(out)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_do_nothing(name: str, validator: Any) -> None:
    report = torchtraceap.analyze(loader_trace(file=name, function=name))
    assert report.findings
    form = json.loads(report.to_sarif())
    validator.validate(form)
    budget = read_budget({"patterns": {"*": {"max_count": 0}}, "min_busy": 1})
    checked = check_report(report, budget, torchtraceap.compare(report, report))
    assert checked.broken
    form = json.loads(FORMS["sarif"].text([checked], None))
    validator.validate(form)
    (run,) = form["runs"]
    texts = [result["message"]["text"] for result in run["results"]]
    notes = run["invocations"][0]["toolExecutionNotifications"]
    texts += [note["message"]["text"] for note in notes]
    assert "forged" not in name or any("forged" in text for text in texts)
    for text in texts:  # No placeholder, no link.
        assert not re.search(r"(?<!\{)\{\d", text.replace("{{", "(("))
        assert not re.search(r"(?<!\\)\[", text)
    for markdown in (report.to_markdown(), check_markdown([checked])):
        tags = Tags()
        tags.feed(outside_code(markdown))
        assert tags.found <= {"details", "summary"}
        for word in ("evil", "forged", "onerror", "@everyone", "$x$"):
            assert word not in outside_code(markdown)
        rows = [line for line in markdown.splitlines() if line.startswith("|")]
        for row in rows:
            cells = row.replace("\\|", "").count("|") - 1
            assert cells in (3, 5, 6)
    everything = check_text(checked) + report.to_markdown()
    assert all(c.isprintable() or c == "\n" for c in everything)
    assert "\n# forged" not in everything


def test_markdown_stays_small(slow_loader: Report) -> None:
    trace = loader_trace(file="|" * 5000 + ".py", function="`" * 5000)
    reports = [torchtraceap.analyze(trace)] * 400
    from torchtraceap.views.markdown import reports_markdown

    budget = read_budget({"patterns": {"*": {"max_count": 0}}})
    for text in (
        reports_markdown(reports),
        check_markdown([check_report(report, budget) for report in reports]),
    ):
        assert 20_000 < len(text.encode()) < 65_536
        assert text.splitlines()[-1].startswith("and ")
    text = slow_loader.to_markdown()
    assert (
        "| `resnet50_profiler_api.py:42` | `dataloader_bound (single_process)`" in text
    )
    assert text.count("\n| ") == 2 + len(slow_loader.findings)
