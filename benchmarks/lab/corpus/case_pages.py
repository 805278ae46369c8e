# SPDX-License-Identifier: BSD-3-Clause
"""case_pages.py: measures the named cases and writes their pages.

    python -m benchmarks.lab.corpus.case_pages [--cases A,B] [--render] [--list]

Times both twins of each pair in turn, records each with torch.profiler, has
torchtraceap read both traces, and simulates both on a GPU. Writes
benchmarks/results/cases.json, after each case, and docs/cases from it. Cases that are
not named keep the results they have. ``--render`` measures nothing.

Exit codes: 0, or 1 if the twins of a pair did not agree or a run failed; earlier
pages stay.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterable
from typing import Any

import torch

from benchmarks import RESULTS, ROOT
from benchmarks.lab.corpus.case_results import (
    DRY_STEPS,
    GPU,
    HOST_US,
    PROTOCOL,
    RECORDINGS,
    results_of,
)
from benchmarks.lab.corpus.case_table import TOPICS, NamedCase, code_of, read_cases
from benchmarks.lab.interference import observed
from benchmarks.lab.pages import TEMPLATES, filled, machine

MADE_BY = (
    "<!-- Written by `python -m benchmarks.lab.corpus.case_pages`; words are in "
    "benchmarks/lab/corpus/cases.toml. -->"
)
LEAST = 0.01  # Share of the time from which a pattern counts as found.


def index_page(cases: dict[str, NamedCase], results: dict[str, Any]) -> str:
    """Return docs/cases/README.md."""
    return _filled("cases", {"cases": cases, "results": results})


def page(topic: str, cases: Iterable[NamedCase], results: dict[str, Any]) -> str:
    """Return the page of a topic, a section for each case."""
    names = {"title": TOPICS[topic], "cases": list(cases), "results": results}
    return _filled("case", names)


def _filled(template: str, names: dict[str, Any]) -> str:
    text = (TEMPLATES / "docs" / f"{template}.md.jinja").read_text("utf-8")
    more = {
        "made_by": MADE_BY,
        "gpu": GPU,
        "host_us": HOST_US,
        "protocol": PROTOCOL,
        "recordings": RECORDINGS,
        "dry_steps": DRY_STEPS,
        "anchor": anchor,
        "code_of": code_of,
        "named": named,
        "saved": saved,
    }
    return filled(text, names | more).strip("\n") + "\n"


def named(rows: Iterable[dict[str, Any]]) -> str:
    """Say which patterns are found in slow forms and not in the fixed ones."""
    found = {
        words: sorted({name for row in rows for name in named_in(row, where)})
        for where, words in (("cpu", "CPU"), ("dry", "dry run"))
    }
    parts = [f"{words}: {', '.join(names)}" for words, names in found.items() if names]
    return "; ".join(parts) or "nothing"


def named_in(row: dict[str, Any], where: str) -> list[str]:
    """Return the patterns of a pair that the reports tell its forms apart by."""
    if where not in row:
        return []
    slow, fixed = (row[where][side]["found"] for side in ("slow", "fixed"))
    return [
        name
        for name in row["patterns"]
        if slow.get(name, 0) >= LEAST and fixed.get(name, 0) < slow[name] / 2
    ]


def anchor(title: str) -> str:
    """Return the name that GitHub and Sphinx give to a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def saved(cpu: dict[str, Any]) -> str:
    return f"{100 * cpu['saving']:.0f} %"


KEPT = RESULTS / "cases.json"
PAGES = ROOT / "docs" / "cases"


def measure_case(case: NamedCase) -> dict[str, Any]:
    """Return all results of a case; raises what its twins do."""
    told: dict[str, Any] = {
        "machine": machine() | {"torch": torch.__version__},
        "pairs": {},
    }
    with observed() as others:
        for row in case.rows:
            print(f"{case.name}: {row.pair.name} on {row.family}", flush=True)
            found = results_of(row)
            told["pairs"][row.pair.name] = found
            if "cpu" in found:
                times = (found["cpu"][side]["median_ms"] for side in ("slow", "fixed"))
                print("  {:.2f} -> {:.2f} ms".format(*times), flush=True)
    told["machine"]["others"] = round(others.share, 3)
    told["machine"]["load_after"] = os.getloadavg()[0]
    return told


def pages(cases: dict[str, NamedCase], results: dict[str, Any]) -> dict[str, str]:
    """Return all pages by their file's name, of the cases that have results."""
    known = {name: case for name, case in cases.items() if name in results}
    topics = {case.topic: [] for case in known.values()}
    for case in known.values():
        topics[case.topic].append(case)
    out = {f"{t}.md": page(t, c, results) for t, c in topics.items()}
    return out | {"README.md": index_page(known, results)}


def write_pages(cases: dict[str, NamedCase], results: dict[str, Any]) -> None:
    """Write the pages, and take away those of cases that are no more."""
    PAGES.mkdir(parents=True, exist_ok=True)
    made = pages(cases, results)
    for name, text in made.items():
        (PAGES / name).write_text(text, "utf-8")
    for path in PAGES.glob("*.md"):
        if path.name not in made:
            path.unlink()


def main() -> int:
    """Measure, keep, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", default="", help="names, with commas between")
    parser.add_argument("--render", action="store_true", help="only write the pages")
    parser.add_argument("--list", action="store_true", help="only list the cases")
    options = parser.parse_args()
    cases = read_cases()
    names = [name for name in options.cases.split(",") if name] or list(cases)
    if unknown := set(names) - set(cases):
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    if options.list:
        print("\n".join(f"{name}: {cases[name].title}" for name in names))
        return 0
    kept = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    results = {name: kept[name] for name in cases if name in kept}
    failed = []
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # Of loaders with more workers than processors.
    for name in () if options.render else names:
        try:
            results[name] = measure_case(cases[name])
        except Exception:
            traceback.print_exc()
            failed.append(name)
            continue
        # After each, for who stops it keeps what there is.
        ordered = {name: results[name] for name in cases if name in results}
        KEPT.write_text(json.dumps(ordered, indent=1) + "\n", "utf-8")
    write_pages(cases, results)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
