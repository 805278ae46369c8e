# SPDX-License-Identifier: BSD-3-Clause
"""detector_text.py: what a summary and a page say of the detector, in one sentence."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from torchtraceap.places import NAME_WIDTH
from torchtraceap.safe_text import printable

if TYPE_CHECKING:
    from torchtraceap.detection.detection import Detection
    from torchtraceap.report import Report

# The report of this process whose summary says that there is no detector.
_told: list[weakref.ref[Report]] = []


def summary_text(report: Report) -> str:
    """Return the line of a summary; "" if there is nothing to say.

    That there is no detector is said of one report in a process: who reads a hundred
    summaries knows after the first.
    """
    detection = report.detection
    if detection.status == "missing":
        if not _told:
            _told.append(weakref.ref(report))
        if _told[0]() is not report:
            return ""
    text = detector_text(detection)
    return f"{text} {_cost(detection)}" if detection.run else text


def detector_text(detection: Detection) -> str:
    """Return what the detector did, the same for the same windows; "" if it is off."""
    if detection.status == "off":
        return ""
    if not detection.run:
        return f"Detector not run: {printable(detection.why or '', 400)}."
    name = printable(detection.name or "", NAME_WIDTH)
    if detection.why:
        return f"Detector ({name}): nothing is said, for {detection.why}."
    flagged, rules = detection.flagged, detection.by_rules
    any_flagged = flagged.any(axis=1)
    as_rules = (flagged & rules).any(axis=1)
    missed = (detection.judged & rules).any(axis=1) & ~any_flagged
    alone = any_flagged & ~as_rules
    text = (
        f"Detector ({name}): {any_flagged.sum():,} of {len(flagged):,} windows "
        f"flagged, {as_rules.sum():,} as rules say, {alone.sum():,} by it alone; "
        f"{missed.sum():,} more by rules alone."
    )
    if strange := int(detection.abstained.sum()):
        text += f" Of {strange:,} it says nothing: they are unlike what it learned."
    return text


def _cost(detection: Detection) -> str:
    whole = detection.load_seconds + detection.score_seconds
    text = f"It took {whole:.1f} s"
    if detection.load_seconds >= 0.05:
        text += f", {detection.load_seconds:.1f} s of it to load torch and the weights"
    return text + "."
