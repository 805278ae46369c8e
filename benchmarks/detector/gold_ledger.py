# SPDX-License-Identifier: BSD-3-Clause
"""gold_ledger.py: who opened the gold, and when: at most once a release.

Gold is what a GPU recorded, and hand-labeled traces. Whoever looks at it twice has
begun to tune on it, so that each look is written down, in a file of the repository.
"""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from compact_corpus import Corpus, CorpusError

_ROOT = Path(__file__).resolve().parents[2]
LEDGER = _ROOT / "benchmarks" / "results" / "gold_opened.json"


def release() -> str:
    """Return the version that is worked on."""
    text = (_ROOT / "pyproject.toml").read_text("utf-8")
    found = re.search(r'^version = "(.+)"$', text, re.MULTILINE)
    assert found
    return found[1]


def entries(ledger: Path = LEDGER) -> list[dict[str, str]]:
    """Return all looks that were written down."""
    if not ledger.exists():
        return []
    known: list[dict[str, str]] = json.loads(ledger.read_text("utf-8"))
    return known


def open_gold(corpus: Corpus, ledger: Path = LEDGER) -> None:
    """Write down that the gold is opened, before anything of it is seen.

    Opening a corpus that has none is not written down: there is nothing to see. The
    same corpus may be opened again within its release, for a run that was stopped.

    Raises:
        CorpusError: Another corpus' gold was opened in this release.
    """
    if not (corpus.of_runs("source") == "G").any():
        return
    known = entries(ledger)
    for entry in known:
        if entry["release"] == release():
            if entry["corpus"] == corpus.digest:
                return
            raise CorpusError(
                f"gold was opened for release {release()} on {entry['date']}; "
                f"{ledger} says so"
            )
    now = datetime.now(timezone.utc).date().isoformat()
    known.append({"release": release(), "corpus": corpus.digest, "date": now})
    ledger.parent.mkdir(parents=True, exist_ok=True)
    ledger.write_text(json.dumps(known, indent=1) + "\n", "utf-8")


def most_in_a_release(ledger: Path = LEDGER) -> int:
    """Return how often gold was opened in the release that opened it most."""
    names = [entry["release"] for entry in entries(ledger)]
    return max(np.unique(names, return_counts=True)[1].tolist(), default=0)
