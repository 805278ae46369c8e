# SPDX-License-Identifier: BSD-3-Clause
"""test_detection.py: what reports say by a learned detector, and that rules stay exact.

The model is mostly one made up, which says what the test wants: no torch is needed.
It has over 400 lines: that model serves nearly all of it.
"""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import torchtraceap
from torchtraceap import _core
from torchtraceap.data.detector_choice import VARIABLE, checked_choice
from torchtraceap.detection import model as model_module
from torchtraceap.detection.detection import Detection
from torchtraceap.gate.budget import read_budget
from torchtraceap.views import summary

from .conftest import Run

PATTERNS = [pattern.name for pattern in _core.patterns()]
SIDES = {pattern.name: pattern.side for pattern in _core.patterns()}


class MadeUp:
    """Replaces ``_torch.Model``; tests set its output."""

    window_from, trace_from = 5.0, 4.0

    def __init__(self, windows: int) -> None:
        self.card = {"name": "made-up"}
        self.patterns, self.unknown_patterns = PATTERNS, list[str]()
        self.asked = 0
        self.told = {
            "probability": np.full((windows, 2), 0.1, np.float32),
            "types": np.full((windows, len(PATTERNS)), 0.01, np.float32),
            "recoverable": np.full(windows, 0.25, np.float32),
            "events": np.full((windows, 3), -1, np.int64),
            "strangeness": np.zeros(windows, np.float32),
        }

    def say(self, arrays: object, events: int, claimed: Any) -> dict[str, Any]:
        assert claimed.shape == self.told["probability"].shape
        self.asked, self.claimed = self.asked + 1, claimed
        return self.told

    def threshold(self, side: int, false_alarms: float) -> float:
        assert false_alarms == 0.01
        return (0.5, 0.6)[side]

    def flag(self, window: int, pattern: str, probability: float) -> None:
        side = ("cpu", "gpu").index(SIDES[pattern])
        self.told["probability"][window, side] = probability
        self.told["types"][window, PATTERNS.index(pattern)] = 0.9


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Makes a made-up model the one that "auto" asks."""

    def use(model: MadeUp) -> MadeUp:
        module = SimpleNamespace(
            Model=SimpleNamespace(load=lambda path, device: model),
            Arrays=lambda *arrays: arrays,
        )
        weights = tmp_path / "weights"
        weights.write_bytes(b"")
        monkeypatch.delenv(VARIABLE, raising=False)
        monkeypatch.setattr(model_module, "load_torch_module", lambda: module)
        monkeypatch.setattr(model_module, "_usual_device", lambda: "cpu")
        monkeypatch.setattr(model_module, "_loaded", {})
        monkeypatch.setattr(model_module, "BUNDLED", weights)
        return model

    return use


@pytest.fixture(scope="module")
def trace(data: Path) -> torchtraceap.Trace:
    return torchtraceap.load(data / "kineto2021-v100-resnet50-workers4.json.gz")


@pytest.fixture(scope="module")
def exact(trace: torchtraceap.Trace) -> torchtraceap.Report:
    """The report without a detector."""
    return torchtraceap.analyze(trace, detector="off")


@pytest.fixture
def model(exact: torchtraceap.Report, install: Any) -> MadeUp:
    """It flags two neighbors that no rule labels, one that is alone, and one of which
    rules say the same; and is strange to the last window."""
    model: MadeUp = install(MadeUp(len(exact.windows)))
    first, _, alone = empty(exact)
    model.flag(first, "gc_pause", 0.9)
    model.flag(first + 1, "sync_stall", 0.97)
    model.flag(alone, "small_grid", 0.8)
    model.flag(labeled(exact), "dataloader_bound", 0.99)
    begin = exact.features().token_begin
    model.told["events"][first + 1] = [begin[first + 1], begin[first + 1] + 1, -1]
    model.told["strangeness"][-1] = 9
    return model


@pytest.fixture
def report(trace: torchtraceap.Trace, model: MadeUp) -> torchtraceap.Report:
    return torchtraceap.analyze(trace)


def empty(report: torchtraceap.Report) -> tuple[int, int, int]:
    """Return two neighbors without labels, and another one apart from them."""
    free = [w.index for w in report.rule_windows if not w.labels]
    first = next(i for i in free if i + 1 in free)
    return first, first + 1, next(i for i in reversed(free) if i - 1 not in free)


def labeled(report: torchtraceap.Report) -> int:
    """Return a window of which rules say that the CPU's side loses much."""
    return next(w.index for w in report.rule_windows if w.cpu_wasted_fraction > 0.5)


def test_labels_stand_beside_those_of_rules(
    report: torchtraceap.Report, exact: torchtraceap.Report
) -> None:
    first = empty(exact)[0]
    (label,) = report.windows[first].labels
    assert (label.pattern, label.side, label.origin) == ("gc_pause", "cpu", "model")
    assert label.probability == pytest.approx(0.9) and label.saved_fraction == 0.25
    both = report.windows[labeled(exact)]
    assert [label.origin for label in both.labels][-2:] == ["rule", "model"]
    assert both.rule_labels == exact.windows[both.index].labels
    assert both.cpu_probability == pytest.approx(0.99)
    assert both.gpu_probability == pytest.approx(0.1)
    # Of what the model does not know it says what rules say.
    assert report.windows[-1].cpu_probability == pytest.approx(0.1367521)
    assert report.windows[-1].labels == exact.windows[-1].labels == ()
    # The accounting is that of rules, to the nanosecond.
    for window, before in zip(report.windows, exact.windows, strict=True):
        assert window.wasted_us == before.wasted_us
    assert report.rule_windows == exact.windows


def test_what_no_rule_explains_is_a_finding(
    report: torchtraceap.Report, exact: torchtraceap.Report
) -> None:
    assert report.rule_findings == exact.findings == report.findings[:-2]
    found = {finding.windows: finding for finding in report.findings[-2:]}
    first, second, alone = empty(exact)
    neighbors, other = found[first, second], found[(alone,)]
    assert neighbors.kind == "unexplained, look here" and neighbors.origin == "model"
    assert (neighbors.count, neighbors.severity, neighbors.side) == (2, "low", "cpu")
    assert neighbors.wasted_us == 0 and neighbors.recoverable_us is None
    assert "probability of up to 97.0 %" in neighbors.message
    assert "most likely sync_stall" in neighbors.message
    features = report.features()
    begin = features.token_begin[second]
    assert [event.index for event in neighbors.events] == list(
        features.row[begin : begin + 2]
    )
    assert neighbors.location == features.locations([begin])[0]
    assert other.side == "gpu" and other.events == ()
    assert len({finding.id for finding in report.findings}) == len(report.findings)


def test_windows_of_one_place_are_one_finding(
    trace: torchtraceap.Trace, model: MadeUp, exact: torchtraceap.Report
) -> None:
    first, second, alone = empty(exact)
    model.told["events"][alone, 0] = model.told["events"][second, 0]
    last = torchtraceap.analyze(trace).findings[-1]
    assert last.windows == tuple(sorted((first, second, alone)))


def test_agreement_is_counted_and_reported_in_a_line(
    report: torchtraceap.Report, exact: torchtraceap.Report
) -> None:
    detection = report.detection
    count = len(exact.windows)
    for side in (0, 1):
        agreement = detection.agreement(side)
        assert sum(agreement.to_dict().values()) == count - 1
    cpu = detection.agreement(0)
    assert (cpu.both, cpu.model) == (1, 2) and cpu.rules > 0
    line = " ".join(report.summary().split())
    assert f"Detector (made-up): 4 of {count} windows flagged, 1 also by rules" in line
    assert "3 only by it;" in line and "In 1 it follows the rules: they" in line
    assert "unexplained, look here" in report.summary(findings=50)
    assert "Detector" not in exact.summary()
    assert "unexplained" not in report.to_sarif()
    assert "unexplained, look here" in report.to_markdown()


def test_gates_ask_no_model(
    trace: torchtraceap.Trace, model: MadeUp, exact: torchtraceap.Report
) -> None:
    report = torchtraceap.analyze(trace)
    limits = {"max_wasted_share": 0.0, "patterns": {"*": {"max_count": 0}}}
    budget = read_budget(limits)
    assert budget.check(report) == budget.check(exact)
    assert not torchtraceap.compare(report, exact).worse()
    report.to_sarif()
    repr(report)
    torchtraceap.what_if(report, report.rule_findings[0])
    assert model.asked == 0
    assert report.windows and model.asked == 1


def test_the_json_form_is_of_the_schema(
    report: torchtraceap.Report, exact: torchtraceap.Report, form_of: Any
) -> None:
    form = form_of(report)
    detector = form["detector"]
    assert detector["run"] and detector["why"] is None
    assert detector["name"] == "made-up" and detector["abstained_windows"] == 1
    assert detector["thresholds"] == {"cpu": 0.5, "gpu": 0.6}
    assert detector["flagged_windows"] == 4
    assert form["findings"][-1]["docs"] == "docs/detector.md"
    assert 0 < form["windows"][-1]["cpu_probability"] < 0.5
    off = json.loads(exact.to_json())["detector"]
    assert not off["run"] and off["why"] == "it is switched off"


def test_comparisons_leave_the_model_out(
    report: torchtraceap.Report, exact: torchtraceap.Report
) -> None:
    form: Any = copy.deepcopy(exact.to_dict())
    del form["detector"]
    assert not torchtraceap.compare(form, report.to_dict()).worse()


def test_tables_have_the_probabilities(report: torchtraceap.Report) -> None:
    pytest.importorskip("pandas")
    frames = report.to_pandas()
    assert frames.windows["cpu_probability"].isna().sum() == 0
    labels = frames.labels
    assert (labels["probability"].notna() == (labels["origin"] == "model")).all()
    assert set(frames.findings["origin"]) == {"rule", "model"}


def test_the_page_has_a_row_of_the_model(
    report: torchtraceap.Report, exact: torchtraceap.Report
) -> None:
    page, plain = report.to_html(), exact.to_html()
    assert ">detector</span>" in page and ">detector</span>" not in plain
    assert page.count('class="differs"') > 1 and 'class="differs"' not in plain
    first = empty(exact)[0]
    assert (
        f"Windows {first} to {first + 1}, by the detector: CPU up to 97.0 %, GPU up to "
        "10.0 %, taken for gc_pause ×1, taken for sync_stall ×1, rules say otherwise "
        "of 2"
    ) in page
    assert "the learned detector, which claims no time" in page
    assert 'id="detector"' in page and 'id="detector"' not in plain
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert len(data["cells"]) == 2 * sum(
        plain.split('id="viewer"')[0].count(part) for part in ('<g class="cell">',)
    )
    assert len(data["findings"][-1]["cells"]) % 2 == 0
    assert ">detector</span>" in report._repr_html_()


def test_the_queue_has_what_is_worth_a_look_first(
    report: torchtraceap.Report, exact: torchtraceap.Report
) -> None:
    queue = report.review_queue()
    differs = report.detection.differs.any(axis=1)
    said = [bool(differs[line["window"]]) for line in queue]
    assert said == sorted(said, reverse=True) and len(queue) <= 50
    line = next(line for line in queue if line["window"] == empty(exact)[1])
    assert line["guess"]["cpu"] == "sync_stall" and line["rules"] == []
    assert line["cpu"] is line["gpu"] is line["pattern"] is None
    assert len(line["events"]) == 2
    assert all(line["window"] != len(exact.windows) - 1 for line in queue)
    assert len(report.review_queue(2)) == 2 and report.review_queue(0) == []
    with pytest.raises(ValueError, match="was not run: it is switched off"):
        exact.review_queue()


def test_on_a_strange_trace_it_follows_the_rules(
    trace: torchtraceap.Trace, model: MadeUp
) -> None:
    model.told["strangeness"][:] = 4.5
    report = torchtraceap.analyze(trace)
    told = report.detection
    assert told.run and told.abstained.all() and not told.judged.any()
    assert (told.flagged == told.by_rules).all() and told.flagged.any()
    assert np.isfinite(told.probability).all()
    assert (told.flagged == (told.probability >= 0.5)).all()
    for window, rules in zip(report.windows, report.rule_windows, strict=True):
        assert window.labels == rules.labels
    assert report.findings == report.rule_findings and report.review_queue() == []
    assert "follows the rules in all windows, because the trace is" in report.summary()


def test_rules_are_heard_by_what_a_fix_saves(
    report: torchtraceap.Report, model: MadeUp
) -> None:
    assert report.detection.run
    for window in report.rule_windows:
        for side, name in enumerate(("cpu", "gpu")):
            saved = [it.saved_fraction for it in window.labels if it.side == name]
            most = max(saved, default=0.0)
            assert model.claimed[window.index, side] == np.float32(most)
    assert model.claimed.max() > 0.5


def test_quality_speaks_first(data: Path, model: MadeUp) -> None:
    report = torchtraceap.analyze(b'{"traceEvents": []}')
    assert not report.detection.run and model.asked == 0
    report = torchtraceap.analyze(data / "a100-cupti-range-no-kernels.json.gz")
    if report.quality.verdict == "unusable":
        assert report.detection.why == "the trace is unusable" and model.asked == 0


def test_the_device_side_of_no_device_is_not_told(
    cpu_only: torchtraceap.Report, install: Any
) -> None:
    model: MadeUp = install(MadeUp(len(cpu_only.windows)))
    model.flag(0, "small_grid", 0.99)
    report = torchtraceap.analyze(cpu_only.loaded)
    assert not report.windows[0].labels
    assert report.windows[0].gpu_probability is None
    assert report.windows[0].cpu_probability == pytest.approx(0.1)
    assert sum(report.detection.agreement(1).to_dict().values()) == 0


@pytest.mark.parametrize("missing", ["torch", "weights"])
def test_without_it_only_rules_run_with_one_notice(
    cpu_only: torchtraceap.Report,
    install: Any,
    monkeypatch: pytest.MonkeyPatch,
    missing: str,
) -> None:
    install(MadeUp(5))
    monkeypatch.setattr(summary, "_told", [])

    def fail() -> None:
        raise ImportError("it needs torch: pip install 'torchtraceap[torch]'")

    if missing == "torch":
        monkeypatch.setattr(model_module, "load_torch_module", fail)
        reason = "Detector not run: it needs torch: pip install 'torchtraceap[torch]'."
    else:
        monkeypatch.setattr(model_module, "BUNDLED", Path("no such file"))
        reason = "Detector not run: this torchtraceap comes without weights for it."
    first, second = (torchtraceap.analyze(cpu_only.loaded) for _ in range(2))
    assert first.windows == first.rule_windows
    assert reason in first.summary() and reason in first.summary()
    assert "Detector" not in second.summary()
    assert not json.loads(second.to_json())["detector"]["run"]


def test_what_is_not_a_file_of_weights_is_refused_before_torch_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_module, "load_torch_module", None)
    os.mkfifo(tmp_path / "pipe")
    for name, what in (("none", "cannot be read"), ("pipe", "is not a regular file")):
        with pytest.raises(ValueError, match=f"{name}: {what}. Give a file"):
            model_module.load_model(str(tmp_path / name))


def test_choices() -> None:
    assert checked_choice("auto", {}) == "auto"
    assert checked_choice("auto", {VARIABLE: "off"}) == "off"
    assert checked_choice(Path("mine"), {VARIABLE: "off"}) == "mine"
    with pytest.raises(TypeError, match="detector must be 'auto', 'off' or the path"):
        torchtraceap.analyze(b"", detector=True)  # type: ignore[call-overload]


def test_weights_that_cannot_be_used_are_refused(
    program: Run, data: Path, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("torchtraceap._torch")
    none = tmp_path / "none.safetensors"
    trace = data / "cpu-macos-resnet18.json.gz"
    with pytest.raises(ValueError, match="none"):
        torchtraceap.analyze(trace, detector=none)
    ended = program("analyze", trace, "--detector", none)
    assert ended.returncode == 2 and not ended.stdout
    assert ended.stderr.startswith(b"torchtraceap: --detector: ")
    assert b"none.safetensors" in ended.stderr and b"Traceback" not in ended.stderr


def test_the_program_writes_the_queue(
    program: Run, data: Path, cpu_only: torchtraceap.Report, install: Any
) -> None:
    trace = data / "cpu-macos-resnet18.json.gz"
    model: MadeUp = install(MadeUp(len(cpu_only.windows)))
    model.flag(1, "gc_pause", 0.99)
    ended = program("analyze", trace, "--review", "-")
    assert ended.returncode == 0, ended.stderr
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert lines[0]["window"] == 1 and lines[0]["trace"] == str(trace)
    ended = program("analyze", trace, "--no-detector", "--review", "-")
    assert (
        ended.returncode == 2
        and b"--review -: the learned detector was not run" in ended.stderr
    )
    ended = program("analyze", trace, "-q", "--sarif", "-")
    assert ended.returncode == 0 and model.asked == 1


def test_a_network_without_calibration_flags_nothing(
    cpu_only: torchtraceap.Report, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    module: Any = pytest.importorskip("torchtraceap._torch")
    if not hasattr(module, "Model"):
        pytest.skip("this module _torch has no Model yet")
    weights = str(tmp_path / "network.safetensors")
    network = module.Network(module.Config(width=32, layers=1, hidden=32), seed=1)
    features = cpu_only.features()
    arrays = module.Arrays(features.windows, features.tokens, features.token_begin)
    network.fit_columns([arrays])
    network.save(weights, training=False)
    report = torchtraceap.analyze(cpu_only.loaded, detector=weights)
    detection: Detection = report.detection
    assert detection.run and not detection.flagged.any()
    assert detection.weights == weights
    assert all(window.gpu_probability is None for window in report.windows)
    line = " ".join(report.summary().split())
    assert "0 of 5 windows flagged" in line and "It took" in line
    # The first report names what loading took, others have it already.
    assert detection.load_seconds > 0 < detection.score_seconds
    again = torchtraceap.analyze(cpu_only.loaded, detector=weights)
    assert again.detection.load_seconds == 0
    json.loads(report.to_json())
    assert report.to_html()


@pytest.fixture
def bundled(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.delenv(VARIABLE)


@pytest.mark.usefixtures("bundled")
def test_the_bundled_weights_say_what_the_readme_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    readme = (root / "README.md").read_text("utf-8")
    code = readme.partition("```python\n")[2].partition("```")[0]
    exec(code, {})
    assert (
        capsys.readouterr().out == readme.partition("```text\n")[2].partition("```")[0]
    )


@pytest.mark.usefixtures("bundled")
def test_the_bundled_weights_rank_a_fixed_twin_below_the_slow_one(data: Path) -> None:
    """Both were recorded on a V100: a loader without workers, and with four. Neither
    was learned from."""
    slow, fixed = (
        torchtraceap.analyze(
            data / f"kineto2021-v100-resnet50-workers{workers}{rest}.json.gz"
        )
        for workers, rest in ((0, "-memory"), (4, ""))
    )
    said = [
        sum(window.cpu_probability * window.duration_us for window in report.windows)
        / report.trace.span_us
        for report in (slow, fixed)
    ]
    assert said[0] > said[1]
