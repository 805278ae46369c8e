# SPDX-License-Identifier: BSD-3-Clause
"""feedback_page.py: the page of feedback.py, and the figures in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.lab.detector.table_text import table

_VOICES = {"network": "network", "probability": "stack"}
_SIDES = ("cpu", "gpu")
_CONTROL = "nobody, mixed"
_BEFORE = "before"


def summed(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return figures of what `feedback.gathered` found: each run's mean area over tasks
    and seeds, and its paired difference to before, `[value, low, high]` of 95 %.

    A resample draws the same groups before and after, and in all tasks.
    """
    pairs = [(s, t) for s, tasks in found.items() for t in tasks if _BEFORE in tasks[t]]
    names = dict.fromkeys(n for s, t in pairs for n in found[s][t] if n != _BEFORE)
    out: dict[str, Any] = {"runs": {}, "tasks": {}}
    for seed, task in pairs:
        before = found[seed][task][_BEFORE]
        out["tasks"][f"{task}, {seed}"] = {
            name: before[name] for name in ("groups", "flagged", "judged")
        } | {v: {s: before[v][s][0] for s in before[v]} for v in _VOICES}
    for name in names:
        mine = [(s, t) for s, t in pairs if name in found[s][t]]
        run: dict[str, Any] = {"folds": len(mine)}
        for voice in _VOICES:
            for side in _SIDES:
                a = np.array([found[s][t][_BEFORE][voice][side] for s, t in mine])
                b = np.array([found[s][t][name][voice][side] for s, t in mine])
                run[f"{voice}_{side}"] = {
                    "before": float(a[:, 0].mean()),
                    "after": float(b[:, 0].mean()),
                    "gain": _interval((b - a).mean(axis=0)),
                    "each": (b - a)[:, 0].tolist(),
                }
                if name != _CONTROL and all(_CONTROL in found[s][t] for s, t in mine):
                    c = [found[s][t][_CONTROL][voice][side] for s, t in mine]
                    over = (b - np.array(c)).mean(axis=0)
                    run[f"{voice}_{side}"]["over_nobody"] = _interval(over)
        for fact in ("answers", "none", "right", "side_right"):
            told = [
                found[s][t][name][fact] for s, t in mine if fact in found[s][t][name]
            ]
            if known := [share for share in told if not np.isnan(share)]:
                run[fact] = float(np.mean(known))
        out["runs"][name] = run
    return out


def _interval(values: np.ndarray) -> list[float]:
    low, high = np.nanquantile(values[1:], (0.025, 0.975))
    return [float(values[0]), float(low), float(high)]


def page_text(results: dict[str, Any]) -> str:
    """Return the page."""
    made = results["made"]
    dirty = " with changes" if made["dirty"] else ""
    parts = [
        _HEAD.format(date=made["date"], commit=made["commit"], dirty=dirty,
                     corpus=results["corpus"], verdict=_verdict(results["runs"]))
    ]  # fmt: skip
    rows = [
        [task, *map(str, of["groups"]), f"{of['flagged']:,}", f"{of['judged']:,}",
         *(f"{of['network'][s]:.3f}" for s in _SIDES)]
        for task, of in results["tasks"].items()
    ]  # fmt: skip
    head = ["held-out task, seed", "groups of A", "of B", "flagged in A",
            "judged in B", "network before, CPU", "GPU"]  # fmt: skip
    parts.append(table(head, rows))
    rows = []
    for name, run in sorted(results["runs"].items()):
        facts = ["-"] * 4
        if "answers" in run:
            counts = [f"{run[fact]:,.0f}" for fact in ("answers", "none")]
            shares = [
                f"{run[fact]:.0%}" if fact in run else "-"
                for fact in ("right", "side_right")
            ]
            facts = [*counts, *shares]
        rows.append([name, str(run["folds"]), *facts])
    head = ["teacher", "folds", "answers a fold", "none", "pattern right", "side right"]
    parts += ["## The teachers", _TEACHERS, table(head, rows)]
    for voice, words in _VOICES.items():
        rows = []
        for name, run in sorted(results["runs"].items()):
            row = [name]
            for side in _SIDES:
                of = run[f"{voice}_{side}"]
                value, low, high = of["gain"]
                row.append(f"{of['before']:.3f} to {of['after']:.3f}")
                row.append(f"{value:+.3f} ({low:+.3f} to {high:+.3f})")
            rows.append(row)
        head = ["teacher", "CPU", "gain", "GPU", "gain"]
        parts += [f"## The {words} on B", table(head, rows)]
    rows = []
    for name, run in sorted(results["runs"].items()):
        over = [run[f"network_{side}"].get("over_nobody") for side in _SIDES]
        if all(over):
            rows.append(
                [name, *(f"{v:+.3f} ({a:+.3f} to {b:+.3f})" for v, a, b in over)]
            )
    head = ["teacher", "CPU", "GPU"]
    parts += ["## The network, beside one that nobody answered", table(head, rows)]
    parts.append(_FOOT)
    return "\n\n".join(parts) + "\n"


def _verdict(runs: Mapping[str, Any]) -> str:
    words = []
    for name, run in sorted(runs.items()):
        said = []
        for side in _SIDES:
            _, low, high = run[f"network_{side}"]["gain"]
            how = "better" if low > 0 else "worse" if high < 0 else "open"
            said.append(f"{side.upper()} {how}")
        words.append(f"- {name}: {', '.join(said)}")
    return "\n".join(words)


_HEAD = """# Whether a second stage's answers make the detector better

Written by `python -m benchmarks.lab.explain.feedback CORPUS --page`;
not edited by hand.

{date}, commit {commit}{dirty}; corpus `{corpus}`.

In the paper what stage 2 names in flagged windows is fed back into stage 1. Tried here
is one round of that. A network that has seen no program of a task (S1 of [the
benchmark](benchmark.md); 500 steps) flags windows, with rules, in half A of
the task's groups. A teacher names each one's pattern. As `torchtraceap train --from
NETWORK --labels FILE` would (200 steps at a rate of 1e-4; the network moves, trees, mix
and thresholds stay), it learns that the window has this pattern, on its side; of "none"
that neither side has one. Judged is the area under the ROC
curve on half B, which shares no group with A, before and after.

The network, where the interval of the gain is above zero, below, or neither:

{verdict}

Intervals are of 200 resamples of groups, the same before and after and in all tasks.
Halves and training are of one seed; its noise is in no interval."""

_TEACHERS = """*alone* learns from the answers only, as the command does where no set is
named; *mixed* from the old traces beside them (`torchtraceap train SET --from NETWORK
--labels FILE`), which then are three quarters of what is drawn. *truth* answers of each
flagged window what the corpus knows, and is silent where it knows nothing; *random*
draws a pattern; *all labels* tells all that the corpus knows of all of A's windows,
flagged or not, both sides: what any labeling could teach at most. *pattern right* is of
windows that have one that is known, *side right* of all whose side is known: a false
alarm that gets a name is a wrong label."""

_FOOT = """\
*nobody* is what every *mixed* run has to be held against: the old traces alone, and no
answer. In the last table no interval of a teacher is above zero, and on the CPU's side
the random one, wrong in 93 %, gains most: so one round of feedback is not shown to help
here. Why was not tested. A guess: a teacher that never says "none" contradicts no flag,
and what nobody flags nobody asks about. A language model that is so small says little:
it was asked about 60 windows a fold, and its answers were nearly all "none"."""
