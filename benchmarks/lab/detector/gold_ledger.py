# SPDX-License-Identifier: BSD-3-Clause
"""gold_ledger.py: who opened the gold, and when: at most once a release.

Gold are recordings of a GPU. A second look at it begins to tune on it. So each look is
recorded in a file of the repository: the release, the day, and hashes of the gold and
of the detector (`state_of`). A look that turned out to show nothing may be declared
void there, with the reason; it does not count.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from benchmarks import RESULTS, ROOT
from benchmarks.lab.detector.compact_corpus import Corpus, CorpusError
from benchmarks.lab.detector.splits import folds_of
from benchmarks.lab.detector.window_labels import label_windows

_CODE = Path(__file__).resolve().parent
LEDGER = RESULTS / "gold_opened.json"
#: These write down what was scored, or make numbers up: they decide about no score.
_WRITES_ONLY = ("benchmark_*.py", "table_text.py", "datasheet.py", "synthetic_*.py")


def release() -> str:
    """Return the version that is worked on."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    found = re.search(r'^version = "(.+)"$', text, re.MULTILINE)
    assert found
    return found[1]


def entries(ledger: Path = LEDGER) -> list[dict[str, str]]:
    """Return all looks that were written down, void ones included."""
    if not ledger.exists():
        return []
    known: list[dict[str, str]] = json.loads(ledger.read_text("utf-8"))
    return known


def opened(ledger: Path = LEDGER) -> list[dict[str, str]]:
    """Return the looks that count.

    Each has `release`, `date` and what `state_of` returned then.
    """
    return [entry for entry in entries(ledger) if not entry.get("void")]


def state_of(corpus: Corpus) -> dict[str, str]:
    """Return hashes of what a look at the gold would show, and of what it is seen with.

    `corpus` is the corpus' digest, `code` of the sources in this folder that
    decide about a score, `thresholds` of the numbers among these that have a name.
    """
    return {
        "corpus": corpus.digest,
        "code": _hash(path.read_text("utf-8") for path in _sources()),
        "thresholds": _hash(line for path in _sources() for line in _thresholds(path)),
    }


def open_gold(corpus: Corpus, ledger: Path = LEDGER) -> None:
    """Write down that the gold is opened, before anything of it is seen.

    Nothing is written where there is nothing to see: S7 has no fold. After an
    interrupted run, the same gold may be opened again within its release, with the
    same detector.

    Raises:
        CorpusError: Gold was opened in this release, another corpus' or by other code.
    """
    folds, _ = folds_of(corpus, label_windows(corpus))
    if not any(fold.split == "S7" for fold in folds):
        return
    state = state_of(corpus)
    for entry in opened(ledger):
        if entry["release"] != release():
            continue
        changed = [name for name in state if entry.get(name) != state[name]]
        if not changed:
            return
        raise CorpusError(
            f"gold was opened for release {release()} on {entry['date']}, with another "
            f"{' and other '.join(changed)}; {ledger} says so"
        )
    now = datetime.now(timezone.utc).date().isoformat()
    known = [*entries(ledger), {"release": release(), "date": now, **state}]
    ledger.parent.mkdir(parents=True, exist_ok=True)
    ledger.write_text(json.dumps(known, indent=1) + "\n", "utf-8")


def most_in_a_release(ledger: Path = LEDGER) -> int:
    """Return how often gold was opened in the release that opened it most."""
    names = [entry["release"] for entry in opened(ledger)]
    return max(np.unique(names, return_counts=True)[1].tolist(), default=0)


def _sources() -> list[Path]:
    left_out = {path for pattern in _WRITES_ONLY for path in _CODE.glob(pattern)}
    return sorted(set(_CODE.rglob("*.py")) - left_out)


def _thresholds(path: Path) -> Iterator[str]:
    """Yield the assignments of a module that give numbers a name."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if not isinstance(node, ast.Assign):
            continue
        inside = [n for n in ast.walk(node.value) if isinstance(n, ast.Constant)]
        if any(isinstance(n.value, (int, float)) for n in inside):
            yield f"{path.relative_to(_CODE)}: {ast.unparse(node)}"


def _hash(texts: Iterator[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
