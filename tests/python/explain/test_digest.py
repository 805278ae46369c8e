# SPDX-License-Identifier: BSD-3-Clause
"""What a language model is shown: short, the same each time, names apart as data."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.explain.digest import LEAST_TOKENS, Digest, make_digests, tokens_of

from .waiting_loop import INJECTED, waits

DATA = Path(__file__).parents[2] / "data"
TRACES = sorted(DATA.glob("*.json.gz"))


def digests_of(report: torchtraceap.Report, **options: Any) -> list[Digest]:
    return make_digests(report, report.findings[:4], report.windows[:2], **options)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name[:30])
def test_a_digest_keeps_its_budget_whatever_the_trace(path: Path) -> None:
    report = torchtraceap.analyze(path, recover=True)
    for tokens in (600, LEAST_TOKENS):
        for digest in digests_of(report, tokens=tokens):
            assert tokens_of(digest.text) <= tokens
            assert digest.candidates
            assert all(f"\n{name} (" in digest.facts for name in digest.candidates)


def test_a_digest_is_the_same_each_time(slow_loader: torchtraceap.Report) -> None:
    again = torchtraceap.analyze(slow_loader.trace.path)
    one, other = digests_of(slow_loader), digests_of(again)
    assert [d.text for d in one] == [d.text for d in other]
    assert one[0].key == other[0].key != one[1].key


def test_the_facts_name_nothing_that_the_trace_chose() -> None:
    report = waits()
    finding = report.findings[0]
    assert finding.pattern == "sync_stall"
    (digest,) = make_digests(report, [finding])
    names = {report.loaded.name(row) for row in range(len(report.loaded))}
    assert not [
        name for name in names if re.search(rf"\b{re.escape(name)}\b", digest.facts)
    ]
    # Nor what rules made of it, but that it is one of several patterns.
    assert finding.id not in digest.facts
    assert len(digest.candidates) > 1
    assert ' = "aten::item"' in digest.told and "sync_stall" in digest.told


def test_names_are_quoted_cut_and_on_one_line() -> None:
    for name in INJECTED:
        report = waits(name)
        (digest,) = make_digests(report, report.findings[:1])
        for line in digest.told.splitlines():
            if " = " in line:
                quoted = json.loads(line.partition(" = ")[2])
                assert len(quoted) <= 48 and quoted.isprintable()


def test_paths_and_secrets_stay_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "secret_project" / "train.py"
    file.parent.mkdir()
    lines = ["x = 1"] * 20
    lines[11] = 'login("bob@corp.example", token="hf_abcdefghijklmnop123")'
    file.write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    report = waits(f"load {file} for sk-proj-abcdefghijklmnop1234", str(file))
    (digest,) = make_digests(report, report.findings[:1], source=True)
    assert "login(" in digest.text
    for secret in ("secret_project", str(tmp_path), "hf_abc", "sk-proj", "bob@corp"):
        assert secret not in digest.text
    assert "train.py" in digest.text
    assert dict(digest.masked).keys() >= {"path", "secret"}


def test_lines_of_source_only_where_they_may_be_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.py").write_text("\n".join(f"marker = {i}" for i in range(1, 30)))
    report = waits()
    (shut,) = make_digests(report, report.findings[:1])
    (shown,) = make_digests(report, report.findings[:1], source=True)
    assert "marker" not in shut.text
    assert 'line 12: "marker = 12"' in shown.told and "marker" not in shown.facts


def test_the_longest_event_of_each_kind_stands_out() -> None:
    report = waits()
    finding = report.findings[0]
    (digest,) = make_digests(report, [finding])
    (line,) = re.findall(r"^events that stand out: .*", digest.facts, re.MULTILINE)
    rows = [event.index for event in finding.events]
    kinds = [sort.kind for sort in report.core.sorts(rows)]
    shown = re.findall(r"\b([ockaf]\d+) (\w+) ", line)
    assert {kind for _, kind in shown} == set(kinds)
    assert len(shown) == len(set(kinds))
    longest = max(finding.events, key=lambda event: event.duration_us)
    assert f'{shown[0][0]} = "{longest.name}"' in digest.told


def test_what_makes_no_sense_is_refused() -> None:
    report = waits()
    with pytest.raises(ValueError, match="at least 300"):
        make_digests(report, report.findings, tokens=10)
