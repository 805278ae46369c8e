# SPDX-License-Identifier: BSD-3-Clause
"""compare_sides.py: small sides of a comparison, and what changed between two."""

from __future__ import annotations

from typing import Any

import torchtraceap

from .trace_builder import loader_trace

NOTHING: dict[str, list[str]] = {"gone": [], "new": [], "grown": [], "shrunk": []}


def statuses(comparison: torchtraceap.Comparison) -> dict[str, list[str]]:
    return {
        status: [change.seen.pattern for change in comparison.of(status)]
        for status in ("gone", "new", "grown", "shrunk")
    }


def made(**options: Any) -> torchtraceap.Report:
    return torchtraceap.analyze(loader_trace(**options))
