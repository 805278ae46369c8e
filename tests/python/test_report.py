# SPDX-License-Identifier: BSD-3-Clause
"""test_report.py: the report's parts and the forms it comes in."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap import Report, _core
from torchtraceap._core import Finding, Location
from torchtraceap.base.units import time_text
from torchtraceap.cli.patterns import pattern_forms

from .conftest import Cli
from .trace_builder import frame, kernel, launched, report_of, starved_events


def test_every_pattern_has_a_place_in_the_balance(slow_loader: Report) -> None:
    names = [pattern.name for pattern in _core.patterns()]
    assert list(slow_loader.balance[0].idle_us) == names
    assert list(slow_loader.balance[0].excess_us) == names


def waits_for_a_loader(steps: int, line: int = 12) -> Report:
    main = frame(f"train.py({line}): main", 0, steps * 10_000)
    return report_of(main, *starved_events(steps))


def test_the_summary_tells_the_story(slow_loader: Report) -> None:
    text = slow_loader.summary(windows=3)
    lines = text.splitlines()
    assert lines[1] == "75,718 events, 1.07 s, 6 steps, Tesla V100-DGXS-32GB"
    assert lines[2].startswith(
        "Device 0: busy 56.6 % (604 ms of 1.07 s); idle by cause:"
    )
    first = lines[lines.index("Findings, what to fix first:") + 1]
    assert re.fullmatch(
        r"  resnet50_profiler_api\.py:42 <module> +dataloader_bound \(single_process\)"
        r" +×6 +221 ms +20\.\d % +about 319 ms \(177 ms to 378 ms\) recoverable",
        first,
    )
    told = next(i for i, line in enumerate(lines) if line.startswith("Limit"))
    assert lines[told].startswith(
        "Limit: the host. Alone, the host needs 98.5 % of the"
    )
    assert lines[told + 2].startswith(
        "Busy with: large kernels 96.6 %, copies alone 2.0 %, "
    )
    assert lines[told + 3].startswith(
        "What matters most: dataloader_bound, 221 ms (20."
    )
    listed = lines.index("Findings, what to fix first:")
    assert lines[listed - 1 : listed + 1] == ["", "Findings, what to fix first:"]
    assert "Unattributed: " in text
    assert "3 of " in text and "labeled" in text
    assert "num_workers" in text
    assert "Windows" not in slow_loader.summary()
    assert "Quality" not in text


def test_the_summary_lists_as_much_as_asked(slow_loader: Report) -> None:
    assert f"and {len(slow_loader.findings)} more, " in slow_loader.summary(findings=0)
    assert slow_loader.summary(windows=True) == slow_loader.summary(windows=10)
    for wrong in ({"windows": -1}, {"findings": -2}):
        with pytest.raises(ValueError, match="must not be negative"):
            slow_loader.summary(**wrong)


def test_a_cpu_trace_is_not_told_of_devices(cpu_only: Report) -> None:
    text = cpu_only.summary(windows=True)
    assert "CPU only" in text
    assert not re.search("idle|busy|GPU|Device", text)
    assert "CPU: operators 97.7 %, unattributed 2.3 %" in text
    (balance,) = cpu_only.balance
    assert balance.device is None and balance.devices == 0
    assert balance.busy_us + balance.unattributed_us == pytest.approx(balance.span_us)
    assert cpu_only.quality.verdict == "ok"
    assert {window.device for window in cpu_only.windows} == {None}


def test_a_device_without_work_is_spoken_of(data: Path) -> None:
    listed = torchtraceap.analyze(data / "cpu-laptop-vae-python-stacks.json.gz")
    text = listed.summary()
    assert (
        "CPU: dataloader_bound 59.4 %, operators 18.0 %, profiler_artifact 6." in text
    )
    assert "1 device listed, no work recorded" in text
    assert "lists 1 GPU, but holds no GPU activity" in text
    lost = torchtraceap.analyze(data / "a100-cupti-range-no-kernels.json.gz")
    text = lost.summary()
    assert "Quality: unusable" in text
    assert "holds no kernel" in text
    assert "none, the trace is unusable" in text


def test_not_every_device_of_many_has_a_line() -> None:
    text = report_of(*(kernel(d, 10, device=d) for d in range(20))).summary()
    assert text.count("\nDevice ") == 16 and "and 4 more devices in" in text


def test_missing_source_lines_are_explained(data: Path) -> None:
    report = torchtraceap.analyze(data / "mi250-rocm62-tiny.json.gz")
    assert report.findings and report.findings[0].location is None
    assert "with_stack=True" in report.summary()


@pytest.fixture
def tiny(data: Path) -> Report:
    report = torchtraceap.analyze(data / "mi250-rocm62-tiny.json.gz")
    late = tuple(f for f in report.findings if f.pattern == "launch_bound")
    vars(report)["findings"] = late
    return report


def places(report: Report, findings: list[Finding]) -> list[str]:
    """The places that the summary has for these findings of it."""
    vars(report)["findings"] = tuple(findings)
    lines = report.summary(findings=99).splitlines()
    first = lines.index("Findings, what to fix first:") + 1
    return [
        re.split(r"  launch_bound", line)[0].strip()
        for line in lines[first : first + len(findings)]
    ]


def test_places_that_are_not_known_are_not_made_up(tiny: Report) -> None:
    nowhere = tiny.findings[0].replace(location=None, operator="", count=24)
    one = nowhere.replace(count=1)
    named = nowhere.replace(operator="forward")
    at = [
        nowhere.replace(location=Location("a.py", line, "f", True))
        for line in range(10)
    ]
    assert nowhere.pattern == "launch_bound"
    assert places(tiny, [nowhere]) == ["(no source line)"]
    assert places(tiny, [named, nowhere]) == ["forward", "(no source line)"]
    assert places(tiny, [at[0], nowhere]) == ["a.py:0 f", "(no single place)"]
    assert places(tiny, [at[0], one]) == ["a.py:0 f", "(no source line)"]
    assert places(tiny, [*at, nowhere])[-1] == "(elsewhere)"
    assert places(tiny, [*at, one])[-1] == "(elsewhere)"


@pytest.mark.parametrize("file", ["x" * 300 + ".py", "d/" * 90 + "long" * 20, "a.py"])
@pytest.mark.parametrize("function", ["f", "g" * 200])
@pytest.mark.parametrize("user", [True, False])
def test_a_place_is_cut_to_the_width_but_for_its_line(
    tiny: Report, file: str, function: str, user: bool
) -> None:
    where = Location(file, 12345, function, user)
    (place,) = places(tiny, [tiny.findings[0].replace(location=where)])
    assert len(place) <= 48
    assert ":12345 " in place
    assert place.endswith("(library)") != user


def test_no_findings_do_not_read_as_healthy() -> None:
    idle = report_of(kernel(0, 10), kernel(9_990, 10))
    assert not idle.findings
    assert (
        "Findings: none by these rules; 99.8 % of the time is idle and unexplained.\n"
        in idle.summary()
    )
    busy = report_of(kernel(0, 10)).summary()
    assert busy.splitlines()[1].startswith("1 event, ")
    assert "none by these rules" not in busy


def test_estimates_are_told_from_measured_time() -> None:
    report = waits_for_a_loader(6)
    (measured, *_) = report.findings
    assert measured.basis == "measured"
    form: Any = report.to_dict()["findings"]
    assert form[0]["basis"] == "measured"
    assert "up to" not in report.summary()
    guess = measured.replace(basis="estimate", advice="Another advice.")
    report.__dict__["findings"] = (measured, guess)
    text = report.summary()
    cost = time_text(measured.wasted_us)
    assert text.count(f"up to {cost} ") == 1 and text.count(cost) > 1
    # Both fixes are reported, and their costs are not one sum.
    assert "dataloader_bound: Another advice." in text
    assert "dataloader_bound: " + measured.advice.split()[0] in text
    assert f"and 2 more, {cost} together, up to {cost} estimated" in report.summary(
        findings=0
    )


def test_patterns_that_estimate_are_listed_as_such() -> None:
    estimates = {pattern.name for pattern in _core.patterns() if pattern.estimate}
    assert {"small_grid", "low_occupancy", "fusible_chain"} <= estimates
    assert not estimates & {"sync_stall", "comm_exposed", "dataloader_bound"}
    forms = {form["name"]: form["basis"] for form in pattern_forms(None)}
    assert forms["small_grid"] == "estimate" and forms["sync_stall"] == "measured"


def test_a_devices_own_delay_is_apart_from_what_no_rule_explains() -> None:
    pairs = (launched(i + 1, i * 6, 200 + i * 52, 50) for i in range(20))
    report = report_of(*itertools.chain(*pairs))
    (row,) = report.balance
    assert row.delay_us == pytest.approx(19 * 2)
    assert row.unattributed_us >= row.delay_us
    assert "Kernel-to-kernel delay: 38 µs" in report.summary()


def test_the_tables_as_text(
    slow_loader: Report, cpu_only: Report, data: Path, cli: Cli
) -> None:
    text = slow_loader.tables()
    assert "Kernels (10 of 67), by the time in which any ran:" in text
    assert "HtoD pageable" in text and "aten::cudnn_convolution" in text
    assert "1,462 to 1,462 a step, median 1,462 (6 steps)" in text
    assert max(map(len, text.splitlines())) <= 124
    assert "device" not in cpu_only.tables() and "Kernels" not in cpu_only.tables()
    path = str(data / "mi250-rocm62-tiny.json.gz")
    plain = cli("analyze", path, "--full").fine()
    with_tables = cli("analyze", path, "--tables").fine()
    tables = torchtraceap.analyze(path).tables()
    assert with_tables == plain + "\n" + tables + "\n"


def test_nothing_is_made_before_it_is_asked_for(data: Path) -> None:
    report = torchtraceap.analyze(data / "mi250-rocm62-tiny.json.gz")
    lazy = {"story", "kernels", "copies", "operators", "kernel_counts", "overlap"}
    assert not lazy & set(vars(report))
    assert report.kernels and "kernels" in vars(report)
