# SPDX-License-Identifier: BSD-3-Clause
"""test_compare.py: changes are reported, and unequal traces are reported as such."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap import Report

from .compare_sides import NOTHING, made, statuses
from .conftest import Cli
from .trace_builder import loader_trace

BEFORE = "kineto2021-v100-resnet50-workers0-memory.json.gz"
AFTER = "kineto2021-v100-resnet50-workers4.json.gz"


@pytest.fixture(scope="module")
def fixed(slow_loader: Report, workers: Report) -> torchtraceap.Comparison:
    """ResNet-50 before and after its loader was given workers."""
    return torchtraceap.compare(slow_loader, workers)


def test_a_fix_is_seen(fixed: torchtraceap.Comparison, slow_loader: Report) -> None:
    assert statuses(fixed) == {
        "gone": ["dataloader_bound"],
        "new": ["pageable_copy"],
        "grown": [],
        "shrunk": [],
    }
    # Its mean grew, but by two of six steps that vary between 9.7 and 43.6 ms.
    assert not fixed.causes["missed_cuda_graph"].counts
    (gone,) = fixed.of("gone")
    assert (gone.cost.before, gone.cost.after) == (
        pytest.approx(slow_loader.findings[0].wasted_us / 6),
        0,
    )
    assert fixed.unit == "us_per_step"
    assert fixed.step_us.counts
    assert fixed.step_us.after < fixed.step_us.before
    assert (round(fixed.busy.before, 3), round(fixed.busy.after, 3)) == (0.566, 0.726)
    assert next(iter(fixed.causes)) == "dataloader_bound"
    waited = slow_loader.balance[0]
    cause = "dataloader_bound"
    lost_us = waited.idle_us[cause] + waited.excess_us.get(cause, 0.0)
    assert fixed.causes[cause].before == pytest.approx(lost_us / 6)
    assert [worse.kind for worse in fixed.worse()] == ["new"]


def test_a_prediction_is_held_against_what_came(
    fixed: torchtraceap.Comparison, slow_loader: Report
) -> None:
    said = fixed.prediction
    assert said is not None and said.finding == slow_loader.findings[0]
    assert said.middle == pytest.approx(319 / 1066, abs=0.002)
    assert said.achieved == pytest.approx(1 - 126.5 / 176.2, abs=0.002)
    assert said.holds
    line = (
        "Predicted of dataloader_bound (single_process): 29.9 % (16.6 % to 35.4 %) of"
    )
    assert f"{line} a step; achieved: 28.2 %" in fixed.summary()
    form = fixed.to_dict()["prediction"]
    assert (form["pattern"], form["holds"]) == ("dataloader_bound", True)
    back = torchtraceap.compare(fixed.after.trace.path, fixed.before.trace.path)
    assert back.prediction is None or back.prediction.achieved < 0


def test_a_notebook_shows_it(fixed: torchtraceap.Comparison) -> None:
    shown = re.sub("<style.*?</style>|<[^>]*>", " ", fixed._repr_html_(), flags=re.S)
    words = " ".join(html.unescape(shown).split())
    assert words.startswith("Median step: 176 ms -> 127 ms (-28.2%): faster")
    pieces = re.split("->|: |\n| {2,}", fixed.summary())
    assert "pageable_copy" in pieces and len(pieces) > 40
    for piece in pieces:
        assert piece.strip(" :") in words
    row = "gone resnet50_profiler_api.py:42 dataloader_bound (single_process) 36.9 ms -"
    assert row in words
    assert fixed._repr_html_().count("<table") == 2


def test_backwards_is_the_reverse(
    fixed: torchtraceap.Comparison, slow_loader: Report, workers: Report
) -> None:
    back = torchtraceap.compare(workers, slow_loader)
    assert statuses(back) == {
        "gone": statuses(fixed)["new"],
        "new": statuses(fixed)["gone"],
        "grown": statuses(fixed)["shrunk"],
        "shrunk": statuses(fixed)["grown"],
    }
    assert [worse.kind for worse in back.worse()] == ["slower", "new"]
    assert len(back.findings) == len(fixed.findings)


def test_of_itself_nothing_changed(data: Path) -> None:
    for path in sorted(data.glob("*.json.gz")):
        report = torchtraceap.analyze(path)
        comparison = torchtraceap.compare(report, report)
        assert statuses(comparison) == NOTHING
        assert not any(change.counts for change in comparison.causes.values())
        assert len(comparison.findings) == len(
            report.findings if comparison.comparable else ()
        )
        json.dumps(comparison.to_dict(), allow_nan=False)
        assert comparison.summary()
        assert comparison.to_markdown()


def test_every_form_of_a_report_is_the_same_side(
    fixed: torchtraceap.Comparison,
    slow_loader: Report,
    workers: Report,
    data: Path,
    tmp_path: Path,
) -> None:
    one, several = tmp_path / "one.json", tmp_path / "several.json"
    slow_loader.to_json(one)
    several.write_text(f"[{one.read_text()}]")
    expected = fixed.to_dict()
    for before in (data / BEFORE, torchtraceap.load(data / BEFORE)):
        assert torchtraceap.compare(before, workers).to_dict() == expected
    expected["operators"] = None  # A report in JSON does not have them.
    for form in (one, str(several), slow_loader.to_dict()):
        assert torchtraceap.compare(form, workers).to_dict() == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[{0}, {0}]", "holds 2 reports. Give one"),
        ("{0", "not a complete report"),
        ('{{"schema_version": 1, "tool": "torchtraceap"}}', "schema_version is 1"),
        ('{{"schema_version": 4, "tool": "torchtraceap"}}', "not a complete report"),
        ('["schema_version", "torchtraceap"]', "holds 2 reports"),
    ],
)
def test_what_is_no_report(text: str, message: str, tmp_path: Path) -> None:
    whole = torchtraceap.analyze(loader_trace()).to_json()
    path = tmp_path / "report.json"
    cut = whole[: len(whole) // 2] if text == "{0" else None
    path.write_text(cut or text.format(whole))
    with pytest.raises(torchtraceap.ConfigError) as caught:
        torchtraceap.compare(path, loader_trace())
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_lines_may_shift() -> None:
    before = made(line=12, waits_us=[5000] * 4)
    moved = torchtraceap.compare(before, made(line=40, waits_us=[5000] * 4))
    assert statuses(moved) == NOTHING
    (pair,) = moved.findings
    places = [one and one.location for one in (pair.before, pair.after)]
    assert [place and place.recorded_line for place in places] == [12, 40]
    elsewhere = torchtraceap.compare(before, made(file="new.py", waits_us=[5000] * 4))
    assert statuses(elsewhere) == {
        **NOTHING,
        "gone": ["dataloader_bound"],
        "new": ["dataloader_bound"],
    }


def test_a_program_may_lie_in_another_folder() -> None:
    """The folder is not guessed, and each file keeps its name of its side."""
    before = made(file="/ci/main/train.py", waits_us=[5000] * 4)
    after = made(file="/ci/branch/train.py", waits_us=[5000] * 4)
    (gone, new) = torchtraceap.compare(before, after, roots="/ci/main").findings
    assert {gone.status, new.status} == {"gone", "new"}
    comparison = torchtraceap.compare(before, after)
    assert any("(--root, roots=)" in note for note in comparison.notes)
    known = torchtraceap.compare(before, after, roots=("/ci/main", "/ci/branch"))
    assert known.notes == ()
    (same,) = known.findings
    assert same.status == "same" and same.before and same.after
    assert same.before.location and same.after.location
    files = (same.before.location.file, same.after.location.file)
    assert files == ("/ci/main/train.py", "/ci/branch/train.py")


def test_differences_of_the_traces_are_told(
    data: Path, workers: Report, cpu_only: Report
) -> None:
    def notes(before: object, after: object) -> str:
        return " ".join(torchtraceap.compare(before, after).notes)  # type: ignore[arg-type]

    inference = data / "h100-vit-nsfw-inference.json.gz"
    assert "1 × Tesla V100-DGXS-32GB before, 1 × NVIDIA H100" in notes(
        workers, inference
    )
    assert "none after" in notes(workers, cpu_only)
    lossy = data / "truncated-handmade-no-schema.json.gz"
    assert "the trace after misses records" in notes(workers, lossy)
    config = {"patterns": {"zero_grad_fill": {"enabled": False}}}
    other = torchtraceap.analyze(data / AFTER, config=config)
    assert "thresholds differ" in notes(workers, other)
    assert notes(workers, workers) == ""


def test_of_an_unusable_trace_nothing_is_told(data: Path, workers: Report) -> None:
    """Above all not that its findings are gone."""
    comparison = torchtraceap.compare(
        workers, data / "a100-cupti-range-no-kernels.json.gz"
    )
    assert not comparison.comparable
    assert "cannot be compared" in comparison._repr_html_()
    assert "<table" not in comparison._repr_html_()
    assert comparison.findings == ()
    worse = comparison.worse()
    assert [one.kind for one in worse] == ["slower", "new", "grown"]
    assert not any(one.known for one in worse)
    with pytest.raises(ValueError, match="'older' is not one of"):
        comparison.worse(["older"])


def test_an_unusable_trace_is_not_known_to_be_no_slower(tmp_path: Path) -> None:
    """Though both have steps, and those of the unusable one are three times as long."""
    before: dict[str, Any] = json.loads(made(waits_us=[5000] * 6).to_json())
    after = json.loads(json.dumps(before))
    after["trace"]["quality"]["verdict"] = "unusable"
    for factor in (1, 3):
        for step in after["steps"]:
            length = factor * (step["end_us"] - step["start_us"])
            step["end_us"] = step["start_us"] + length
        for sides in ((before, after), (after, before)):
            comparison = torchtraceap.compare(*sides)
            (worse,) = comparison.worse(["slower"])
            assert (worse.kind, worse.known) == ("slower", False)
            assert "undetermined, one of the traces is unusable" in worse.message
            assert comparison.step_us is None
            for text in (comparison.summary(), comparison.to_markdown()):
                assert "Median step" not in text
                assert "of one step" not in text


def test_one_kind_may_be_asked_for_by_its_name() -> None:
    worse = torchtraceap.compare(made(waits_us=[0] * 6), made(waits_us=[5000] * 6))
    assert worse.worse("new") == worse.worse(["new"]) != []
    assert worse.worse("slower") == []
    with pytest.raises(ValueError, match="'newer' is not one of slower, new, grown"):
        worse.worse("newer")


WRONG = [
    "trace.end_us",
    "trace.processes",
    "balance[0].busy_us",
    "balance[0].idle_us.gc_pause",
    "steps[1].end_us",
    "findings[0].wasted_us",
    "findings[0].count",
    "findings[0].location.line",
    "findings[0].location.recorded_line",
]


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-1e300", "1e999", "1e300"])
@pytest.mark.parametrize("name", WRONG)
def test_a_figure_that_is_none_is_named(
    name: str, value: str, tmp_path: Path, cli: Cli
) -> None:
    form: Any = json.loads(made(waits_us=[5000] * 4).to_json())
    *above, last = re.findall(r"\w+", name)
    place = form
    for key in above:
        place = place[int(key) if key.isdigit() else key]
    assert last in place or last == "gc_pause"
    place[last] = float(value)
    path = tmp_path / "report.json"
    path.write_text(json.dumps(form))
    for source in (path, form):
        with pytest.raises(torchtraceap.ConfigError) as caught:
            torchtraceap.compare(source, loader_trace())
        assert f"{name} must be " in str(caught.value)
    assert cli("compare", path, path, "--json", "-").code == 2


def test_several_processes_are_taken_on_average() -> None:
    """Figures and their noise are those of one of them."""
    wild = [1000, 2000, 3000, 5000, 6000, 7000]
    one: dict[str, Any] = json.loads(made(waits_us=wild).to_json())
    two = json.loads(json.dumps(one))
    two["trace"]["processes"] = 2
    alone, both = torchtraceap.compare(one, one), torchtraceap.compare(two, two)
    for whole, part in (
        (alone.findings[0].cost, both.findings[0].cost),
        (alone.causes["dataloader_bound"], both.causes["dataloader_bound"]),
    ):
        assert whole.noise is not None
        assert part.before == part.after == pytest.approx(whole.before / 2)
        assert part.noise == pytest.approx(whole.noise / 2)
    assert whole.before == 4000
    assert any("of one device" in n for n in torchtraceap.compare(one, two).notes)


def test_what_a_lossy_trace_lacks_is_not_known_to_be_no_worse() -> None:
    form: dict[str, Any] = json.loads(made(waits_us=[5000] * 4).to_json())
    lossy = json.loads(json.dumps(form))
    lossy["trace"]["quality"]["incomplete"] = True
    found = torchtraceap.compare(form, lossy).worse(["new", "grown"])
    assert [(one.kind, one.known) for one in found] == [
        ("new", False),
        ("grown", False),
    ]
    assert torchtraceap.compare(lossy, form).worse(["new", "grown"]) == []


def test_busy_time_of_devices_is_not_that_of_operators(workers: Report) -> None:
    host = torchtraceap.analyze(loader_trace())
    assert torchtraceap.compare(host, host).busy is not None
    assert torchtraceap.compare(workers, host).busy is None


def test_the_ranks_of_a_job_are_no_side(tmp_path: Path) -> None:
    one = tmp_path / "rank0.json"
    one.write_text('{"traceEvents": []}')
    path = torchtraceap.load(one).path
    for folder in (tmp_path, tmp_path / "*.json"):  # Of one trace, they name it.
        assert torchtraceap.load(folder).path == path
        torchtraceap.compare(folder, folder)
    (tmp_path / "rank1.json").write_text('{"traceEvents": []}')
    for job in (tmp_path, tmp_path / "*.json"):
        with pytest.raises(
            torchtraceap.TraceError, match="compare takes one trace, but"
        ):
            torchtraceap.compare(job, job)
        with pytest.raises(torchtraceap.TraceError, match="Name one of its files"):
            torchtraceap.load(job)
    with pytest.raises(TypeError, match="compare takes one trace, not a list"):
        torchtraceap.compare([one, one], one)  # type: ignore[arg-type]
