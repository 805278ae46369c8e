# SPDX-License-Identifier: BSD-3-Clause
"""traces.py: what there is to learn from: traces as arrays, and what is known of them.

A training set is a folder, which ``benchmarks/lab/corpus`` writes:

    set.json      fingerprint of the features, names of patterns, a row for each trace:
                  name, group, source, bad (true, false, null), twin (a name or null),
                  learn (false: a trace for tests, which training leaves alone)
    windows.npz   features [N, F], run [N] (which trace a window is of, in order); maybe
                  rules [N, P]: the share that a fix saves by the label of a rule
    labels.npz    any [N, 2], types [N, P]: 1, 0, -1 (not known); recoverable [N]: NaN
                  where not known; kind [N]: the pattern that costs most, -1 none
    tokens/       <name>.npz: the token columns of a trace, and token_begin
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from torchtraceap import _core
from torchtraceap.base.arguments import of_type
from torchtraceap.base.errors import TrainingError
from torchtraceap.base.files import open_file, read_file
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap.detection import LOSS

#: The source of traces of one's own.
OWN = "own"
#: Arrays of labels, with their least and highest values; None: a pattern.
_LABELS = {"any": (-1, 1), "types": (-1, 1), "kind": (-1, None), "recoverable": (0, 1)}
# What set.json says about each trace.
_ROW = {
    "name": str,
    "learn": bool,
    "group": str,
    "source": str,
    "bad": bool | None,
    "twin": str | None,
}
#: What a damaged file raises.
_DAMAGE = (
    AttributeError,
    BadZipFile,
    EOFError,
    IndexError,
    OSError,
    TypeError,
    ValueError,
    zlib.error,
)
_ANEW = "Make the set again."


@dataclass(eq=False, repr=False)
class LearningTrace:
    """A trace as arrays and what is known of its n windows."""

    name: str
    group: str  # Traces of a group are related: they are all learned from, or none.
    source: str  # Where it comes from; sources are drawn by shares.
    arrays: Any  # ``_torch.Arrays``.
    windows: NDArray[np.float32]  # [n, F]: the window columns again.
    any: NDArray[np.int8]  # [n, 2]: a pattern of the CPU, the GPU; 1, 0, -1 not known.
    types: NDArray[np.int8]  # [n, P]: which.
    kind: NDArray[np.int16]  # [n]: what costs most of them; -1: none, or not known.
    recoverable: NDArray[np.float32]  # [n]; NaN: not known.
    bad: bool | None = None  # The whole trace is slow, good, or unknown.
    twin: str = ""  # Name of its other form, slow or fixed; "": none.
    #: [n, P]: what rules say that a fix saves; None: only the window columns tell.
    rules: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.windows)

    def example(self, first: int, last: int, pair: int = -1) -> Any:
        """Return windows [first, last) as the module ``_torch`` learns from them."""
        return load_torch_module().Example(
            self.arrays,
            first,
            last,
            any=self.any[first:last],
            types=self.types[first:last],
            recoverable=self.recoverable[first:last],
            bad=self.bad,
            pair=pair,
        )

    @cached_property
    def missed(self) -> NDArray[np.bool_]:
        """Bool [n, 2]: rules say one thing of a side, the truth another."""
        module = load_torch_module()
        rules = module.rules_input(self.windows) >= module.rules_logit(LOSS)
        missed: NDArray[np.bool_] = (self.any >= 0) & (rules != (self.any == 1))
        return missed


def read_set(folder: Path, names: Iterable[str] | None = None) -> list[LearningTrace]:
    """Read a training set: the traces to learn from, or those of some names.

    Raises TrainingError if a file is missing, damaged, or of other features or
    patterns.
    """
    try:
        return _read_set(folder, None if names is None else set(names))
    except TrainingError:
        raise
    except FileNotFoundError as error:
        raise TrainingError(
            f"{folder} is not a training set: {error.filename} is missing. "
            "benchmarks/lab/detector/training_set.py makes one of a corpus."
        ) from error
    except KeyError as error:
        raise TrainingError(f"{folder}: set.json lacks {error}. {_ANEW}") from error
    except _DAMAGE as error:
        raise TrainingError(
            f"{folder} is not a training set, or is damaged: {error}. {_ANEW}"
        ) from error


def _read_set(folder: Path, wanted: set[str] | None) -> list[LearningTrace]:
    module = load_torch_module()
    told = json.loads(read_file(folder / "set.json").decode("utf-8"))
    if told["fingerprint"] != _core.feature_fingerprint():
        raise TrainingError(
            f"{folder}: its features are {told['fingerprint']}, those of this "
            f"torchtraceap {_core.feature_fingerprint()}. {_ANEW}"
        )
    if told["patterns"] != module.pattern_names():
        raise TrainingError(
            f"{folder}: it is of other patterns than this torchtraceap has. {_ANEW}"
        )
    arrays = _load(folder / "windows.npz", "features", "run")
    features, run = arrays["features"].astype(np.float32), arrays["run"]
    labels = _load(folder / "labels.npz", *_LABELS)
    _check(folder, len(features), len(told["patterns"]), labels)
    rules = arrays.get("rules")
    if rules is not None and rules.shape != labels["types"].shape:
        raise TrainingError(f"{folder}: rules in windows.npz fits no labels. {_ANEW}")
    if len(run) != len(features) or (np.diff(run.astype(np.int64)) < 0).any():
        raise TrainingError(f"{folder}: run in windows.npz is out of order. {_ANEW}")
    rows = _checked_rows(folder, told["traces"])
    begin = np.searchsorted(run, np.arange(len(rows) + 1))
    out = []
    for row, first, last in zip(rows, begin, begin[1:], strict=False):
        if row["name"] not in wanted if wanted is not None else not row["learn"]:
            continue
        tokens = _load(folder / "tokens" / f"{row['name']}.npz", "token_begin")
        windows = np.ascontiguousarray(features[first:last])
        token_begin = tokens.pop("token_begin")
        of = {name: values[first:last] for name, values in labels.items()}
        try:
            held = module.Arrays(windows, tokens, token_begin)
        except ValueError as error:
            raise TrainingError(f"{folder}: {row['name']}: {error}. {_ANEW}") from error
        out.append(
            LearningTrace(
                row["name"],
                row["group"],
                row["source"],
                held,
                windows,
                np.ascontiguousarray(of["any"], np.int8),
                np.ascontiguousarray(of["types"], np.int8),
                of["kind"].astype(np.int16),
                np.ascontiguousarray(of["recoverable"], np.float32),
                row["bad"],
                row["twin"] or "",
                None if rules is None else rules[first:last].astype(np.float32),
            )
        )
    return out


def _checked_rows(folder: Path, rows: Any) -> list[dict[str, Any]]:
    """Return the traces that set.json lists. Raises KeyError if one lacks something."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise TrainingError(
            f"{folder}: traces in set.json is not a list of objects. {_ANEW}"
        )
    for number, row in enumerate(rows):
        for name, kind in _ROW.items():
            if not isinstance(row[name], kind):
                raise TrainingError(
                    f"{folder}: {name} of trace {number} in set.json is "
                    f"{of_type(row[name])}. {_ANEW}"
                )
    return rows


def _load(path: Path, *names: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file, in which these must be."""
    try:
        with open_file(path) as opened, np.load(opened) as file:
            out = {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise
    except _DAMAGE as error:
        raise TrainingError(f"{path} cannot be read: {error}. {_ANEW}") from error
    if lacks := [name for name in names if name not in out]:
        raise TrainingError(f"{path} has no array {lacks[0]}. {_ANEW}")
    return out


def _check(
    folder: Path, windows: int, patterns: int, labels: dict[str, NDArray[Any]]
) -> None:
    """Refuse labels that a step would stumble over."""
    shapes = {"any": (windows, 2), "types": (windows, patterns)}
    for name, (low, high) in _LABELS.items():
        values = labels[name]
        if values.shape != shapes.get(name, (windows,)):
            raise TrainingError(
                f"{folder}: {name} in labels.npz has the shape {values.shape} for "
                f"{windows} windows. {_ANEW}"
            )
        known = values[~np.isnan(values)]
        if len(known) and not low <= known.min() <= known.max() <= (
            patterns - 1 if high is None else high
        ):
            raise TrainingError(
                f"{folder}: {name} in labels.npz goes from {known.min()} to "
                f"{known.max()}. {_ANEW}"
            )
