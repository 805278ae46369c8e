# SPDX-License-Identifier: BSD-3-Clause
"""test_torch_module.py: the learned model as Python sees it, without any weights."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import torchtraceap
from torchtraceap import _core
from torchtraceap.base.errors import WeightsError
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap_train.relabel import main as relabel_main

pytest.importorskip("torch")

SMALL: dict[str, Any] = {
    "width": 32,
    "layers": 1,
    "hidden": 32,
    "trace_layers": 1,
    "word_width": 8,
}


@pytest.fixture(scope="module")
def module() -> ModuleType:
    return load_torch_module()


@pytest.fixture(scope="module")
def features(data: Path) -> Any:
    return torchtraceap.analyze(data / "h100-vit-nsfw-inference.json.gz").features()


@pytest.fixture(scope="module")
def arrays(module: ModuleType, features: Any) -> Any:
    return module.Arrays(features.windows, features.tokens, features.token_begin)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    import torch

    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("torch finds no GPU here")
    yield request.param


@pytest.mark.parametrize("config", [SMALL, {}], ids=["small", "default"])
def test_scores_of_a_real_trace(
    module: ModuleType, arrays: Any, device: str, config: dict[str, Any]
) -> None:
    network = module.Network(module.Config(**config), seed=1, device=device)
    network.fit_columns([arrays])
    scores = network.score(arrays, events=2)
    count = len(arrays)
    assert scores["any"].shape == (count, 2)
    assert scores["types"].shape == (count, len(module.pattern_names()))
    assert scores["recoverable"].shape == (count,)
    assert scores["events"].shape == scores["event_shares"].shape == (count, 2)
    for name in ("any", "types", "recoverable"):
        assert scores[name].dtype == np.float32
        assert ((scores[name] > 0) & (scores[name] < 1)).all()
    half = network.score(arrays, bfloat16=True)
    assert 0 < np.abs(half["any"] - scores["any"]).max() < 1e-2
    other = module.Network(module.Config(**config), seed=1)
    other.fit_columns([arrays])
    limit = 1e-5 if device == "cpu" else 1e-2
    again = other.score(arrays, batch_tokens=300, threads=2)
    assert np.abs(again["any"] - scores["any"]).max() < limit


def test_scores_do_not_depend_on_how_torch_is_set(
    module: ModuleType, arrays: Any
) -> None:
    """Handlers run inside a training loop's autocast, and some set a default dtype."""
    import torch

    network = module.Network(module.Config(**SMALL), seed=1)
    usual = network.score(arrays)["any"]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (network.score(arrays)["any"] == usual).all()
    torch.set_default_dtype(torch.float64)
    try:
        assert (network.score(arrays)["any"] == usual).all()
        again = module.Network(module.Config(**SMALL), seed=1)
        again.fit_columns([arrays])
        assert np.isfinite(again.score(arrays)["any"]).all()
    finally:
        torch.set_default_dtype(torch.float32)


def test_types_are_those_of_the_pattern_table(module: ModuleType) -> None:
    causes = [c.name for c in _core.feature_columns() if c.name.startswith("cause_")]
    assert [f"cause_{name}" for name in module.pattern_names()] == causes


def test_steps_teach_and_weights_come_back(
    module: ModuleType, arrays: Any, tmp_path: Path, device: str
) -> None:
    labels = np.zeros((16, 2), np.int8)
    labels[::3] = 1
    example = module.Example(arrays, 0, 16, any=labels, bad=True)
    training = module.Training(
        learning_rate=0.005,
        steps=40,
        warm_up=2,
        weights=module.LossWeights(bags=0.1, masked=0.1),
    )
    network = module.Network(module.Config(**SMALL), seed=3, device=device)
    network.fit_columns([arrays])
    done = [network.train_step([example], training) for _ in range(40)]
    assert [step.step for step in done] == list(range(1, 41))
    assert done[-1].any < 0.7 * done[0].any
    assert np.isnan(done[0].types) and np.isnan(done[0].pairs)
    assert done[20].rate > done[-1].rate > 0
    network.save(str(tmp_path / "all"), training=True)
    network.save(str(tmp_path / "few"), training=False)
    loaded = module.Network.load(str(tmp_path / "few"))
    assert loaded.steps_done == 40 and loaded.config.width == 32
    assert loaded.parameters == network.parameters
    limit = 0 if device == "cpu" else 1e-2
    difference = loaded.score(arrays)["any"] - network.score(arrays)["any"]
    assert np.abs(difference).max() <= limit


def test_torch_is_left_as_it_was(module: ModuleType, arrays: Any) -> None:
    import torch

    state, threads = torch.get_rng_state(), torch.get_num_threads()
    torch.set_num_threads(3)
    network = module.Network(module.Config(**SMALL), seed=5)
    example = module.Example(arrays, 0, 4, bad=True)
    weights = module.LossWeights(bags=1, masked=1)
    network.train_step([example], module.Training(weights=weights))
    network.score(arrays, threads=2)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == 3 and torch.is_grad_enabled()
    torch.set_num_threads(threads)


def test_files_are_those_of_safetensors(module: ModuleType, tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    network = module.Network(module.Config(**SMALL), seed=4)
    path = tmp_path / "weights.safetensors"
    network.save(str(path), training=True)
    tensors = safetensors.load_file(path)
    table = tensors["network.events.words.weight"]
    assert table.shape == (8192, 8) and table.dtype == np.float32
    with safetensors.safe_open(path, "np") as file:
        metadata = file.metadata()
    columns = [f"{column.name}:1" for column in _core.feature_columns()]
    known = metadata["tables.statistics"].split()
    assert known == [name for name in columns if not name.startswith("cause_")]
    assert metadata["tables.patterns"].startswith("profiler_artifact:1:cpu ")
    # And what that library writes is read here, as long as nothing differs.
    safetensors.save_file(tensors, path, metadata)
    module.Network.load(str(path))
    metadata["tables.statistics"] = metadata["tables.statistics"].replace(":1", ":2")
    safetensors.save_file(tensors, path, metadata)
    with pytest.raises(WeightsError, match="this version has 0, of at least"):
        module.Network.load(str(path))


def test_weights_are_named_anew(module: ModuleType, tmp_path: Path) -> None:
    path, out = tmp_path / "old", tmp_path / "new"
    module.Model(module.Network(module.Config(**SMALL), seed=4)).save(str(path))
    sound = path.read_bytes()
    # As they were before names were kept, and of a column that was called otherwise.
    for old, new in ((b"detector 2", b"detector 1"), (b" busy:1", b" bysy:1")):
        path.write_bytes(sound.replace(old, new))
        assert relabel_main([str(path), "--out", str(out)]) == 0
        assert out.read_bytes() == sound
    path.write_bytes(sound.replace(b"detector 2", b"detector 1"))
    with pytest.raises(WeightsError, match="does not name its columns"):
        module.Model.load(str(path))
    assert relabel_main([str(path)]) == 0 and path.read_bytes() == sound


def test_only_weights_of_as_many_columns_are_named_anew(
    module: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "weights"
    module.Model(module.Network(module.Config(**SMALL), seed=4)).save(str(path))
    with safetensors.safe_open(path, "np") as file:
        metadata = file.metadata()
    tensors = safetensors.load_file(path)
    tensors["network.statistics.mean"] = tensors["network.statistics.mean"][1:]
    safetensors.save_file(tensors, path, metadata)
    before = path.read_bytes()
    assert relabel_main([str(path)]) == 2
    assert 'statistics.mean" has another type or shape' in capsys.readouterr().err
    assert path.read_bytes() == before


def one_tree(module: ModuleType) -> dict[str, Any]:
    """Adds 2 to `any CPU` where the first column is at most 0.5, else 1."""
    return {
        "begin": np.array([0, 3]),
        "output": np.array([0]),
        "column": np.array([0, -1, -1]),
        "bound": np.array([0.5, 0, 0], np.float32),
        "missing_left": np.array([1, 0, 0]),
        "left": np.array([1, 0, 0]),
        "right": np.array([2, 0, 0]),
        "value": np.array([0, 2, 1], np.float32),
        "base": np.zeros(len(module.pattern_names()) + 3, np.float32),
    }


def test_a_model_comes_back(
    module: ModuleType, features: Any, arrays: Any, tmp_path: Path, device: str
) -> None:
    columns = features.windows.shape[1]
    network = module.Network(module.Config(**SMALL), seed=6, device=device)
    model = module.Model(
        network,
        trees=one_tree(module),
        mix=np.array([[0.5, 1, 0.1, -1], [1, 0, 0.2, 0]], np.float32),
        types_mix=(1.0, 0.5, 0.25),
        recoverable_mix=0.5,
        calibration=(np.linspace(0, 1, 99, dtype=np.float32), np.empty(0, np.float32)),
        known={
            "center": np.zeros(columns, np.float32),
            "middle": np.zeros(columns, np.float32),
            "whiten": np.eye(3, columns, dtype=np.float32),
            "window_from": 4.0,
            "trace_from": np.inf,
        },
        card={"name": "größer"},
    )
    said = model.say(arrays, events=2)
    # Network and trees are asked as if rules claimed nothing.
    quiet = features.windows.copy()
    causes = quiet[:, -len(module.pattern_names()) :]
    causes[np.isfinite(causes)] = 0
    beside = module.Arrays(quiet, features.tokens, features.token_begin)
    logits = network.score(beside)["logits"].astype(float)
    raw = module.trees_raw(one_tree(module), features.windows)
    first = features.windows[:, 0]
    assert (raw[:, 0] == np.where(first > 0.5, 1, 2)).all() and not raw[:, 1:].any()
    rules = module.rules_input(features.windows)
    mixed = 0.5 * logits[:, 0] + raw[:, 0] + 0.1 * rules[:, 0] - 1
    limit = 1e-5 if device == "cpu" else 1e-2
    assert np.abs(1 / (1 + np.exp(-mixed)) - said["probability"][:, 0]).max() < limit
    claimed = np.full((len(arrays), 2), 0.25, np.float32)
    mixed += 0.1 * (module.rules_logit(0.25) - rules[:, 0])
    other = model.say(arrays, claimed=claimed)["probability"]
    assert np.abs(1 / (1 + np.exp(-mixed)) - other[:, 0]).max() < limit
    with pytest.raises(ValueError, match="two shares for each window"):
        model.say(arrays, claimed=claimed[1:])
    assert said["types"].shape == (len(arrays), len(module.pattern_names()))
    assert said["strangeness"].all()

    model.save(str(tmp_path / "model"))
    loaded = module.Model.load(str(tmp_path / "model"), device=device)
    again = loaded.say(arrays, events=2)
    assert again.keys() == said.keys()
    for name, values in said.items():
        assert np.abs(again[name] - values).max() <= (0 if device == "cpu" else limit)
    assert loaded.threshold(0, 0.1) == model.threshold(0, 0.1) == np.float32(89 / 98)
    assert np.isinf(loaded.threshold(1, 0.1)) and np.isinf(loaded.trace_from)
    assert loaded.window_from == 4 and loaded.card == {"name": "größer"}
    assert loaded.device.startswith(device)
    assert loaded.network.config.width == 32
    assert module.Network.load(str(tmp_path / "model")).steps_done == 0


def without(parts: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in parts.items() if key != name}


REFUSED: dict[str, Callable[[ModuleType, Any], object]] = {
    "value must be a contiguous array of float32": lambda m, f: m.trees_raw(
        one_tree(m) | {"value": np.zeros(3)}, f.windows
    ),
    'there is no "base"': lambda m, f: model_of(m, trees=without(one_tree(m), "base")),
    "trees has unknown keys": lambda m, f: model_of(
        m, trees=one_tree(m) | {"more": np.zeros(1)}
    ),
    "windows must have": lambda m, f: m.rules_input(f.windows[:, 1:]),
    "mix has the wrong shape": lambda m, f: model_of(
        m, mix=np.zeros((4, 2), np.float32)
    ),
    "windows must be a contiguous array": lambda m, f: m.Arrays(
        f.windows.astype(np.float64), f.tokens, f.token_begin
    ),
    "gap must be a contiguous array of float32": lambda m, f: m.Arrays(
        f.windows, f.tokens | {"gap": f.tokens["gap"][::2]}, f.token_begin
    ),
    "tokens lack the column gap": lambda m, f: m.Arrays(
        f.windows, without(f.tokens, "gap"), f.token_begin
    ),
    "heads must divide width": lambda m, f: m.Network(m.Config(width=30)),
    "there is no device": lambda m, f: m.Network(device="abacus"),
}


def model_of(module: ModuleType, **parts: Any) -> object:
    return module.Model(module.Network(module.Config(**SMALL)), **parts)


@pytest.mark.parametrize("message", REFUSED)
def test_parts_that_do_not_fit_are_refused(
    module: ModuleType, features: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        REFUSED[message](module, features)


def test_other_types_and_names_are_refused(module: ModuleType) -> None:
    with pytest.raises(TypeError):
        module.Model(None)
    with pytest.raises(AttributeError):
        module.Config(wideness=3)


def test_a_file_that_is_none_is_refused(module: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"\x80\x04pickle and more")
    with pytest.raises(WeightsError, match=r"weights: .*\. The file is damaged"):
        module.Network.load(str(path))
    with pytest.raises(WeightsError, match="cannot be read"):
        module.Network.load(str(tmp_path / "none"))


def test_arrays_outlive_who_made_them(module: ModuleType, data: Path) -> None:
    features = torchtraceap.analyze(data / "cpu-macos-resnet18.json.gz").features()
    arrays = module.Arrays(features.windows, features.tokens, features.token_begin)
    network = module.Network(module.Config(**SMALL))
    before = network.score(arrays)["any"]
    del features
    assert (network.score(arrays)["any"] == before).all()


def test_threads_of_python_take_turns(module: ModuleType, arrays: Any) -> None:
    network = module.Network(module.Config(**SMALL))
    alone = network.score(arrays)["any"]
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(network.score, [arrays] * 3))
    assert all((scores["any"] == alone).all() for scores in found)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_an_interrupt_ends_a_score(module: ModuleType, arrays: Any) -> None:
    network = module.Network(module.Config(layers=40, width=256, hidden=1024))

    def interrupt() -> None:
        time.sleep(0.5)
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(100):
            network.score(arrays, batch_tokens=256)
    assert time.monotonic() - start < 5
    thread.join()
