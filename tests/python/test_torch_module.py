# SPDX-License-Identifier: BSD-3-Clause
"""test_torch_module.py: the learned model as Python sees it, without any weights."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import torchtraceap
from torchtraceap import _core
from torchtraceap.errors import WeightsError
from torchtraceap.torch_module import load_torch_module

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


def test_scores_of_a_real_trace(module: ModuleType, arrays: Any, device: str) -> None:
    network = module.Network(module.Config(**SMALL), seed=1, device=device)
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
    other = module.Network(module.Config(**SMALL), seed=1)
    other.fit_columns([arrays])
    limit = 1e-5 if device == "cpu" else 1e-2
    again = other.score(arrays, batch_tokens=300, threads=2)
    assert np.abs(again["any"] - scores["any"]).max() < limit


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
    assert metadata["features"] == _core.feature_fingerprint()
    # And what that library writes is read here, as long as nothing differs.
    safetensors.save_file(tensors, path, metadata)
    module.Network.load(str(path))
    metadata["features"] = "0" * 16
    safetensors.save_file(tensors, path, metadata)
    with pytest.raises(WeightsError, match="another table of features"):
        module.Network.load(str(path))


def test_a_file_that_is_none_is_refused(module: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "weights"
    for content in (b"", b"\x80\x04pickle and more", b"\xff" * 100):
        path.write_bytes(content)
        with pytest.raises(WeightsError, match=r"weights: .*\. The file is damaged"):
            module.Network.load(str(path))
    with pytest.raises(WeightsError, match="cannot be read"):
        module.Network.load(str(tmp_path / "none"))


def test_arrays_that_are_none_are_refused(module: ModuleType, features: Any) -> None:
    windows, tokens, begin = features.windows, features.tokens, features.token_begin
    with pytest.raises(ValueError, match="windows must be a contiguous array"):
        module.Arrays(windows.astype(np.float64), tokens, begin)
    with pytest.raises(ValueError, match="gap must be a contiguous array of float32"):
        module.Arrays(windows, tokens | {"gap": tokens["gap"][::2]}, begin)
    with pytest.raises(ValueError, match="tokens lack the column gap"):
        module.Arrays(windows, {k: v for k, v in tokens.items() if k != "gap"}, begin)
    with pytest.raises(ValueError, match="arrays: token_begin ends at"):
        module.Arrays(windows[:-1], tokens, begin[:-1])
    with pytest.raises(ValueError, match="heads must divide width"):
        module.Network(module.Config(width=30))
    with pytest.raises(AttributeError):
        module.Config(wideness=3)
    with pytest.raises(ValueError, match="there is no device"):
        module.Network(device="abacus")


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
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(network.score(arrays)["any"]))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((scores == alone).all() for scores in found) and len(found) == 3


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
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


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    return (done.stdout + done.stderr).strip().splitlines()[-1]


def test_another_torch_is_refused_in_a_sentence() -> None:
    code = (
        "import torch; torch.__version__ = '2.9.1+cu128';"
        "from torchtraceap.torch_module import load_torch_module; load_torch_module()"
    )
    assert run(code).startswith(
        "ImportError: torchtraceap's module _torch was built for torch 2."
    )
    assert "torch is 2.9.1+cu128: build torchtraceap again" in run(code)


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        ("undefined symbol: _ZN3c10", "was built for another torch than the"),
        ("libc10.so: cannot open shared object file", "built for another torch"),
        ("cannot import name '_torch'", "was built where no torch was"),
    ],
)
def test_a_module_that_cannot_be_loaded_is_explained(
    monkeypatch: pytest.MonkeyPatch, failure: str, sentence: str
) -> None:
    import builtins

    imported = builtins.__import__

    def fail(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "torchtraceap" and args[2] == ("_torch",):
            raise ImportError(failure)
        return imported(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", fail)
    with pytest.raises(ImportError, match=sentence):
        load_torch_module()


def test_without_torch_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['torch'] = None;"
        "from torchtraceap.torch_module import load_torch_module; load_torch_module()"
    )
    assert run(code) == (
        "ImportError: the learned detector needs torch: "
        "pip install 'torchtraceap[torch]'"
    )
