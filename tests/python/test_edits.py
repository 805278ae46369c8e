# SPDX-License-Identifier: BSD-3-Clause
"""test_edits.py: the edits that stand for fixes, and those that users make."""

from __future__ import annotations

import contextlib
import fnmatch
import inspect
import random
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import torchtraceap
from torchtraceap import _core, edits

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
PAGE = (ROOT / "docs" / "replay.md").read_text()


def gain(report: torchtraceap.Report, *made: edits.Edit) -> float:
    found = torchtraceap.what_if(report, *made).gain
    assert found is not None
    return found.high_us


def test_each_edit_is_a_function_with_the_same_name() -> None:
    with pytest.raises(ValueError, match="there are: ") as refused:
        _core.Edit("", [])
    for kind in str(refused.value).partition("there are: ")[2].split(", "):
        make = getattr(edits, kind)
        arguments = {"name": "x", "what": "x", "factor": 0.5}
        takes = inspect.signature(make).parameters
        made = make(**{k: v for k, v in arguments.items() if k in takes})
        assert made.kind == kind
        assert f"| `{kind}(" in PAGE


def matched(
    pattern: str, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> set[str]:
    """Return which names an edit of this name is made of; none raises in core_edits."""
    asked: list[int] = []
    monkeypatch.setattr(_core, "Edit", lambda _kind, of, _factor: asked.extend(of))
    report: Any = SimpleNamespace(loaded=SimpleNamespace(strings=names))
    with contextlib.suppress(ValueError):
        edits.core_edits(report, [edits.hide(pattern)])
    return {names[i] for i in asked}


def test_names_are_compared_as_file_names_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of letters that mean nothing to fnmatch its answers are the truth."""
    draw = random.Random(0)
    words = [
        "",
        *("".join(draw.choices("ab\n", k=draw.randint(1, 9))) for _ in range(400)),
    ]
    for _ in range(2000):
        pattern = "".join(draw.choices("ab\n**", k=draw.randint(0, 8)))
        truth = {word for word in words if fnmatch.fnmatchcase(word, pattern)}
        assert matched(pattern, words, monkeypatch) == truth, pattern
    odd = ["a.c", "abc", "[ab]c", "a?c", "aXc"]
    assert matched("a.c", odd, monkeypatch) == {"a.c"}
    assert matched("a?*", odd, monkeypatch) == {"a?c"}
    assert matched("[ab]*", odd, monkeypatch) == {"[ab]c"}


def test_hostile_names_do_not_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """To try each star at each place again would take longer than anyone waits."""
    long = "a" * 10_000
    names = [long, long + "b", "ab" * 5_000, "b" + long]
    assert matched("*a" * 30 + "*b", names, monkeypatch) == {names[1], names[2]}
    assert matched("*aa" * 30 + "*c", names, monkeypatch) == set()
    assert matched("*" * 30, names, monkeypatch) == set(names)


def test_the_page_lists_each_pattern_under_its_edit() -> None:
    table = PAGE.partition("## What a gain is\n")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", table, re.M))
    meaning = dict(re.findall(r"^\| `(\w+)` \| (.*) \| .* \|$", table, re.M))
    for name, what in _core.pattern_edits():
        patterns = {p.name for p in _core.patterns() if p.edit == name}
        assert meaning[name] == what
        if name == "shorten":
            assert rows[name] == "all others"
        else:
            assert set(re.findall(r"`(\w+)`", rows[name])) == patterns


def test_findings_name_their_edit(workers: torchtraceap.Report) -> None:
    by_name = {p.name: p.edit for p in _core.patterns()}
    assert workers.findings
    for finding in workers.findings:
        assert finding.edit == by_name[finding.pattern]
        found = torchtraceap.what_if(workers, edits.fix(finding.id)).gain
        assert found is not None
        expected = (finding.recoverable_us, finding.recoverable_low_us)
        assert (found.high_us, found.low_us) == expected
    first = workers.findings[0]
    assert torchtraceap.what_if(workers, first).edits == (edits.fix(first.id),)


def test_more_is_gone_the_more_is_put_together(workers: torchtraceap.Report) -> None:
    step = "Optimizer.step#*"
    some = gain(workers, edits.multi_tensor(step))
    more = gain(workers, edits.fuse(step))
    assert 0 < some < more
    assert gain(workers, edits.multi_tensor(step), edits.fuse(step)) == more


def test_what_overlaps_is_scheduled_by_events(workers: torchtraceap.Report) -> None:
    copies = torchtraceap.what_if(workers, edits.overlap("Memcpy HtoD*"))
    assert copies.engine == "events"
    assert copies.critical_path == {}
    # The same constants and causes: unchanged, both engines come to the same span.
    unchanged = torchtraceap.what_if(workers)
    assert unchanged.engine == "graph"
    assert copies.replayed_span_us == pytest.approx(
        unchanged.replayed_span_us, rel=0.01
    )
    assert [s.number for s in copies.steps] == [s.number for s in unchanged.steps]
    for step, same in zip(copies.steps, unchanged.steps, strict=True):
        assert step.replayed_span_us == pytest.approx(same.replayed_span_us, rel=0.02)


def test_the_command_takes_each_edit(program: Callable[..., Any]) -> None:
    trace = DATA / "h100-vit-nsfw-inference.json.gz"
    options = ["--capture", "aten::*", "--fuse", "aten::*", "--multi-tensor", "aten::*"]
    done = program("whatif", trace, *options)
    assert done.returncode == 0, done.stderr
    assert b"Gain" in done.stdout
    done = program("whatif", trace, *options, "--bucket", "aten::linear")
    assert done.returncode == 2
    assert b"bucket takes names of collectives" in done.stderr
