# SPDX-License-Identifier: BSD-3-Clause
"""explaining.py: explains findings and windows of a report, and asks a model if told.

``Report.explain`` has the contract.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Any

from torchtraceap._core import Finding, Window
from torchtraceap.base.arguments import checked_int, checked_names, instead_of
from torchtraceap.data.findings import UNEXPLAINED
from torchtraceap.data.opinion import NONE, Opinion
from torchtraceap.detection import LOSS
from torchtraceap.explain.digest import lost_us, make_digests
from torchtraceap.explain.explainer import explained, explained_window
from torchtraceap.explain.explanation import Explanation, Explanations, Usage
from torchtraceap.explain.model.asking import ask, usage_of
from torchtraceap.explain.model.endpoint import KEY_VARIABLE, Endpoint
from torchtraceap.report_data import ReportData


def explain(
    report: ReportData,
    what: int | str | Finding | Iterable[str | Finding],
    windows: int | Iterable[int],
    endpoint: Endpoint | None,
    *,
    source: bool,
    tokens: int,
    progress: Callable[[int, int], object] | None,
) -> Explanations:
    """Explain findings and windows, and keep a model's opinions with the report."""
    findings, chosen = find(report, what), find_windows(report, windows)
    digests = make_digests(report, findings, chosen, source=source, tokens=tokens)
    of_windows = digests[len(findings) :]
    made = [explained(report, f, d) for f, d in zip(findings, digests, strict=False)]
    made += [
        explained_window(report, w, d) for w, d in zip(chosen, of_windows, strict=True)
    ]
    if endpoint is None or not made:
        return Explanations.of(made, Usage())
    opinions = ask(digests, endpoint, progress)
    made = [
        replace(one, opinion=_judged(report, one, opinion))
        for one, opinion in zip(made, opinions, strict=True)
    ]
    kept = {opinion.subject: opinion for opinion in report.opinions}
    kept.update({one.subject: one.opinion for one in made if one.opinion})
    report.opinions = tuple(kept.values())
    return Explanations.of(made, usage_of(opinions))


def endpoint_of(
    llm: str | None, model: str | None, api_key: str | None, **options: Any
) -> Endpoint | None:
    """Return where to ask; None if no URL is given. A key of None is that of the
    environment where the endpoint may have it.

    Raises ValueError or TypeError, as `Endpoint` does, and if one of URL and model is
    given without the other.
    """
    if llm is None:
        if model is not None:
            raise ValueError("model needs llm, the URL of a server that has it")
        return None
    if model is None:
        raise ValueError(f"model must name a model of {llm}")
    endpoint = Endpoint(url=llm, model=model, api_key=api_key, **options)
    if api_key is None and endpoint.takes_default_key:
        endpoint = replace(endpoint, api_key=os.environ.get(KEY_VARIABLE))
    return endpoint


def find(
    report: ReportData, what: int | str | Finding | Iterable[str | Finding]
) -> list[Finding]:
    """Return that many findings, the first ones, or these, or those of some ids.

    Raises ValueError for an id of no finding, or a negative number.
    """
    if isinstance(what, int):
        return list(report.findings[: checked_int("what", what, 0, 1 << 31)])
    if isinstance(what, str | Finding):
        what = [what]
    ids = checked_names("what", [x.id if isinstance(x, Finding) else x for x in what])
    known = {finding.id: finding for finding in report.findings}
    for id in ids:
        if id not in known:
            raise ValueError(f"there is no finding {id!r}; {instead_of(id, known)}")
    return [known[id] for id in dict.fromkeys(ids)]


def find_windows(report: ReportData, windows: int | Iterable[int]) -> list[Window]:
    """Return that many windows that rules or detector flag, or those of some indices.

    Of those that are flagged, the one with most to save of each pattern comes first,
    then the second of each, and so on: the steps of a loop are alike. Raises ValueError
    for an index of no window.
    """
    every = report.windows
    if not isinstance(windows, int):
        last = len(every) - 1
        return [every[checked_int("window", index, 0, last)] for index in windows]
    most = checked_int("windows", windows, 0, 1 << 31)
    alike: dict[str, list[Window]] = {}
    for window in every if most else ():
        if window.labels:
            alike.setdefault(window.labels[0].pattern, []).append(window)
    lost = _lost_us
    groups = [sorted(group, key=lambda w: -lost(w)) for group in alike.values()]
    groups.sort(key=lambda group: -lost(group[0]))
    return [w for w in chain.from_iterable(zip_longest(*groups)) if w][:most]


def _lost_us(window: Window) -> float:
    """Return what a fix saves by the rules, or where they are silent the model's guess
    of it."""
    guessed = max((label.saved_fraction for label in window.labels), default=0.0)
    return window.saved_us or guessed * window.duration_us


def _judged(report: ReportData, one: Explanation, opinion: Opinion) -> Opinion:
    """Say whether an opinion agrees with rules, and with the detector.

    A window is often of several patterns, and findings share windows: each that rules
    see costing something there is a right answer.
    """
    if opinion.pattern is None:
        return opinion
    windows = one.finding.windows if one.finding else ()
    windows = (one.window.index,) if one.window else windows
    detector = _by_detector(report, windows)
    rules = {one.pattern} | _by_rules(report, windows)
    if one.pattern == UNEXPLAINED:
        rules = detector or set()
    return replace(
        opinion,
        agrees=opinion.pattern in rules,
        agrees_with_detector=None if detector is None else opinion.pattern in detector,
    )


def _by_rules(report: ReportData, windows: Sequence[int]) -> set[str]:
    length_us = sum(report.rule_windows[index].duration_us for index in windows)
    lost = lost_us(report, windows).items()
    return {name for name, us in lost if us >= LOSS * length_us}


def _by_detector(report: ReportData, windows: Sequence[int]) -> set[str] | None:
    """Return what the detector guesses where it flags, "none" if it flags nothing; None
    if it says nothing."""
    detection = report.detection
    if not detection.run or not detection.judged[list(windows)].any():
        return None
    return set(detection.guesses(windows, only_flagged=True)) or {NONE}
