# SPDX-License-Identifier: BSD-3-Clause
"""asked_windows.py: the windows to classify, and their true patterns.

They are kept in two files, so that all get the same windows:

    corpus_windows.jsonl   of the corpus, chosen by choose.py; the truth is a
                           counterfactual (docs/reference/corpus.md)
    trace_windows.jsonl    of public traces; the truth is what a reader of the raw
                           events wrote down, before rules or a model were asked
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Importers of this module continue with those of the detector's benchmark.

CORPUS = HERE / "corpus_windows.jsonl"
TRACES = HERE / "trace_windows.jsonl"
#: The answer of who sees no pattern that costs anything.
NONE = "none"


@dataclass(frozen=True)
class Asked:
    """A window to classify.

    Attributes:
        trace: Name of its trace: of the corpus' run, or of the public trace.
        window: Its number in the trace.
        begin_ns: Where it begins, to see that the number still means the same.
        group: What is resampled at once: whatever shares a program or an origin.
        source: R, S or P of the corpus; "public".
        flagged: Who flagged it: rules, the detector or both.
        truth: The pattern that costs most, or NONE.
        right: Every name that is right, `truth` among them.
        why: For a public trace: the events that show it.
    """

    trace: str
    window: int
    begin_ns: int
    group: str
    source: str
    flagged: str
    truth: str
    right: tuple[str, ...]
    why: str = ""

    @property
    def key(self) -> str:
        """Return what results name it by."""
        return f"{self.trace}:{self.window}"

    def is_right(self, answer: str | None) -> bool:
        """Tell whether an answer names it; who gives none is wrong."""
        return answer in self.right


def write(path: Path, windows: Sequence[Asked]) -> None:
    """Write windows, a line each."""
    path.write_text("".join(json.dumps(asdict(w)) + "\n" for w in windows), "utf-8")


def read(path: Path) -> list[Asked]:
    """Read what `write` wrote."""
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return [Asked(**row | {"right": tuple(row["right"])}) for row in rows]
