# SPDX-License-Identifier: BSD-3-Clause
"""acceptance.py: whether the replay accepts simulated traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torchtraceap


def accepted(paths: Sequence[Path]) -> dict[str, Any]:
    """Replay traces; return how many are accepted, and why others are not."""
    refused: Counter[str] = Counter()
    for path in paths:
        replay = torchtraceap.analyze(path).core_replay
        if replay.refusal:
            refused[replay.refusal] += 1
    return {
        "traces": len(paths),
        "accepted": len(paths) - sum(refused.values()),
        "refused": dict(refused),
    }
