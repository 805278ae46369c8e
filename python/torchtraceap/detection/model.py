# SPDX-License-Identifier: BSD-3-Clause
"""model.py: a model from its file, loaded once in a process."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torchtraceap.base.errors import WeightsError
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap.data.features import Features
from torchtraceap.detection import BUNDLED

CPU = "cpu"
#: Names the torch device if nothing else does.
DEVICE = "TORCHTRACEAP_DEVICE"


@dataclass(frozen=True)
class LoadedModel:
    """A model that is ready to be asked."""

    model: Any  # ``_torch.Model``.
    module: ModuleType  # ``_torch``.
    path: str
    device: str

    def say(
        self, features: Features, events: int, claimed: NDArray[np.float32]
    ) -> dict[str, Any]:
        """Return what ``Model.say`` does of all windows; rules claim these shares."""
        arrays = self.module.Arrays(
            features.windows, features.tokens, features.token_begin
        )
        told: dict[str, Any] = self.model.say(arrays, events=events, claimed=claimed)
        return told


_loaded: dict[tuple[object, ...], LoadedModel] = {}
_untold: list[float] = []


def load_model(path: str | None, device: str | None = None) -> LoadedModel:
    """Return a model, None: the bundled one; of the same file and device the same.

    ``device`` is as torch names it; None: what TORCHTRACEAP_DEVICE says, else a GPU
    where torch finds one.

    Raises ImportError if there is no torch, no module ``_torch`` for it, or nothing is
    bundled; WeightsError, a ValueError, if the file is none of this version's.
    """
    if path is None:
        if not BUNDLED.is_file():
            raise ImportError("this torchtraceap comes without weights for it")
        path = str(BUNDLED)
    if os.path.isdir(path):
        raise ValueError(f"{path} is a folder, not a file of weights. Name a file.")
    if not os.path.isfile(path):  # Before torch, which takes seconds to load.
        what = "is not a regular file" if os.path.exists(path) else "cannot be read"
        raise WeightsError(f"{path}: {what}. Give a file of weights.")
    device = device or os.environ.get(DEVICE)
    key: tuple[object, ...] = (os.path.abspath(path), device)
    found = os.stat(path)
    key += (found.st_mtime_ns, found.st_size, found.st_ino)
    if known := _loaded.get(key):
        return known
    begin = time.perf_counter()
    module = load_torch_module()
    device = device or _usual_device()
    loaded = LoadedModel(module.Model.load(path, device=device), module, path, device)
    _loaded.clear()  # Who trains one after another need not keep all.
    _loaded[key] = loaded
    _untold.append(time.perf_counter() - begin)
    return loaded


def untold_seconds() -> float:
    """Return how long loading took, torch and weights, since it was asked last: what
    the first report that rests on it has to name."""
    seconds = sum(_untold)
    _untold.clear()
    return seconds


def load_named(path: str) -> None:
    """Load a model that a user names, to report its faults at once.

    Raises ValueError, which says it.
    """
    try:
        load_model(path)
    except (ImportError, OSError, RuntimeError) as error:
        raise ValueError(str(error)) from error


def _usual_device() -> str:
    if "torch" not in sys.modules:  # Of a build for the CPU nothing else was loaded.
        return CPU
    import torch

    return "cuda" if torch.cuda.is_available() else CPU
