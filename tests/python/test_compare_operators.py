# SPDX-License-Identifier: BSD-3-Clause
"""test_compare_operators.py: the operators of two traces, aligned, as people see them.

tests/cpp/pipeline/comparison has the alignment itself.
"""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap import Alignment

from .conftest import Cli
from .real_traces import PATHS
from .trace_builder import launched, op, trace_of

# Pairs of one program: other devices, other kernels, other settings; and whether most
# of the time of their kernels has no name in common.
PAIRS = [
    ("h100-owlv2-large-55MB", "mi300-owlv2-large-61MB", True),
    ("h100-qwen0.5b-chat", "mi300-qwen0.5b-chat", True),
    ("h100-vit-nsfw-inference", "mi300-vit-nsfw-inference", True),
    ("a100-qlora-bitsandbytes", "a100-qlora-fused", True),
    ("rtx3060-training-compiled", "rtx3060-training-graphs", False),
    (
        "kineto2021-v100-resnet50-workers0-memory",
        "kineto2021-v100-resnet50-workers4",
        False,
    ),
]


def calls_of(*calls: tuple[str, float], name: str = "aten::softmax") -> bytes:
    """A trace of an operator, which launches these kernels one after the other."""
    events, at = [op(name, 0, 10 * len(calls) + 5)], 100.0
    for number, (kernel_name, us) in enumerate(calls, 1):
        events += launched(number, 10.0 * number - 9, at, us, kernel_name)
        at += us
    return trace_of(*events)


ONE, THREE = calls_of(("fused", 40)), calls_of(("mul", 30), ("exp", 30), ("sum", 30))


@pytest.mark.parametrize(("before", "after", "differ"), PAIRS)
def test_busy_time_of_real_pairs_adds_up(before: str, after: str, differ: bool) -> None:
    names = f"{before}.json.gz", f"{after}.json.gz"
    if missing := [name for name in names if name not in PATHS]:
        pytest.skip(f"needs {missing[0]}")
    sides = [torchtraceap.analyze(PATHS[name], detector="off") for name in names]
    aligned = torchtraceap.compare(*sides).operators
    assert aligned is not None and aligned.kernels_differ == differ
    totals = aligned.before_ns, aligned.after_ns
    for name, report, total in zip(("before", "after"), sides, totals, strict=True):
        steps = report.step_count if aligned.per_step else 1
        assert total == sum(row.busy_ns for row in report.balance) // steps
        rows = [getattr(row, name) for row in aligned.rows]
        assert total == sum(side.device_ns for side in rows if side)
    assert aligned.per_step == all(report.step_count for report in sides)
    assert any(row.because for row in aligned.rows) or not differ
    assert pickle.loads(pickle.dumps(aligned)) == aligned
    assert Alignment.from_dict(json.loads(json.dumps(aligned.to_dict()))) == aligned


def test_the_summary_lists_operators_if_kernels_differ(cli: Cli, here: Path) -> None:
    (here / "one.json").write_bytes(ONE)
    (here / "three.json").write_bytes(THREE)
    shown = cli("compare", "one.json", "three.json").fine()
    title = (
        "Operators, device time in all: 40 µs -> 90 µs (0.0 % in kernels of the same"
    )
    assert title in shown
    assert "40 µs 90 µs 1 - - aten::softmax" in " ".join(shown.split())
    assert "after is slower: more kernels a call: 3 instead of 1" in shown
    assert "Operators" not in cli("compare", "one.json", "one.json").fine()
    asked = cli("compare", "one.json", "one.json", "--operators").fine()
    assert "(100.0 % in kernels" in asked and "slower" not in asked
    assert torchtraceap.compare(ONE, ONE).summary(operators=True) in asked.replace(
        "one.json", "<bytes>"
    )


def test_every_form_has_them(here: Path) -> None:
    comparison = torchtraceap.compare(ONE, THREE)
    assert comparison.operators is not None
    form: dict[str, Any] = json.loads(json.dumps(comparison.to_dict()))
    assert form["operators"] == comparison.operators.to_dict()
    (row,) = form["operators"]["rows"]
    assert (row["before"]["work"], row["after"]["work"]) == (1, 3)
    why = "after is slower: more kernels a call: 3 instead of 1"
    assert why in comparison.to_markdown() and why in comparison._repr_html_()


def test_a_report_in_json_has_no_operators(cli: Cli, here: Path) -> None:
    (here / "one.json").write_bytes(ONE)
    cli("analyze", "one.json", "--json", "report.json")
    for sides, which in (
        (("report.json", "one.json"), "before is a report"),
        (("one.json", "report.json"), "after is a report"),
        (("report.json", "report.json"), "before and after are reports"),
    ):
        why = f"Operators: unknown, because {which} in JSON, which does not have them."
        asked = " ".join(cli("compare", *sides, "--operators").fine().split())
        assert f"{why} Give both traces." in asked
        assert "Operators" not in cli("compare", *sides).fine()
        comparison = torchtraceap.compare(*(here / side for side in sides))
        assert comparison.operators is None
        assert comparison.to_dict()["operators"] is None


def test_traces_that_cannot_be_compared_have_none(data: Path) -> None:
    unusable = data / "a100-cupti-range-no-kernels.json.gz"
    comparison = torchtraceap.compare(unusable, unusable)
    assert not comparison.comparable and comparison.operators is None
    assert "the traces cannot be compared" in comparison.summary(operators=True)


def test_a_file_that_is_gone_costs_nothing(here: Path) -> None:
    path = here / "one.json"
    inputs = {"Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]}
    path.write_bytes(trace_of(op("aten::mm", 0, 20, **inputs), *launched(1, 5, 50, 9)))
    report = torchtraceap.analyze(path)
    known, flops = torchtraceap.compare(report, report).operators, 2 * 64**3
    assert known is not None and known.rows[0].before is not None
    assert known.rows[0].before.flops == flops
    report = torchtraceap.analyze(path)
    path.unlink()
    left = torchtraceap.compare(report, report).operators
    assert left is not None and left.rows[0].before is not None
    assert left.rows[0].before.flops == flops and left.before_ns == known.before_ns


def test_names_of_traces_are_harmless() -> None:
    evil = calls_of(("a\x1b[31m\n|`<b>", 30), name="aten::\x1b[2J<script>`|\n")
    summary = torchtraceap.compare(evil, ONE).summary(operators=True)
    assert "\x1b" not in summary and "aten::\\x1b[2J<script>" in summary
    comparison = torchtraceap.compare(evil, ONE)
    assert "<script>" not in comparison._repr_html_()
    assert "\x1b" not in comparison.to_markdown()
