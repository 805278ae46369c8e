# SPDX-License-Identifier: BSD-3-Clause
"""test_torch_version.py: the detector needs the torch that it was built for; the
message for another torch, for none, and for a build without torch."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import torchtraceap
from torchtraceap import _core
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap.data.detector_choice import VARIABLE
from torchtraceap.detection import model as model_module
from torchtraceap.views import summary

BUILD = "build torchtraceap from its source (pip install --no-build-isolation .)"
NEWER = (
    "the learned detector was built for torch 2.13, and torch is {}: "
    f"pip install 'torch==2.13.*', or {BUILD} for this one"
)
# The torch it was built for, the installed torch, and the message.
TOLD = [
    ("2.13", "2.9.1+cu128", NEWER.format("2.9.1+cu128")),
    ("2.13", "2.130.0", NEWER.format("2.130.0")),
    ("2.13", "3.13.0", NEWER.format("3.13.0")),
    (
        "2.13",
        None,
        "the learned detector needs torch 2.13, and there is none: "
        "pip install 'torch==2.13.*'",
    ),
    (
        "",
        "2.13.0",
        "this torchtraceap was built where no torch was, so without the learned "
        f"detector: {BUILD} where torch is installed",
    ),
]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Any:
    def set_versions(built: str, there: str | None) -> None:
        monkeypatch.setattr(_core, "built_for_torch", lambda: built)
        torch = None if there is None else SimpleNamespace(__version__=there)
        monkeypatch.setitem(sys.modules, "torch", torch)
        monkeypatch.setattr(model_module, "_loaded", {})

    return set_versions


@pytest.mark.parametrize(("built", "there", "sentence"), TOLD)
def test_what_does_not_fit_is_said_in_a_sentence(
    fake: Any, built: str, there: str | None, sentence: str
) -> None:
    fake(built, there)
    with pytest.raises(ImportError) as caught:
        load_torch_module()
    assert str(caught.value) == sentence


def test_a_module_that_cannot_be_loaded_says_why(
    fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported = builtins.__import__

    def fail(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "torchtraceap" and args[2] == ("_torch",):
            raise ImportError("undefined symbol: _ZN3c10")
        return imported(name, *args, **kwargs)

    fake("2.13", "2.13.1+cpu")
    monkeypatch.setattr(builtins, "__import__", fail)
    with pytest.raises(ImportError) as caught:
        load_torch_module()
    assert str(caught.value) == (
        "the learned detector, built for torch 2.13, cannot be loaded with torch "
        f"2.13.1+cpu (undefined symbol: _ZN3c10): {BUILD} for this one"
    )


def test_a_report_is_whole_but_for_the_detector(
    fake: Any, monkeypatch: pytest.MonkeyPatch, data: Path
) -> None:
    built, there, sentence = TOLD[0]
    fake(built, there)
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(summary, "_told", [])
    report = torchtraceap.analyze(data / "h100-vit-nsfw-inference.json.gz")
    assert report.detection.status == "missing"
    assert f"Detector not run: {sentence}." in " ".join(report.summary().split())
    assert report.windows == report.rule_windows and report.findings
