# SPDX-License-Identifier: BSD-3-Clause
"""own.py: traces of one's own to learn from: good or bad ones, twins, labeled windows.

Windows are labeled in review queues (``torchtraceap analyze --review FILE``): lines of
JSON, in which a person answered ``cpu`` and ``gpu`` with true or false, and may have
named the ``pattern``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from torchtraceap._core import Window
from torchtraceap.analysis import analyze
from torchtraceap.base.errors import TrainingError
from torchtraceap.base.files import read_file
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap.detection.detection import SIDES, sides_of
from torchtraceap_train.traces import OWN, LearningTrace


@dataclass
class OwnTraces:
    """What is known of one's own traces, by path."""

    good: Sequence[str] = ()  # Fast as far as anyone knows.
    bad: Sequence[str] = ()  # Slow somewhere.
    pairs: Sequence[tuple[str, str]] = ()  # (slow, fixed) forms of one program.
    # Lines of review queues, as dicts, by the trace they are of.
    answers: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def read(self) -> list[LearningTrace]:
        """Analyze all of them; none is learned from twice.

        Raises TrainingError if one is called good and bad, or an answer does not fit,
        and what ``analyze`` raises of a file.
        """
        bad: dict[str, bool] = {}
        twin: dict[str, str] = {}
        answers: dict[str, list[dict[str, Any]]] = {}
        called: dict[str, str] = {}

        def known(path: str) -> str:
            """Return what a file was called first: it may have several names."""
            return called.setdefault(os.path.realpath(path), path)

        marks = [(path, False) for path in self.good] + [(p, True) for p in self.bad]
        for pair in self.pairs:
            slow, fixed = map(known, pair)
            marks += [(slow, True), (fixed, False)]
            for one, other in ((slow, fixed), (fixed, slow)):
                if twin.setdefault(one, other) != other:
                    raise TrainingError(
                        f"{one} is of two pairs: a trace has one twin. Leave one out."
                    )
        for path, is_bad in marks:
            if bad.setdefault(known(path), is_bad) != is_bad:
                raise TrainingError(
                    f"{path} is called both good and bad: say one of them."
                )
        for path, lines in self.answers.items():
            answers.setdefault(known(path), []).extend(lines)
        return [
            _read(path, bad.get(path), twin.get(path, ""), answers.get(path, []))
            for path in called.values()
        ]


def read_answers(
    files: Iterable[str | os.PathLike[str]],
) -> dict[str, list[dict[str, Any]]]:
    """Read the lines of review queues that somebody answered, by trace.

    Each has ``where`` besides: its file and line, for messages. Raises TrainingError if
    a file cannot be read, or a line is none of a review queue.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for file in files:
        try:
            lines = read_file(file).decode("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not text"
            raise TrainingError(
                f"--labels {os.fspath(file)} cannot be read: {why}. Name a file that "
                "`torchtraceap analyze --review` wrote."
            ) from error
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            row = _row(line, where := f"{os.fspath(file)}, line {number}")
            if all(row.get(name) is None for name in (*SIDES, "pattern")):
                continue
            if not os.path.exists(row["trace"]):
                raise TrainingError(
                    f"{where}: its trace {row['trace']} is not there. Put it back, or "
                    "run this in the folder in which the queue was written."
                )
            found.setdefault(row["trace"], []).append(row | {"where": where})
    return found


def _row(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TrainingError(
            f"{where} is not JSON: {error}. Fix it, or remove it."
        ) from error
    if not isinstance(row, dict) or not isinstance(row.get("trace"), str):
        raise TrainingError(
            f"{where} names no trace: it is of no review queue. Remove it."
        )
    return row


def _read(
    path: str, bad: bool | None, twin: str, answers: Sequence[dict[str, Any]]
) -> LearningTrace:
    try:
        report = analyze(path, detector="off")
        features, windows = report.features(), report.rule_windows
    except MemoryError as error:
        raise TrainingError(
            f"{path} does not fit into memory. Leave it out, or record fewer steps."
        ) from error
    except RuntimeError as error:
        raise TrainingError(f"{path} cannot be analyzed: {error}") from error
    if not windows:
        raise TrainingError(f"{path} has no window to learn from. Leave it out.")
    module = load_torch_module()
    n, names = len(windows), module.pattern_names()
    sides = sides_of(names)
    any_ = np.full((n, 2), -1, np.int8)
    types = np.full((n, len(names)), -1, np.int8)
    kind = np.full(n, -1, np.int16)
    for answer in answers:
        where = answer.get("where", path)
        at = _window(answer, windows, where)
        for side, name in enumerate(SIDES):
            said = answer.get(name)
            if said not in (True, False, None):
                raise TrainingError(
                    f"{where}: {name} is {said!r}. Answer true, false or null."
                )
            if said is None:
                continue
            if any_[at, side] == 1 - said:
                raise TrainingError(
                    f"{where}: {name} is {str(bool(said)).lower()}, and another line "
                    f"says otherwise of window {at} of {path}. Leave one out."
                )
            any_[at, side] = said
        pattern = answer.get("pattern")
        if pattern is None:
            continue
        if pattern not in names:
            raise TrainingError(
                f"{where}: there is no pattern {pattern!r}. Name one that "
                "`torchtraceap patterns` lists, or null."
            )
        number = names.index(pattern)
        side = int(sides[number])
        if any_[at, side] == 0 or kind[at] not in (-1, number):
            raise TrainingError(
                f"{where}: {pattern} is on the {SIDES[side].upper()}'s side, but "
                f"another line labels window {at} of {path} with none there, or with "
                "another pattern. Leave one out."
            )
        any_[at, side] = types[at, number] = 1
        kind[at] = number
    return LearningTrace(
        path,
        min(path, twin) if twin else path,
        OWN,
        module.Arrays(features.windows, features.tokens, features.token_begin),
        features.windows,
        any_,
        types,
        kind,
        np.full(n, np.nan, np.float32),
        bad,
        twin,
    )


def _window(answer: dict[str, Any], windows: Sequence[Window], where: str) -> int:
    at = answer.get("window")
    if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at < len(windows):
        raise TrainingError(
            f"{where}: its trace has no window {at!r}, but {len(windows)}. Export it "
            "again."
        )
    window = windows[at]
    for name, ours in (("start_us", window.start_us), ("end_us", window.end_us)):
        if answer.get(name, ours) != ours:
            raise TrainingError(
                f"{where}: window {at} has the {name} {ours}, not {answer[name]}: the "
                "trace is another one, or was read with other options or by another "
                "version. Export it again without them."
            )
    return at
