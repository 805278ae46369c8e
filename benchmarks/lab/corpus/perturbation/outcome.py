# SPDX-License-Identifier: BSD-3-Clause
"""outcome.py: truth of a perturbed trace, pattern by
pattern, and its effect in windows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.lab import _lab
from benchmarks.lab.corpus import runs
from benchmarks.lab.corpus.perturbation.scene import METADATA, Scene
from torchtraceap import _core, load

#: Events of a window, as the product takes them.
WINDOW_EVENTS = 128
#: Patterns of a source that are taken out in turn, the costliest first.
MOST_NATURAL = 6
_LEAST_NATURAL = 0.002  # Of the span: less does not count as a pattern's.
_HOMES = [
    re.compile(re.escape(start) + rb'(?!user[/\\";:])[^/\\";:]+(?=[/\\";:])')
    for start in (b"/home/", b"/Users/", rb"\\Users\\")
]


Edits = list[_core.Edit]


@dataclass(frozen=True)
class Outcome:
    """A perturbed trace and what is known of it."""

    text: bytes
    truth: dict[tuple[str, int], np.ndarray]
    #: Share of the span, by pattern: of the one that was put in, what that costs.
    saved: dict[str, float]
    #: The same of the patterns that were found, whatever was put in.
    found: dict[str, float]
    windows: np.ndarray  #: Share of each window that the inserted pattern costs.


def natural_patterns(scene: Scene) -> dict[str, Edits]:
    """Return the patterns whose removal the replay prices and does not doubt, with the
    edit that takes them out."""
    gains: dict[str, int] = {}
    found: dict[str, list[int]] = {}
    for index, finding in enumerate(scene.report.rule_findings):
        if finding.recoverable_ns is None:
            continue
        found.setdefault(finding.pattern, []).append(index)
        gains[finding.pattern] = gains.get(finding.pattern, 0) + finding.recoverable_ns
    least = _LEAST_NATURAL * scene.natural.span_ns
    names = sorted(found, key=lambda name: -gains[name])
    out = {}
    for name in [name for name in names if gains[name] > least][:MOST_NATURAL]:
        edits = [_core.Edit("fix", found[name])]
        if not scene.core.what_if(scene.analysis, edits).doubt:
            out[name] = edits
    return out


def outcome(
    scene: Scene,
    natural: dict[str, Edits],
    perturbation: _lab.Perturbation,
    pattern: str,
    removed: Sequence[_core.Edit] = (),
) -> Outcome:
    """Schedule a perturbation, and the same without each pattern that is in it.

    A pattern that is put in where it is already is truth by itself: without it is
    without the inserted work alone. The saving without both is kept as NATURAL_TOO.

    Args:
        scene: The trace.
        natural: What natural_patterns() returned.
        perturbation: May be empty.
        pattern: That it puts in; "" if it is empty.
        removed: Edits that are made everywhere: the trace is without a pattern.
    """
    none = _lab.Perturbation()

    def scheduled(put_in: _lab.Perturbation, edits: Edits) -> _lab.Perturbed:
        return _lab.perturb(scene.analysis, put_in, [*removed, *edits])

    run = scheduled(perturbation, [])
    without = {
        runs.NATURAL_TOO + name if name == pattern else name: scheduled(
            none if name == pattern else perturbation, edits
        )
        for name, edits in natural.items()
    }
    if pattern:
        without[pattern] = scheduled(none, [])
    every = [edit for edits in natural.values() for edit in edits]
    without[runs.ALL] = scheduled(none, every)
    devices = scene.devices or [runs.HOST]
    truth = {
        (name, device): thinned(run.moments(other, device))
        for name, other in without.items()
        for device in devices
    }
    saved = {n: 1 - o.span_ns / max(1, run.span_ns) for n, o in without.items()}
    found = {name: saved[name] for name in natural if name != pattern}
    if pattern in natural:
        found[pattern] = saved.pop(runs.NATURAL_TOO + pattern) - saved[pattern]
    text = without_homes(run.text("rescheduled", list(METADATA)))
    windows = np.zeros(0)
    if pattern:
        alone = [run.moments(scene.natural, device) for device in devices]
        windows = window_shares(text, alone)
    return Outcome(text, truth, saved, found, windows)


def without_homes(text: bytes) -> bytes:
    """Return a trace's text with the names of home folders blanked."""
    for pattern in _HOMES:
        while found := pattern.search(text):  # once a name
            home = found[0]
            start = home[: max(home.rfind(b"/"), home.rfind(b"\\")) + 1]
            for end in (b"/", b"\\", b'"', b";", b":"):
                text = text.replace(home + end, start + b"user" + end)
    return text


def window_shares(text: bytes, moments: list[np.ndarray]) -> np.ndarray:
    """Return what share of each window of a trace goes, of the device that loses most.

    Raises:
        ValueError: The trace is not as sound as what is written must be.
    """
    trace = load(text)
    if trace.warnings:
        raise ValueError(f"what was written warns of {trace.warnings[0].kind}")
    c = trace.columns
    starts = np.sort(c["ts"][(c["phase"] == b"X") & (c["dur"] >= 0)])
    edges = starts[::WINDOW_EVENTS]
    if len(edges) < 2:
        edges = np.array([starts[0], starts[-1]])
    shares = [runs.saved_share(m, edges[:-1], edges[1:]) for m in moments]
    return np.max(shares, axis=0)


def thinned(moments: np.ndarray, off_ns: int = 200) -> np.ndarray:
    """Return the moments without those that lie within `off_ns` of the line between
    their neighbors that are kept: what runs alike in both takes two."""
    before, after = moments
    shift = after - before
    keep = np.zeros(len(before), dtype=bool)
    keep[[0, -1]] = True
    changed = np.flatnonzero(np.diff(shift) != 0)
    keep[changed] = keep[changed + 1] = True
    kept = np.flatnonzero(keep)
    while len(kept) > 2:  # drop every other one that its neighbors represent
        left, mid, right = kept[:-2:2], kept[1:-1:2], kept[2::2]
        count = min(len(left), len(mid), len(right))
        left, mid, right = left[:count], mid[:count], right[:count]
        length = np.maximum(before[right] - before[left], 1)
        share = (before[mid] - before[left]) / length
        line = after[left] + share * (after[right] - after[left])
        close = np.abs(after[mid] - line) <= off_ns
        if close.sum() <= len(kept) // 20:
            break
        kept = np.setdiff1d(kept, mid[close])
    return moments[:, kept]
