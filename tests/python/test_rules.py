# SPDX-License-Identifier: BSD-3-Clause
"""test_rules.py: users' own rules, in Python: what they see, claim and get wrong."""

from __future__ import annotations

import json
import pickle
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import torchtraceap
from torchtraceap import Claim, ConfigError, Rule, RuleError, RuleView
from torchtraceap.data.rules import find_rules

from .conftest import Cli, Done
from .trace_builder import annotation, launched, named, op, profiler_step, trace_of

LOADER = "kineto2021-v100-resnet50-workers0-memory.json.gz"
TEXT: dict[str, Any] = {"side": "cpu", "summary": "Slow.", "advice": "Do less."}


# The device is busy in [10, 1000) and [1610, 2610) us. In order of time, row 0 is the
# name, 1 the step, 4 the annotation, 3 and 7 the kernels.
HELD_UP = trace_of(
    *launched(1, 0, 10, 990, "gemm"),
    annotation("save_checkpoint", 1005, 490, what="all"),
    op("aten::mm", 1590, 20),
    *launched(2, 1600, 1610, 1000, "gemm"),
    profiler_step(4, 0, 2610),
    named("process_name", "python"),
)


def made(function: Callable[[RuleView], Iterable[Claim]], **options: Any) -> Rule:
    options = {**TEXT, "name": "mine", "before": "profiler_artifact", **options}
    return torchtraceap.rule(**options)(function)


def analyze(
    function: Callable[[RuleView], Iterable[Claim]],
    source: bytes | Path = HELD_UP,
    **options: Any,
) -> torchtraceap.Report:
    return torchtraceap.analyze(source, rules=[made(function, **options)])


def test_a_rule_appears_like_any_other() -> None:
    report = analyze(lambda view: [Claim(4)], side="gpu")
    (finding,) = [f for f in report.findings if f.pattern == "mine"]
    assert (finding.wasted_us, finding.side, finding.advice) == (490, "gpu", "Do less.")
    assert finding.events[0].name == "save_checkpoint"
    row = report.balance[0]
    assert row.idle_us["mine"] == 490
    idle = sum(row.idle_us.values()) + row.unattributed_us
    assert row.span_us == row.busy_us + idle
    (label,) = [x for w in report.windows for x in w.labels if x.pattern == "mine"]
    assert (label.side, label.wasted_us) == ("gpu", 490)
    form: Any = report.to_dict()
    assert form["balance"][0]["idle_us"]["mine"] == 490
    assert form["rules"] == [
        {
            "rule": "mine",
            "claims": 1,
            "asked_us": 490,
            "claimed_us": 490,
            "taken_us": 0,
            "counted": True,
        }
    ]
    text = report.summary()
    assert "mine" in text and "Do less." in text
    assert "Rule mine: 1 claim on 490 µs, 490 µs of it lost." in text
    assert "idle_mine_us" in report.to_pandas().balance


def test_the_json_form_keeps_to_the_schema(form_of: Callable[..., Any]) -> None:
    config = {"patterns": {"gc_pause": {"enabled": False}, "mine": {"min_share": 0.02}}}
    rules = [made(lambda view: [Claim(4)])]
    report = torchtraceap.analyze(HELD_UP, rules=rules, config=config)
    assert form_of(report) and report.settings == config["patterns"]


def test_a_view_shows_the_trace() -> None:
    def look(view: RuleView) -> list[Claim]:
        assert view.parents.tolist() == [-1, -1, 1, -1, 1, 1, 5, -1]
        assert view.launches.tolist() == [-1, -1, -1, 2, -1, -1, -1, 6]
        lanes = view.lanes.tolist()
        assert lanes[1] == lanes[2] == lanes[4] != lanes[3] == lanes[7] and lanes[0] < 0
        assert view.devices == [0] and view.span_ns == (0, 2_610_000)
        assert view.idle(0).tolist() == [[0, 10_000], [1_000_000, 1_610_000]]
        assert view.busy(0).tolist() == [[10_000, 1_000_000], [1_610_000, 2_610_000]]
        assert view.steps.tolist() == [[4, 0, 2_610_000]]
        assert view.steps.dtype == view.idle(0).dtype == np.int64
        assert view.rows().tolist() == [1, 2, 3, 4, 5, 6, 7]
        assert view.rows(name="gemm").tolist() == [3, 7]
        assert view.rows(name=re.compile("^save|mm$")).tolist() == [3, 4, 5, 7]
        assert view.rows(name="gemm", category="cpu_op").size == 0
        assert view.rows(category="cuda_runtime").tolist() == [2, 6]
        assert view.names(np.array([4, 7])) == ["save_checkpoint", "gemm"]
        assert view.args([4, 2]) == [{"what": "all"}, {"correlation": 1}]
        assert view.frames([4]) == [None]
        assert view.is_device_work(7) and not view.is_device_work(2)
        assert view.thresholds == {"min_share": 0.01, "min_us": 3}
        assert not view.columns["ts"].flags.writeable
        for wrong in (8, -1):
            with pytest.raises(IndexError):
                view.names([wrong])
        with pytest.raises(TypeError, match="float64"):
            view.args([1.5])
        with pytest.raises(ValueError, match="no category 'kernels'"):
            view.rows(category="kernels")
        with pytest.raises(ValueError, match="device 3 did no work"):
            view.idle(3)
        with pytest.raises(ValueError, match="name a device"):
            view.idle()
        seen.append(view)
        return []

    seen: list[RuleView] = []
    report = analyze(look, thresholds={"min_us": 3})
    assert report.rules[0].claims == 0 and "0 claims" in report.summary()
    with pytest.raises(RuntimeError, match="only while the rule runs"):
        seen[0].idle(0)
    assert seen[0].parents[2] == 1  # Arrays that were asked for stay.


def test_a_later_rule_sees_what_is_left() -> None:
    first = made(lambda view: [Claim(4)], name="first")
    left: list[Any] = []

    @torchtraceap.rule(**TEXT, before="profiler_artifact")
    def second(view: RuleView) -> Iterable[Claim]:
        left.extend(view.idle(0).tolist())
        yield Claim(4)

    report = torchtraceap.analyze(HELD_UP, rules=[first, second])
    assert [1_005_000, 1_495_000] not in left and [1_000_000, 1_005_000] in left
    (_, outcome) = report.rules
    assert (outcome.claimed_us, outcome.taken_us, outcome.counted) == (0, 490, False)
    assert "too little to count" in " ".join(report.summary().split())


@pytest.mark.parametrize(
    ("claim", "idle_us", "excess_us"),
    [
        (Claim(3), 0, 990),  # A kernel: its busy time.
        (Claim(3, busy=False), 0, 0),  # The device was never idle meanwhile.
        (Claim(3, 0, 1_200_000, busy=False), 210, 0),
        (Claim(4, 0, 2_610_000, device=0), 620, 0),
        (Claim(4, 0, 2_610_000, device=0, busy=True), 0, 1990),
        (Claim(4, 0, 10**30, device=0, busy=True), 0, 1990),
        (Claim(4, begin_ns=1_400_000), 95, 0),
        (Claim(np.int64(4), np.int64(1_400_000)), 95, 0),
    ],
)
def test_claims(claim: Claim, idle_us: float, excess_us: float) -> None:
    row = analyze(lambda view: [claim], min_share=0).balance[0]
    assert row.idle_us["mine"] == idle_us
    assert row.excess_us["mine"] == excess_us


def test_findings_have_lines_and_frames(data: Path) -> None:
    def copies(view: RuleView) -> list[Claim]:
        rows = view.rows(name="cudaMemcpyAsync")
        lines.update(frame and frame.line for frame in view.frames(rows))
        return [Claim(row) for row in rows]

    lines: set[int | None] = set()
    report = analyze(copies, data / LOADER, min_share=0)
    found = {
        f.location.line for f in report.findings if f.pattern == "mine" and f.location
    }
    assert found and found <= lines


def test_thresholds_come_from_the_configuration() -> None:
    @torchtraceap.rule(**TEXT, thresholds={"min_us": 100}, before="launch_bound")
    def mine(view: RuleView) -> Iterable[Claim]:
        seen.append(view.thresholds["min_us"])
        return ()

    seen: list[float] = []
    for table in ({}, {"min_us": 7}, {"enabled": False}):
        torchtraceap.analyze(
            HELD_UP, rules=[mine], config={"patterns": {"mine": table}}
        )
    assert seen == [100, 7]
    for wrong, message in (
        ({"mine": {"min_ms": 1}}, "did you mean 'min_us'"),
        ({"mine": {"min_share": 2}}, "at most 1"),
        ({"mien": {}}, "did you mean 'mine'"),
    ):
        with pytest.raises(ConfigError, match=message):
            torchtraceap.analyze(HELD_UP, rules=[mine], config={"patterns": wrong})


# --- What goes wrong --------------------------------------------------------------


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        (None, "gave None; yield them"),
        ([3], "gave one of type int"),
        ([Claim(8)], "row 8, which is not in the trace"),
        ([Claim(-1)], "row -1, which is not in the trace"),
        ([Claim(4.0)], "a row that is not an integer but of type float"),  # type: ignore[arg-type]
        ([Claim(4, 1.5, 3)], "a begin_ns that is not an integer"),  # type: ignore[arg-type]
        ([Claim(4, 5, 4)], r"ends before it begins: \[5, 4\)"),
        ([Claim(0)], "row 0, which takes none"),
        ([Claim(4, device=1)], "device 1; those that worked: 0"),
        ([Claim(4, busy=True)], "names no device"),
        (5, "TypeError: 'int' object is not iterable"),
    ],
)
def test_wrong_claims_are_told(claims: Any, message: str) -> None:
    with pytest.raises(RuleError, match=message) as caught:
        analyze(lambda view: claims)
    assert caught.value.rule == "mine" and "the rule mine" in str(caught.value)


def test_what_a_rule_raises_is_the_cause() -> None:
    def broken(view: RuleView) -> Iterable[Claim]:
        yield Claim(4)
        raise ZeroDivisionError("oh")

    with pytest.raises(RuleError) as caught:
        analyze(broken)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    line = broken.__code__.co_firstlineno + 2
    assert f"{__file__}:{line}: ZeroDivisionError: oh" in str(caught.value)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.rule) == (str(caught.value), "mine")

    def stopped(view: RuleView) -> Iterable[Claim]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        analyze(stopped)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "sync_stall"}, "it is taken"),
        ({"name": "unattributed"}, "it is taken"),
        ({"name": "Mine"}, "small letters"),
        ({"side": "tpu"}, "'cpu' or 'gpu'"),
        ({"summary": " "}, "summary must be a text"),
        ({"advice": None}, "advice must be a text"),
        ({"min_share": 1.5}, "min_share must be at most 1"),
        ({"thresholds": {"min_us": -1}}, "min_us must be a number from 0"),
        ({"thresholds": {"enabled": 1}}, "cannot have the name 'enabled'"),
        ({"before": "launch_boun"}, "did you mean 'launch_bound'"),
    ],
)
def test_wrong_definitions_are_told(options: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        made(lambda view: [], **options)


def test_rules_are_rules() -> None:
    mine = made(lambda view: [])
    with pytest.raises(ConfigError, match="two rules have the name 'mine'"):
        torchtraceap.analyze(HELD_UP, rules=[mine, mine])
    with pytest.raises(TypeError, match=r"made by torchtraceap\.rule"):
        torchtraceap.analyze(HELD_UP, rules=[print])  # type: ignore[list-item]
    for wrong in (mine, "a:b", 3):
        with pytest.raises(TypeError, match="must be a list of rules"):
            torchtraceap.analyze(HELD_UP, rules=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a function"):
        torchtraceap.rule(**TEXT)(3)  # type: ignore[arg-type]


MODULE = """
import torchtraceap

@torchtraceap.rule(side="cpu", summary="Slow.", advice="Do less.", before="gc_pause")
def slow_checkpoint(view):
    for row in view.rows(name="save_checkpoint"):
        yield torchtraceap.Claim(row)

@torchtraceap.rule(side="cpu", summary="Slow.", advice="Do less.")
def broken(view):
    return 1 / 0

not_a_rule = print
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_own_rules.py").write_text(MODULE)
    (tmp_path / "no_module.py").write_text("1 / 0")
    (tmp_path / "trace.json").write_bytes(HELD_UP)
    return tmp_path


def test_rules_by_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(folder)
    name = "my_own_rules:slow_checkpoint"
    (found,) = find_rules([name])
    assert found.name == "slow_checkpoint"
    report = torchtraceap.analyze(HELD_UP, rules=[name])
    assert report.balance[0].idle_us["slow_checkpoint"] == 490
    for name, message in (
        ("my_own_rules:slow", "no attribute 'slow'"),
        ("no_such_module:rule", "No module named 'no_such_module'"),
        ("no_module:rule", "ZeroDivisionError"),
        ("slow_checkpoint", "write module:function"),
    ):
        with pytest.raises(ConfigError, match=message):
            find_rules([name])
    with pytest.raises(TypeError, match="'my_own_rules:not_a_rule' must be made by"):
        find_rules(["my_own_rules:not_a_rule"])


def test_the_program_runs_rules(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the working folder, too."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "my_own_rules", raising=False)

    def run(*rules: str) -> Done:
        options = [f"--rules={rule}" for rule in rules]
        return cli("analyze", "trace.json", *options, "--json", "-", cwd=folder)

    form = json.loads(run("my_own_rules:slow_checkpoint").fine())
    assert form["balance"][0]["idle_us"]["slow_checkpoint"] == 490
    for names, message in (
        (["my_own_rules:broken"], "the rule broken failed at "),
        (["no_module:rule"], "ZeroDivisionError"),
        (["my_own_rules:broken"] * 2, "two rules have the name"),
    ):
        code, _, error = run(*names)
        assert code == 2 and message in error
        assert "Traceback" not in error and error.count("\n") == 1
