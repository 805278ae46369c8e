# SPDX-License-Identifier: BSD-3-Clause
"""explain_page.py: the page of run.py, and the figures in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.lab.detector.table_text import table
from benchmarks.lab.explain.accuracy import STABILITY, difference, figures, stability
from benchmarks.lab.explain.answering import FACTS, NAMES
from benchmarks.lab.explain.asked_windows import NONE, Asked

_SETS = {
    "corpus": "Windows of the corpus",
    "public": "Windows of public traces",
}
#: What of the corpus is told apart: where all costs are known, and where only those of
#: what was put in are.
_PARTS = {
    "recorded and simulated": ("R", "S"),
    "real, perturbed": ("P",),
}


def page_text(results: dict[str, Any], sets: Mapping[str, Sequence[Asked]]) -> str:
    """Return the page."""
    made = results["made"]
    dirty = " with changes" if made["dirty"] else ""
    parts = [_HEAD.format(date=made["date"], commit=made["commit"], dirty=dirty)]
    parts += [_model_line(*item) for item in results.get("models", {}).items()]
    for name, windows in sets.items():
        parts.append(_set_text(name, windows, results["answers"][name]))
    for model in results.get("models", {}):
        parts.append(_model_text(model, sets, results["answers"]))
    parts.append(_by_pattern(sets["corpus"], results["answers"]["corpus"]))
    return "\n\n".join(parts) + "\n"


def _set_text(name: str, windows: Sequence[Asked], answers: Mapping[str, Any]) -> str:
    text = [f"## {_SETS[name]}", _ABOUT[name].format(**_counts(windows))]
    parts = {"all": windows}
    if name == "corpus":
        for part, sources in _PARTS.items():
            parts[part] = [w for w in windows if w.source in sources]
    rows = []
    for who, of in answers.items():
        said = _first(of[FACTS])
        for part, some in parts.items():
            mine = [w for w in some if w.key in said]
            if any(w.truth != NONE for w in mine):
                rows.append([who, part, *_cells(figures(mine, said))])
    head = ["who", "windows of", "with a pattern", "groups", "accuracy", "macro-F1",
            "no answer", f"says {NONE}", f"without: says {NONE}"]  # fmt: skip
    text.append(table(head, rows))
    models = [
        who
        for who, of in answers.items()
        if len(next(iter(of[FACTS].values()), [])) > 1
    ]
    for who in models:
        asked = set(answers[who][FACTS])
        mine = [w for w in windows if w.key in asked]
        rows = []
        for other, of in answers.items():
            row = [other, *_cells(figures(mine, _first(of[FACTS])))]
            rows.append([row[0], row[1], *row[3:5]])
        if len(mine) < len(windows):
            text.append(
                f"The same of the {len(mine)} windows that {who} was asked about:"
            )
            text.append(table(["who", "with a pattern", "accuracy", "macro-F1"], rows))
    return "\n\n".join(text)


def _model_text(
    model: str, sets: Mapping[str, Sequence[Asked]], answers: Mapping[str, Any]
) -> str:
    text = [f"## {model}: repeats, and what it is shown", _REPEATS]
    rows = []
    for name, windows in sets.items():
        said = answers[name][model][FACTS]
        mine = [w for w in windows if w.key in said]
        found = stability(mine, said)
        rows.append([name, str(len(mine)), *(f"{found[s]}" for s in STABILITY)])
    text.append(table(["windows of", "asked", *STABILITY], rows))
    every = [w for windows in sets.values() for w in windows]
    forms = {
        form: {
            k: v[0]
            for name in sets
            for k, v in answers[name][model].get(form, {}).items()
        }
        for form in (FACTS, NAMES)
    }
    if mine := [w for w in every if w.key in forms[NAMES] and w.key in forms[FACTS]]:
        rows = []
        for one in (FACTS, NAMES):
            right = sum(w.is_right(forms[one][w.key]) for w in mine)
            rows.append([one, str(len(mine)), f"{right / len(mine):.3f}", ""])
        rows[-1][-1] = _interval(difference(mine, forms[NAMES], forms[FACTS]))
        head = ["shown", "windows", "accuracy", "more than the facts"]
        text.append(table(head, rows))
    counts: dict[str, int] = {}
    for answer in forms[FACTS].values():
        counts[str(answer)] = counts.get(str(answer), 0) + 1
    most = sorted(counts.items(), key=lambda item: -item[1])
    said = ", ".join(f"`{answer}` {count}" for answer, count in most)
    text.append(f"What it names, of {sum(counts.values())} windows: {said}.")
    return "\n\n".join(text)


def _by_pattern(windows: Sequence[Asked], answers: Mapping[str, Any]) -> str:
    rows = []
    for truth in dict.fromkeys(w.truth for w in windows):
        row = [f"`{truth}`"]
        for of in answers.values():
            said = _first(of[FACTS])
            mine = [w for w in windows if w.truth == truth and w.key in said]
            right = sum(w.is_right(said[w.key]) for w in mine)
            row.append(f"{right} of {len(mine)}")
        rows.append(row)
    return "## Right by pattern, corpus\n\n" + table(["pattern", *answers], rows)


def _model_line(name: str, made: Mapping[str, Any]) -> str:
    return (
        f"{name} ({made['where']}): asked {made['date']} at commit {made['commit']}, "
        f"{made['repeats']} times, first at temperature 0 and seed 0 as the product "
        f"does, then at temperature {made['temperature']} with seeds 1, 2, ..."
        f"{made.get('note', '')}"
    )


def _counts(windows: Sequence[Asked]) -> dict[str, int]:
    return {
        "windows": len(windows),
        "traces": len({w.trace for w in windows}),
        "groups": len({w.group for w in windows}),
        "none": sum(w.truth == NONE for w in windows),
        "patterns": len({w.truth for w in windows} - {NONE}),
        "chance": round(100 / max(1, len({w.truth for w in windows} - {NONE}))),
    }


def _first(answers: Mapping[str, Sequence[str | None]]) -> dict[str, str | None]:
    return {key: said[0] for key, said in answers.items()}


def _cells(found: Mapping[str, Any]) -> list[str]:
    none = "-"
    if "none_right" in found:
        none = f"{_interval(found['none_right'])} of {found['none_windows']}"
    return [
        str(found["windows"]), str(found["groups"]), _interval(found["accuracy"]),
        _interval(found["macro_f1"]), f"{found['no_answer']:.0%}",
        f"{found['none_of_pattern']:.0%}", none,
    ]  # fmt: skip


def _interval(values: Sequence[float]) -> str:
    value, low, high = values
    return f"{value:.3f} ({low:.2f} to {high:.2f})"


_HEAD = """# How often the pattern of a window is named right

Written by `python -m benchmarks.lab.explain.run CORPUS --page`;
not edited by hand.

{date}, commit {commit}{dirty}.

Asked is which pattern a flagged window has: of

- *rules, then detector*: what an explanation without a model says, the label of rules
  that costs most, and where rules are silent the detector's guess;
- *detector, type head*: the network's and trees' likeliest pattern, without rules'
  labels; *with its threshold*: or none, where the detector flags nothing;
- language models, as `explain(llm=...)` asks them for the pattern: figures and the
  events that stand out under short ids, no name of the trace, an enum of all patterns
  and "none".

An answer is right if the window's truth has it. The bracket is the 95 % interval of
1,000 resamples of whole groups (programs, or origins of real traces). Macro-F1 is the
mean over the patterns that are there, rare ones as much as common ones.

Windows are drawn evenly over patterns, not as they come: where every window counts as
often as it comes rules name 90 % of kept programs' flagged windows right, the detector
83 % ([the detector](../../docs/detector.md)). These figures are lower, for most of
them are of what is rare."""

_ABOUT = {
    "corpus": """{windows} windows of {traces} runs and {groups} groups that
neither the network nor the trees of the bundled detector learned from: what its
training kept for calibration, and origins of real traces that are held out
(`choose.py`). All are flagged, by rules (5 % and more) or the detector. The truth is
what a recorded or scheduled counterfactual saves, no rule's word: {patterns} patterns,
so that guessing evenly is right in {chance} %; {none} windows are known to have none.
Of real perturbed traces (P) only what was put in is known: an answer that names what
was there besides counts as wrong, for nobody knows. The mix of the detector's voices
was fitted on half of the kept groups.""",
    "public": """{windows} windows of {traces} public traces and {groups} origins,
drawn by a seed from those that are flagged, one or two a trace; 17 more were drawn and
left out, for their events do not tell. The truth is one reader's, from the raw events
alone: kernels, runtime calls, operators and gaps of the window; what rules, detector or
a model say of these windows was not shown. It is not blind to the tool: the reader had
read its verdicts on some of the traces ([gallery](gallery.md), the detector's ten
windows) and used them for two or three labels. It is written beside each window in
`trace_windows.jsonl`. Weaknesses: one reader, no second one; several names are right
where the events do not decide (late launches: `launch_bound` or `missed_cuda_graph`),
which is more lenient than the corpus is; and whoever read them knows what rules look
for. The detector learned from perturbed copies of two thirds of the origins.""",
}

_REPEATS = """Each window is asked about several times: a stable pass is right each
time, a stable fail never. Some windows are also asked about once, at temperature 0,
with the names behind the ids, which the product never shows when it asks for a pattern.
With names a trace could talk the model into an answer; the last column is the cost of
withholding them."""
