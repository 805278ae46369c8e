# SPDX-License-Identifier: BSD-3-Clause
"""test_training.py: the detector learns: the same again, on from where it was stopped,
on sets and on one's own traces, and says in a sentence why it does not.

It has over 400 lines: one made-up set is made once for all of it.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import torchtraceap
from torchtraceap import _core
from torchtraceap.base.errors import TrainingError, WeightsError
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap_train import recipe, stacked
from torchtraceap_train.checkpoint import Phase
from torchtraceap_train.draws import Draws, DrawSettings
from torchtraceap_train.forest import flatten
from torchtraceap_train.loop import Progress, train_network
from torchtraceap_train.mixing import Side
from torchtraceap_train.own import OwnTraces, read_answers
from torchtraceap_train.stacked import Plan, divide, know, stack, train_model
from torchtraceap_train.traces import LearningTrace, read_set

from .conftest import Run

pytest.importorskip("torch")
pytest.importorskip("torchtraceap._torch")
pytest.importorskip("sklearn")

TINY: dict[str, Any] = {
    "width": 8,
    "heads": 2,
    "layers": 1,
    "hidden": 8,
    "trace_layers": 1,
    "word_width": 4,
    "max_tokens": 8,
    "reach": 2,
}
FEW = DrawSettings(windows=2, draws=3)
PHASES = (Phase(3, {"any": 1.0, "types": 1.0}, FEW), Phase(3, {"any": 1.0}, FEW))
TRACES = (
    "cpu-macos-resnet18.json.gz",
    "mi250-rocm62-tiny.json.gz",
    "a100-event-sync-3streams-tiny.json.gz",
    "cpu-laptop-vae-python-stacks.json.gz",
)
# The patterns that a model reports, in its order.
NAMES = [
    column.name.removeprefix("cause_")
    for column in _core.feature_columns()
    if column.name.startswith("cause_")
]


@pytest.fixture(scope="module")
def made(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training set: windows of real traces, in groups of two, with drawn labels."""
    folder = tmp_path_factory.mktemp("set")
    (folder / "tokens").mkdir()
    features = torchtraceap.analyze(data / TRACES[0]).features()
    random = np.random.default_rng(1)
    n, count = len(features.windows), 24
    rows = []
    for number in range(count):
        name = f"t{number}"
        twin = f"t{number ^ 1}"
        rows.append(
            {
                "name": name,
                "group": f"g{number // 2}",
                "source": "RS"[number // 2 % 2],
                "bad": number % 2 == 0,
                "twin": twin,
                "learn": number < count - 2,
            }
        )
        np.savez(
            folder / "tokens" / name,
            token_begin=features.token_begin,
            **features.tokens,
        )
    windows = np.tile(features.windows, (count, 1))
    windows += random.normal(0, 0.01, windows.shape).astype(np.float32)
    kind = random.integers(-1, 4, n * count).astype(np.int16)
    run = np.repeat(np.arange(count), n).astype(np.int32)
    np.savez(folder / "windows.npz", features=windows, run=run)
    np.savez(
        folder / "labels.npz",
        any=random.integers(-1, 2, (n * count, 2)).astype(np.int8),
        types=random.integers(-1, 2, (n * count, len(NAMES))).astype(np.int8),
        kind=kind,
        recoverable=random.random(n * count).astype(np.float32),
    )
    told = {
        "fingerprint": _core.feature_fingerprint(),
        "patterns": load_torch_module().pattern_names(),
        "traces": rows,
    }
    (folder / "set.json").write_text(json.dumps(told))
    return folder


@pytest.fixture(scope="module")
def traces(made: Path) -> list[LearningTrace]:
    return read_set(made)


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Path:
    """The set again, to be damaged."""
    folder = tmp_path / "copy"
    (folder / "tokens").mkdir(parents=True)
    for path in made.rglob("*.*"):
        (folder / path.relative_to(made)).write_bytes(path.read_bytes())
    return folder


@pytest.fixture(scope="module")
def weights(traces: list[LearningTrace], tmp_path_factory: Any) -> Path:
    """A whole model, calibrated: what one's own traces move further."""
    path: Path = tmp_path_factory.mktemp("weights") / "first.safetensors"
    fitted, kept = divide(traces, 0.5, 0)
    network = train_network(fitted, PHASES[:1], config=TINY, seed=2)
    module = load_torch_module()
    model = module.Model(
        network,
        trees=stub(),
        mix=np.array([[0.5, 1, 0, 0], [1, 0, 0.1, 0.2]], np.float32),
        calibration=(np.linspace(0, 1, 200, dtype=np.float32),) * 2,
        known=know(fitted, kept),
        card={"name": "first"},
    )
    model.save(str(path))
    return path


def stub() -> dict[str, Any]:
    """A leaf that adds 1 to the CPU's side."""
    leaf = [(0, {"leaf_value": 1.0})]
    return flatten(leaf, np.zeros(len(NAMES) + 3, np.float32))


def saved(network: Any, tmp_path: Path) -> bytes:
    network.save(str(tmp_path / "saved"), training=False)
    return (tmp_path / "saved").read_bytes()


def answer(trace: object, window: int, **more: Any) -> str:
    row = {"trace": str(trace), "window": window, "cpu": None, "gpu": None} | more
    return json.dumps(row) + "\n"


# --- The network ----------------------------------------------------------------------


def test_the_same_seed_gives_the_same_weights(
    traces: list[LearningTrace], tmp_path: Path
) -> None:
    heard: list[Progress] = []
    one = train_network(traces, PHASES, config=TINY, seed=3, told=heard.append)
    two = train_network(traces, PHASES, config=TINY, seed=3)
    other = train_network(traces, PHASES, config=TINY, seed=4)
    assert saved(one, tmp_path) == saved(two, tmp_path) != saved(other, tmp_path)
    assert one.steps_done == 6 and heard[-1].step == heard[-1].steps == 6
    assert heard[-1].losses.keys() <= {"any", "types"}


class Stopped(KeyboardInterrupt):
    pass


def stop_after(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C before the step that follows."""
    drawn = Draws.windows_of

    def windows_of(self: Draws, number: int, again: int = 0) -> Any:
        if number == steps:
            raise Stopped
        return drawn(self, number, again)

    monkeypatch.setattr(Draws, "windows_of", windows_of)


@pytest.mark.parametrize("steps", [2, 4])
def test_a_stopped_run_ends_as_one_that_was_not(
    traces: list[LearningTrace], tmp_path: Path, steps: int
) -> None:
    whole = train_network(traces, PHASES, config=TINY, seed=3)
    kept = tmp_path / "checkpoint"
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Stopped):
        stop_after(steps, patch)
        train_network(traces, PHASES, config=TINY, seed=3, checkpoint=kept)
    assert load_torch_module().Network.load(str(kept)).steps_done == steps
    on = train_network(traces, PHASES, config=TINY, seed=3, checkpoint=kept)
    assert saved(on, tmp_path) == saved(whole, tmp_path)
    # What is done already is not done again.
    again = train_network(traces, PHASES, config=TINY, seed=3, checkpoint=kept)
    assert saved(again, tmp_path) == saved(whole, tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "saved"]


def test_a_checkpoint_of_another_training_is_refused(
    traces: list[LearningTrace], weights: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "checkpoint"
    train_network(traces, PHASES, config=TINY, seed=3, checkpoint=kept)
    before = kept.read_bytes()
    relabeled = replace(traces[0], any=1 - abs(traces[0].any))
    same: dict[str, Any] = {
        "traces": traces,
        "phases": PHASES,
        "config": TINY,
        "seed": 3,
    }
    others: list[tuple[str, dict[str, Any]]] = [
        ("its seed is 3, not 4", {"seed": 4}),
        ("its steps are 3 . 3, not 3", {"phases": PHASES[:1]}),
        ("its recipe is", {"phases": (PHASES[0], replace(PHASES[1], rate=1.0))}),
        ("its network is", {"config": TINY | {"hidden": 16}}),
        ("its traces are 22", {"traces": traces[1:]}),
        ("its traces are 22", {"traces": [relabeled, *traces[1:]]}),
        ("its network is|its first weights are nothing", {"begin": weights}),
    ]
    for message, other in others:
        with pytest.raises(TrainingError, match=message) as caught:
            train_network(**(same | other), checkpoint=kept)
        assert "Remove it to start over" in str(caught.value)
    assert kept.read_bytes() == before
    # Weights of somebody's are not taken for a checkpoint, and never written over.
    mine = tmp_path / "mine"
    mine.write_bytes(weights.read_bytes())
    for content in (weights.read_bytes(), b"damaged"):
        mine.write_bytes(content)
        with pytest.raises(TrainingError, match=r"mine.*Remove it to start over"):
            train_network(traces, PHASES, config=TINY, checkpoint=mine)
        assert mine.read_bytes() == content


def test_training_from_weights_restarts_the_step_count(
    traces: list[LearningTrace], weights: Path, tmp_path: Path
) -> None:
    """Else none would be left to do, or only some at a rate of nothing."""
    before = load_torch_module().Network.load(str(weights))
    after = train_network(traces, PHASES[:1], seed=9, begin=weights)
    assert before.steps_done == after.steps_done == 3
    assert saved(before, tmp_path) != saved(after, tmp_path)
    with pytest.raises(WeightsError, match=r"first2"):
        train_network(traces, PHASES, begin=weights.with_name("first2"))


def test_unusable_training_data_is_reported(
    traces: list[LearningTrace], tmp_path: Path
) -> None:
    blank = replace(
        traces[0],
        any=np.full_like(traces[0].any, -1),
        types=np.full_like(traces[0].types, -1),
    )
    gone = tmp_path / "none" / "checkpoint"
    broken = (Phase(5, {"any": 1.0}, FEW, rate=1e30),)
    cases: list[tuple[str, list[LearningTrace], tuple[Phase, ...], Path | None]] = [
        ("No trace to learn from has a window", [], PHASES, None),
        ("next to nothing is known", [blank], PHASES, None),
        (r"step \d of the training failed: .*number", traces, broken, None),
        ("none/checkpoint cannot be written: No such", traces, PHASES[:1], gone),
    ]
    for message, given, phases, checkpoint in cases:
        with pytest.raises(TrainingError, match=message):
            train_network(given, phases, config=TINY, checkpoint=checkpoint)
    with pytest.raises(TrainingError, match="these traces tell nothing to learn"):
        recipe.plan_for([replace(blank, bad=None)], 2, None, trees=False)


def test_a_step_without_a_label_is_drawn_again(traces: list[LearningTrace]) -> None:
    any_ = np.full_like(traces[0].any, -1)
    any_[-1] = 0
    blank = [replace(trace, any=np.full_like(trace.any, -1)) for trace in traces[1:9]]
    one = replace(traces[0], any=any_)
    phase = Phase(4, {"any": 1.0}, DrawSettings(windows=1, draws=1))
    assert train_network([one, *blank], [phase], config=TINY).steps_done == 4


# --- Draws ----------------------------------------------------------------------------


def test_draws_are_those_of_seed_and_step(traces: list[LearningTrace]) -> None:
    def drawn(seed: int, step: int, again: int = 0) -> list[Any]:
        found = Draws(traces, FEW, seed).windows_of(step, again)
        return [(one.trace.name, *one[1:]) for one in found]

    assert drawn(1, 5) == drawn(1, 5)
    assert len({str(drawn(*of)) for of in ((1, 5), (2, 5), (1, 6), (1, 5, 1))}) == 4


@pytest.mark.parametrize("windows", [1, 3, 5, 100])
def test_draws_lie_in_their_traces(traces: list[LearningTrace], windows: int) -> None:
    draws = Draws(traces, DrawSettings(windows, 20, twins=True), 0)
    for step in range(10):
        found = draws.windows_of(step)
        assert len(found) == 40
        for one in found:
            size = min(windows, len(one.trace))
            assert 0 <= one.first <= one.last - size == one.first
            assert one.last <= len(one.trace)
        for one, twin in zip(found[::2], found[1::2], strict=True):
            assert one.trace.twin == twin.trace.name and one.pair == twin.pair >= 0
        assert len({one.pair for one in found}) == 20
    assert {one.trace.source for one in draws.windows_of(0)} == {"R", "S"}


def test_of_own_traces_what_was_labeled_is_drawn(traces: list[LearningTrace]) -> None:
    any_ = np.full_like(traces[0].any, -1)
    any_[3, 0] = 0
    mine = replace(traces[0], source="own", any=any_)
    draws = Draws([mine], DrawSettings(windows=2, draws=20), 0)
    for one in draws.windows_of(0):
        assert one.first <= 3 < one.last


# --- The whole model ------------------------------------------------------------------


def test_no_group_is_on_both_sides(traces: list[LearningTrace]) -> None:
    # Groups of both sources, as a recording and what was made of it are.
    shared = [
        replace(trace, source="R" if number % 2 else "S")
        for number, trace in enumerate(traces)
    ]
    for some in (traces, shared):
        fitted, kept = divide(some, 0.4, 1)
        assert fitted and kept and len(fitted) + len(kept) == len(some)
        assert not {t.group for t in fitted} & {t.group for t in kept}
    assert divide(traces, 0.4, 1)[1] == divide(traces, 0.4, 1)[1]
    assert divide(traces, 0.0, 1)[1] == []


def test_thresholds_are_of_other_traces_than_the_mix(
    traces: list[LearningTrace], monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted, kept = divide(traces, 0.8, 0)
    first, last = divide(kept, 0.5, 5)
    assert first and last
    sides: list[Side] = []
    monkeypatch.setattr(stacked, "choose", sides.append)  # Tells nothing: None.
    module = load_torch_module()
    network = module.Network(module.Config(**TINY), seed=1)
    model = stack(network, stub(), fitted, kept, 5, {})
    for side in range(2):
        known = [trace.any[:, side] for trace in first]
        truth = np.concatenate([some[some >= 0] for some in known])
        assert (sides[side].truth == truth).all()
        told = np.concatenate(
            [model.say(t.arrays)["network"][t.any[:, side] == 0, side] for t in last]
        )
        # Above the threshold is one negative in five, as they are ranked.
        rank = math.ceil((len(told) + 1) * 0.8 - 1e-9)
        wanted = np.sort(told)[rank - 1]
        assert model.threshold(side, 0.2) == pytest.approx(wanted, abs=1e-5)


def test_a_model_of_a_set(traces: list[LearningTrace], tmp_path: Path) -> None:
    pytest.importorskip("lightgbm")
    plan = Plan(PHASES[:1], TINY, calibrated=0.5)
    paths = [tmp_path / name for name in ("one", "two")]
    for path in paths:
        train_model(traces, plan, seed=6, card={"name": "mine"}).save(str(path))
    assert paths[0].read_bytes() == paths[1].read_bytes()
    model = load_torch_module().Model.load(str(paths[0]))
    said = model.say(traces[0].arrays)
    assert np.isfinite(said["trees"]).all() and model.card["name"] == "mine"
    assert np.isfinite([model.trace_from, model.window_from]).all()
    assert np.isfinite(model.threshold(0, 0.5))
    with pytest.raises(TrainingError, match="2 traces are called t3"):
        train_model([*traces, traces[3]], plan)


def test_strangeness_is_the_distance_to_what_was_learned(
    traces: list[LearningTrace],
) -> None:
    known = know(traces[:-2], traces[-2:])
    assert known is not None and 0 < known["trace_from"] <= known["window_from"]
    same = replace(traces[0], windows=traces[0].windows[:1])
    assert know([same], [same]) is None


@pytest.mark.parametrize(
    ("module", "message"),
    [("lightgbm", "LightGBM, which cannot"), ("sklearn", "scikit-learn, which cannot")],
)
def test_a_missing_package_is_reported_at_once(
    traces: list[LearningTrace],
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    message: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    heard: list[Progress] = []
    with pytest.raises(TrainingError, match=message) as caught:
        train_model(traces, Plan(PHASES, TINY), told=heard.append)
    assert "pip install 'torchtraceap[train]'" in str(caught.value) and not heard


def test_flat_trees_say_what_lightgbm_says() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    module = load_torch_module()
    random = np.random.default_rng(0)
    columns = len(_core.feature_columns())
    names = [str(number) for number in range(columns)]
    settings: dict[str, Any] = {
        "n_estimators": 6,
        "min_child_samples": 5,
        "verbosity": -1,
        "n_jobs": 1,
    }
    base = np.zeros(len(NAMES) + 3, np.float32)
    for missing in (True, False):
        windows = random.normal(0, 1, (300, columns)).astype(np.float32)
        windows[:, :3] = windows[:, :3].round(1)  # Values that bounds are equal to.
        asked = windows.copy()
        asked[random.random(asked.shape) < 0.2] = np.nan
        if missing:
            windows = asked
        kind = np.nan_to_num(windows[:, 0] + windows[:, 1]).clip(-1, 1).round()
        for make, truth, outputs in (
            (lightgbm.LGBMRegressor, np.nan_to_num(windows[:, 2]), [4]),
            (lightgbm.LGBMClassifier, kind > 0, [0]),
            (lightgbm.LGBMClassifier, kind, [2, 5, 3]),
        ):
            model = make(**settings)
            model.fit(windows, truth, feature_name=names)
            info = model.booster_.dump_model()["tree_info"]
            trees = [
                (outputs[number % len(outputs)], tree["tree_structure"])
                for number, tree in enumerate(info)
            ]
            raw = module.trees_raw(flatten(trees, base), asked)
            theirs = model.booster_.predict(asked, raw_score=True)
            assert np.allclose(raw[:, outputs], theirs.reshape(300, -1), atol=1e-5)
            assert np.ptp(theirs) > 0.1
    # The float32 of 0.1 lies above the bound, however it is rounded.
    node = {
        "split_feature": 0,
        "threshold": 0.1,
        "decision_type": "<=",
        "missing_type": "None",
        "default_left": True,
        "left_child": {"leaf_value": 1.0},
        "right_child": {"leaf_value": 2.0},
    }
    asked[:, 0] = 0.1
    assert (module.trees_raw(flatten([(0, node)], base), asked)[:, 0] == 2).all()
    with pytest.raises(ValueError, match="only <= is known"):
        flatten([(0, info[0]["tree_structure"] | {"decision_type": "=="})], base)


# --- Sets -----------------------------------------------------------------------------


def test_a_set_is_read(made: Path, traces: list[LearningTrace]) -> None:
    assert len(traces) == 22 and traces[3].group == "g1" and traces[3].twin == "t2"
    with np.load(made / "labels.npz") as labels:
        assert (labels["any"][15:20] == traces[3].any).all()
    assert [trace.name for trace in read_set(made, ["t23"])] == ["t23"]


def edit_set(folder: Path, **more: Any) -> None:
    told = json.loads((folder / "set.json").read_text())
    (folder / "set.json").write_text(json.dumps(told | more))


def edit_trace(folder: Path, **more: Any) -> None:
    """Change what set.json says about the first trace."""
    first, *rest = json.loads((folder / "set.json").read_text())["traces"]
    edit_set(folder, traces=[first | more, *rest])


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def edit_arrays(path: Path, **more: Any) -> None:
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    arrays = {name: values for name, values in (arrays | more).items() if len(values)}
    np.savez(path, **arrays)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda s: (s / "set.json").unlink(),
            "is not a training set: .*set.json is missing",
        ),
        (lambda s: (s / "labels.npz").unlink(), ".*labels.npz is missing"),
        (lambda s: (s / "tokens/t3.npz").unlink(), ".*t3.npz is missing"),
        (lambda s: (s / "set.json").write_text("{"), "is damaged: Expecting"),
        (lambda s: (s / "set.json").write_text("[]"), "is damaged: list indices"),
        (lambda s: (s / "set.json").write_text("{}"), "set.json lacks 'fingerprint'"),
        (lambda s: edit_set(s, fingerprint="ab"), "its features are ab, those of this"),
        (lambda s: edit_set(s, patterns=["gc_pause"]), "it is of other patterns"),
        (lambda s: edit_set(s, traces=[{"name": "t0"}]), "set.json lacks 'learn'"),
        (lambda s: edit_set(s, traces={}), "traces in set.json is not a list"),
        (lambda s: edit_trace(s, group=[1]), "group of trace 0 .* is of type list"),
        (lambda s: edit_trace(s, source=1), "source of trace 0 .* is of type int"),
        (lambda s: edit_trace(s, bad="no"), "bad of trace 0 .* is of type str"),
        (lambda s: piped(s / "set.json"), "a pipe or a device"),
        (lambda s: piped(s / "labels.npz"), "a pipe or a device"),
        (
            lambda s: (s / "windows.npz").write_bytes(b"PK"),
            "windows.npz cannot be read",
        ),
        (
            lambda s: (s / "labels.npz").write_bytes(
                (s / "labels.npz").read_bytes()[:-500]
            ),
            "labels.npz cannot be read",
        ),
        (lambda s: edit_arrays(s / "labels.npz", kind=[]), "npz has no array kind"),
        (
            lambda s: edit_arrays(s / "labels.npz", any=np.zeros((5, 2))),
            r"any in labels.npz has the shape \(5, 2\) for 120 windows",
        ),
        (
            lambda s: edit_arrays(s / "labels.npz", kind=np.full(120, len(NAMES))),
            "kind in labels.npz goes from",
        ),
        (
            lambda s: edit_arrays(s / "windows.npz", run=np.arange(120)[::-1]),
            "run in windows.npz is out of order",
        ),
        (
            lambda s: edit_arrays(s / "tokens/t3.npz", gap=np.zeros(3, np.float32)),
            "t3: arrays: gap has 3 values",
        ),
    ],
)
def test_a_damaged_set_is_refused(
    copied: Path, damage: Callable[[Path], None], message: str
) -> None:
    damage(copied)
    with pytest.raises(TrainingError, match=message) as caught:
        read_set(copied)
    assert str(copied) in str(caught.value) and str(caught.value).endswith(".")


# --- One's own traces -----------------------------------------------------------------


def test_answers_are_read(data: Path, tmp_path: Path) -> None:
    trace = data / TRACES[0]
    queue = tmp_path / "review.jsonl"
    lines = (
        answer(trace, 0)
        + "\n"
        + answer("gone.json", 0)
        + answer(trace, 2, cpu=True, pattern="gc_pause")
    )
    queue.write_text(lines + answer(trace, 3, cpu=False, gpu=True))
    answers = read_answers([queue])
    (mine,) = OwnTraces(answers=answers).read()
    assert mine.any.tolist() == [[-1, -1], [-1, -1], [1, -1], [0, 1], [-1, -1]]
    names = load_torch_module().pattern_names()
    assert (mine.types[2] == 1).nonzero()[0] == [names.index("gc_pause")]
    assert mine.kind[2] == names.index("gc_pause") and (mine.types >= 0).sum() == 1
    assert mine.bad is None and np.isnan(mine.recoverable).all()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2 is not JSON: "),
        ("7", "line 2 names no trace: it is of no review queue"),
        ('{"cpu": true}', "line 2 names no trace"),
        (answer("gone.json", 0, cpu=True), "line 2: its trace gone.json is not there"),
        (answer("T", 1, gpu=True, pattern="x"), "line 2: there is no pattern 'x'"),
        (answer("T", 5, cpu=True), "line 2: its trace has no window 5, but 5"),
        (answer("T", -1, cpu=True), "line 2: its trace has no window -1"),
        (answer("T", True, cpu=True), "line 2: its trace has no window True"),
        (answer("T", 1, cpu="yes"), "line 2: cpu is 'yes'. Answer true, false or null"),
        (answer("T", 1, cpu=False), "line 2: cpu is false, and another line says"),
        (answer("T", 2, cpu=True, start_us=-1.0), "line 2: window 2 has the start_us"),
        (answer("T", 2, cpu=True, end_us=-1.0), "window 2 has the end_us .*, not -1.0"),
        (answer("T", 2, cpu=False, pattern="sync_stall"), "another line labels window"),
    ],
)
def test_answers_that_do_not_fit_are_refused(
    data: Path, tmp_path: Path, line: str, message: str
) -> None:
    trace = str(data / TRACES[0])
    queue = tmp_path / "review.jsonl"
    queue.write_text(answer(trace, 1, cpu=True) + line.replace('"T"', f'"{trace}"'))
    with pytest.raises(TrainingError, match=message) as caught:
        OwnTraces(answers=read_answers([queue])).read()
    assert str(caught.value).startswith(str(queue))


def test_a_queue_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="none cannot be read: No such file"):
        read_answers([tmp_path / "none"])
    (tmp_path / "bytes").write_bytes(b"\xff")
    with pytest.raises(TrainingError, match="bytes cannot be read: it is not text"):
        read_answers([tmp_path / "bytes"])


def test_what_is_said_of_traces_must_agree(data: Path, tmp_path: Path) -> None:
    one, two, three = (str(data / name) for name in TRACES[:3])
    link = tmp_path / "link"
    link.symlink_to(one)
    with pytest.raises(TrainingError, match="is called both good and bad"):
        OwnTraces([one], [str(link)]).read()
    with pytest.raises(TrainingError, match="is called both good and bad"):
        OwnTraces(good=[one], pairs=[(one, two)]).read()
    with pytest.raises(TrainingError, match="is of two pairs"):
        OwnTraces(pairs=[(one, two), (three, two)]).read()
    slow, fixed = OwnTraces(good=[two], pairs=[(one, two)]).read()
    assert (slow.bad, fixed.bad) == (True, False)
    assert slow.twin == fixed.name == two and slow.group == fixed.group
    empty = tmp_path / "empty.json"
    empty.write_text('{"traceEvents": []}')
    with pytest.raises(TrainingError, match=r"empty.json has no window to learn from"):
        OwnTraces([str(empty)]).read()


@pytest.mark.parametrize("pair", [True, False])
def test_own_traces_move_the_network_alone(
    data: Path, weights: Path, pair: bool
) -> None:
    one, two = (str(data / name) for name in TRACES[:2])
    own = OwnTraces(pairs=[(one, two)]) if pair else OwnTraces([one], [two])
    traces = own.read()
    plan = recipe.plan_for(traces, 4, weights, trees=True)
    (phase,) = plan.phases
    assert set(phase.losses) == ({"pairs", "bags"} if pair else {"bags"})
    assert phase.draws.twins == pair and phase.steps == 4
    heard: list[Progress] = []
    model = train_model(traces, plan, begin=weights, told=heard.append)
    assert heard[-1].losses.keys() == phase.losses.keys()
    before = load_torch_module().Model.load(str(weights))
    said, was = (one.say(traces[0].arrays) for one in (model, before))
    assert (said["trees"] == was["trees"]).all() and (said["trees"][:, 0] > 0.7).all()
    assert (said["strangeness"] == was["strangeness"]).all()
    for side in range(2):
        threshold = model.threshold(side, 0.1)
        assert threshold == before.threshold(side, 0.1) < 1
    assert not np.array_equal(said["network"], was["network"])
    card = recipe.card_of(traces, plan, 1, weights)
    assert "name" not in card and card["begun with"] == weights.name


# --- The program ----------------------------------------------------------------------


def refusal(program: Run, *arguments: object, **options: Any) -> str:
    """Run what must fail; return its only line."""
    ended = program("train", *arguments, **options)
    text: str = ended.stderr.decode()
    assert ended.returncode == 2 and ended.stdout == b"", ended
    assert text.startswith("torchtraceap: ") and text.count("\n") == 1
    return text


def test_mistakes_are_reported_in_a_line(
    program: Run, copied: Path, data: Path, weights: Path, tmp_path: Path
) -> None:
    out, trace = tmp_path / "new.safetensors", data / TRACES[0]
    to = ("--out", out)
    assert "no training data: name a SET" in refusal(program, *to)
    cases: list[tuple[str, tuple[object, ...]]] = [
        ("none/x: No such file or directory. Give --out", (copied, "--out", "none/x")),
        ("cannot go to standard output", (copied, "--out", "-")),
        ("would overwrite", (copied, "--out", copied / "labels.npz")),
        ("would overwrite", (copied, "--out", copied / "tokens" / "t3.npz")),
        ("would overwrite", ("--good", trace, "--bad", "x", "--out", trace)),
        ("would overwrite", (copied, "--from", weights, "--out", weights)),
        (
            "--out and --checkpoint name the same file",
            (copied, "--checkpoint", out, *to),
        ),
        (
            "--checkpoint . names no file|Is a directory",
            (copied, "--checkpoint", ".", *to),
        ),
        (f"{data} is not a training set", (data, *to)),
        ("none.json", ("--from", weights, "--good", "none.json", "--bad", trace, *to)),
        ("no such weights file", (copied, "--from", "none", *to)),
        ("set.json", (copied, "--from", copied / "set.json", *to)),
        ("tell nothing to learn", ("--from", weights, "--good", trace, *to)),
        ("--device abacus: there is no device", (copied, "--device", "abacus", *to)),
        ("none.jsonl cannot be read", ("--labels", "none.jsonl", *to)),
    ]
    import re

    import torch

    if not torch.cuda.is_available():
        cases.append(
            ("--device cuda: .*finds no GPU", (copied, "--device", "cuda", *to))
        )
    if not recipe.BUNDLED.is_file():
        cases.append(("comes without weights", ("--good", trace, "--bad", trace, *to)))
    for message, arguments in cases:
        told = refusal(program, *arguments, cwd=tmp_path)
        assert re.search(message, told), (message, told)
        assert told.rstrip().endswith("."), told
    assert not out.exists() and sorted(os.listdir(tmp_path)) == ["copy"]


@pytest.mark.parametrize(
    ("option", "value"), [("steps", "0"), ("seed", 2**31), ("seed", "-1")]
)
def test_numbers_have_bounds(
    program: Run, made: Path, option: str, value: object
) -> None:
    ended = program("train", made, "--out", "x", f"--{option}={value}")
    assert ended.returncode == 2 and b"is not a number from" in ended.stderr


def test_a_set_by_the_program(
    program: Run,
    made: Path,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recipe, "NETWORK", TINY)
    out, kept = tmp_path / "mine.safetensors", tmp_path / "kept"
    how = ("--no-trees", "--steps", 3, "--seed", 5, "--checkpoint", kept)
    ended = program("train", made, *how, "--out", out)
    assert ended.returncode == 0, ended.stderr
    told = ended.stdout.decode().splitlines()
    assert told[0] == "learning from 22 traces, 110 windows"
    assert told[-3].startswith("step 3 of 3: ") and "windows/s" in told[-3]
    assert told[-2].startswith(str(out)) and "flags nothing of the CPU" in told[-1]
    first = out.read_bytes()
    assert program("train", made, *how, "-q", "--out", out).stdout == b""
    assert out.read_bytes() == first
    ended = program("analyze", data / TRACES[0], "--full", "--detector", out)
    assert ended.returncode == 0 and b"Detector (torchtraceap " in ended.stdout
    how = ("--no-trees", "--steps", 4, "--seed", 5, "--checkpoint", kept)
    assert "its steps are 3, not 4" in refusal(program, made, *how, "-q", "--out", out)


def test_labels_by_the_program(
    program: Run, data: Path, weights: Path, tmp_path: Path
) -> None:
    trace, queue = data / TRACES[0], tmp_path / "review.jsonl"
    ended = program("analyze", trace, "--detector", weights, "--review", queue)
    assert ended.returncode == 0, ended.stderr
    rows = [json.loads(line) for line in queue.read_text().splitlines()]
    assert rows
    for row in rows[:2]:
        row["cpu"] = True
    queue.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "mine.safetensors"
    how = ("--from", weights, "--steps", 2, "--out", out)
    ended = program("train", "--labels", queue, *how)
    assert ended.returncode == 0, ended.stderr
    ended = program("analyze", trace, "--full", "--detector", out)
    assert b"Detector (mine.safetensors)" in ended.stdout


def test_progress_of_a_long_run_is_twenty_lines(capsys: Any) -> None:
    from torchtraceap.cli import train

    with train._bar(quiet=False) as told:
        for step in range(1, 1001):
            told(Progress(step, 1000, {"any": 0.5}, 1234.5))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 20
    assert lines[-1] == "step 1,000 of 1,000: any 0.500, 1234 windows/s"


def test_windows_that_are_learned_from_are_counted(
    traces: list[LearningTrace], monkeypatch: pytest.MonkeyPatch
) -> None:
    from torchtraceap_train import loop

    clock = iter(np.arange(0.0, 1e6, 2.0))
    monkeypatch.setattr(loop.time, "monotonic", lambda: float(next(clock)))
    heard: list[Progress] = []
    phase = Phase(1, {"any": 1.0}, DrawSettings(windows=100, draws=4))
    train_network(traces, [phase], config=TINY, told=heard.append)
    # Traces have 5 windows, however many are asked for.
    assert heard[0].windows_per_second == pytest.approx(4 * 5 / 2)
