# SPDX-License-Identifier: BSD-3-Clause
"""edits.py: changes to ask of a replay, by the names of events and findings."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from torchtraceap import _core
from torchtraceap._core import Finding
from torchtraceap.data.what_if import Edit as Edit
from torchtraceap.report import Report

_MOST_PLACES = 9  # In a message.


def fix(what: str) -> Edit:
    """Fix findings: of a pattern (``"sync_stall"``), at a place (``"train.py:88"``), of
    an operator, or with an id of the report."""
    return Edit("fix", what)


def hide(name: str) -> Edit:
    """Let host events of this name take no time: ``"enumerate(DataLoader)*"``."""
    return Edit("hide", name)


def drop_waits(name: str) -> Edit:
    """Let calls of this name wait for nothing, or those inside events of this name."""
    return Edit("drop_waits", name)


def pin(name: str = "Memcpy*") -> Edit:
    """Let copies of this name be pinned and asynchronous: their calls do not wait."""
    return Edit("pin", name)


def capture(name: str) -> Edit:
    """Launch all that is launched inside events of this name at once, as a CUDA graph
    does."""
    return Edit("capture", name)


def fuse(name: str) -> Edit:
    """Make one kernel of all that are launched inside each event of this name: no
    launches and no gaps between them. Their work takes as long as before."""
    return Edit("fuse", name)


def multi_tensor(name: str = "Optimizer.step#*") -> Edit:
    """Make one kernel of all of the same name that are launched inside each event of
    this name, as an optimizer does with ``foreach=True``."""
    return Edit("multi_tensor", name)


def bucket(name: str) -> Edit:
    """Put collectives of this name that follow each other on a stream into one: of
    each but the first, the launch and the latency go."""
    return Edit("bucket", name)


def scale(name: str, factor: float) -> Edit:
    """Let device work of this name take `factor` of its time, 0 to 1."""
    if not isinstance(factor, int | float):
        raise TypeError(f"factor must be a number, but is {factor!r}")
    if not 0 <= factor <= 1:
        raise ValueError(f"factor must be from 0 to 1, but is {factor}")
    return Edit("scale", name, float(factor))


def drop_work(name: str) -> Edit:
    """Do without device work of this name and without its launch."""
    return Edit("drop_work", name)


def overlap(name: str) -> Edit:
    """Let device work of this name start without waiting for other streams, as far as
    there is room on the device; collectives on the host (``"gloo:*"``) as soon as their
    gradients are there."""
    return Edit("overlap", name)


def as_edit(edit: Edit | Finding | str) -> Edit:
    """Return the edit for a text or a finding. Raises TypeError for anything else."""
    if isinstance(edit, Finding | str):
        return fix(edit if isinstance(edit, str) else edit.id)
    if not isinstance(edit, Edit) or not isinstance(edit.name, str):
        raise TypeError(
            "an edit is made by torchtraceap.edits, a finding of the report, or a text "
            f"that names findings, but this is {edit!r}"
        )
    return edit


def core_edits(report: Report, edits: Sequence[Edit]) -> list[_core.Edit]:
    """Look up what edits name. Raises ValueError for one that names nothing in the
    trace."""
    made = []
    for edit in edits:
        of = _findings(report, edit.name) if edit.kind == "fix" else None
        if of is None:
            pieces = edit.name.split("*")
            names = report.loaded.strings
            of = [i for i, name in enumerate(names) if _consists_of(pieces, name)]
            if not of:
                raise ValueError(
                    f"no event is named {edit.name!r}. Names are compared as a whole, "
                    "with upper and lower case; * matches any text."
                )
        made.append(_core.Edit(edit.kind, of, edit.factor))
    return made


def _consists_of(pieces: Sequence[str], name: str) -> bool:
    """Tell whether a name is the pieces in their order, with any text between them.

    The first begins the name and the last ends it; a single piece is the whole name.
    """
    if len(pieces) == 1:
        return name == pieces[0]
    first, *inner, last = pieces
    at, end = len(first), len(name) - len(last)
    if at > end or not (name.startswith(first) and name.endswith(last)):
        return False
    # The earliest place leaves most to those that follow, so none is tried again: a
    # regular expression would try them all, and a trace may be written to make it.
    for piece in inner:
        found = name.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def _findings(report: Report, what: str) -> list[int]:
    found = [
        index
        for index, finding in enumerate(report.rule_findings)
        if what in (finding.pattern, finding.kind, finding.id, finding.operator)
        or (
            finding.location is not None
            and any(f"/{n}".endswith(f"/{what}") for n in finding.location.names)
        )
    ]
    if not found:
        raise ValueError(_no_finding(report, what))
    # What a dry run only lists claims no time.
    priced = [index for index in found if report.rule_findings[index].wasted_us > 0]
    if not priced:
        raise ValueError(
            f"{what} waits, but that costs no time on this simulated timeline, so "
            "there is nothing to take off it."
        )
    return priced


def _no_finding(report: Report, what: str) -> str:
    if not report.rule_findings:
        return f"no finding is {what!r}: the report has no findings."
    places = dict.fromkeys(f.location for f in report.rule_findings if f.location)
    there = [str(place) for place in places if f"/{place.file}".endswith(f"/{what}")]
    if there:  # The name of a file, without a line.
        shown = ", ".join(there[:_MOST_PLACES])
        return f"{what} is a file. Name a line of it that has a finding: {shown}."
    known = sorted({finding.pattern for finding in report.rule_findings})
    close = difflib.get_close_matches(what, [*known, *map(str, places)], n=1)
    return (
        f"no finding is {what!r}"
        + (f"; did you mean {close[0]!r}?" if close else ".")
        + f" The report has: {', '.join(known)}. A place (train.py:88), an operator or "
        "an id names some of them, too."
    )
