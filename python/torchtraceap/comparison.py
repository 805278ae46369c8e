# SPDX-License-Identifier: BSD-3-Clause
"""comparison.py: two reports, before and after a change: what went, came and grew.

docs/ci.md states what counts as a change.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from torchtraceap.analysis import analyze_one
from torchtraceap.analysis_plan import of_torch
from torchtraceap.data.config import Config
from torchtraceap.data.rules import Rule
from torchtraceap.data.source import Source
from torchtraceap.gate.comparison import Comparison
from torchtraceap.gate.differences import compare_sides
from torchtraceap.gate.side import Side, read_form, side_of
from torchtraceap.report import Report


def compare(
    before: Source | Report | Mapping[str, Any],
    after: Source | Report | Mapping[str, Any],
    *,
    config: Config | None = None,
    rules: Iterable[Rule | str] = (),
    roots: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
) -> Comparison:
    """Say what changed between two traces::

        comparison = torchtraceap.compare("before.json.gz", "after.json.gz")
        print(comparison.summary())
        assert not comparison.worse()

    Args:
        before: A trace as ``analyze`` takes it, a report, or the JSON form of one: its
            file, or what ``Report.to_dict`` gives.
        after: The same, of the changed program.
        config: As of ``analyze``, for what is a trace.
        rules: As of ``analyze``, for what is a trace.
        roots: Folders that the program lies in, before or after, or one: a finding's
            file is known by its path below. The working folder is always one.

    Raises:
        ConfigError: A report's JSON is not whole, or of another version.
        TraceError: A trace is of another profiler than torch's.
        Exception: What ``analyze`` raises.
    """
    plan: dict[str, Any] = {"config": config, "rules": tuple(rules)}
    sides = read_side(before, **plan), read_side(after, **plan)
    given = (roots,) if isinstance(roots, str | os.PathLike) else roots
    return compare_sides(*sides, roots=[os.fspath(root) for root in given])


def read_side(source: Source | Report | Mapping[str, Any], **options: Any) -> Side:
    """Return what `compare` takes as a side of a comparison.

    ``options`` are those of ``analyze``, for a trace. Raises what `compare` does.
    """
    if isinstance(source, Report | Mapping):
        return side_of(source)
    if isinstance(source, str | os.PathLike) and (form := read_form(source)):
        return side_of(form, os.fsdecode(source))
    return side_of(of_torch(analyze_one(source, "compare", **options)))
