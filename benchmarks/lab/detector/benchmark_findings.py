# SPDX-License-Identifier: BSD-3-Clause
"""benchmark_findings.py: sentences that the figures of results/benchmark.md come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

#: A rule is said to solve a pattern from this area on.
SOLVED = 0.95
#: Learning is said to help by this much.
HELPS = 0.02
Results = dict[str, Any]


def findings(results: Results) -> str:
    """Return the list of sentences."""
    lines = [*_by_pattern(results["patterns"]), *_margins(results), *_checks(results)]
    return "\n".join(f"- {line}" for line in lines) + "\n"


def _by_pattern(patterns: Sequence[dict[str, Any]]) -> list[str]:
    if not patterns:
        return ["No pattern has enough positive windows to be looked at by itself."]
    known = [p for p in patterns if p["rules"] is not None]
    solved = [p["pattern"] for p in known if p["rules"] >= SOLVED]
    helped = [
        p
        for p in known
        if p["lightgbm"] is not None and p["lightgbm"] >= p["rules"] + HELPS
    ]
    ahead = [
        p
        for p in known
        if p["lightgbm"] is not None and p["rules"] >= p["lightgbm"] + HELPS
    ]
    return [
        f"Rules reach {SOLVED} on {len(solved)} of {len(known)} patterns"
        + (f": {_names(solved)}." if solved else "."),
        f"LightGBM is at least {HELPS} above them on {len(helped)}"
        + (f": {_gains(helped)}." if helped else "."),
        f"Rules are as far above LightGBM on {len(ahead)}"
        + (f": {_names([p['pattern'] for p in ahead])}." if ahead else "."),
    ]


def _gains(patterns: Sequence[dict[str, Any]]) -> str:
    ordered = sorted(patterns, key=lambda p: p["rules"] - p["lightgbm"])
    parts = [
        f"`{p['pattern']}` ({p['rules']:.2f} to {p['lightgbm']:.2f})" for p in ordered
    ]
    return ", ".join(parts)


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _margins(results: Results) -> list[str]:
    """Say where one detector is above another by an interval above zero."""
    lines = []
    pairs = dict.fromkeys((m["baseline"], m["against"]) for m in results["margins"])
    for baseline, against in pairs:
        mine = [
            m
            for m in results["margins"]
            if (m["baseline"], m["against"]) == (baseline, against)
        ]
        for head in ("cpu", "gpu"):
            some = [m for m in mine if m["head"] == head and m["low"] is not None]
            if not some:
                continue
            above = [m["split"] for m in some if m["low"] > 0]
            below = [m["split"] for m in some if m["high"] < 0]
            open_ = len(some) - len(above) - len(below)
            lines.append(
                f"{head.upper()}: {baseline} is above {against} on "
                f"{_splits(above)}, below on {_splits(below)}"
                + (f", open on {open_} more." if open_ else ".")
            )
    return lines


def _splits(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"


def _checks(results: Results) -> list[str]:
    checks = results["checks"]
    if not checks:
        return []
    of = {
        verdict: [c["name"] for c in checks if c["verdict"] == verdict]
        for verdict in ("failed", "undecided", "skipped")
    }
    text = f"Of {len(checks)} checks {len(of['failed'])} fail"
    text += f": {'; '.join(of['failed'])}." if of["failed"] else "."
    unsure = of["undecided"] + of["skipped"]
    if unsure:
        text += f" Not decided: {'; '.join(unsure)}."
    return [text]
