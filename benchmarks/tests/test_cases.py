# SPDX-License-Identifier: BSD-3-Clause
"""test_cases.py: named cases and device-side pairs compute the same, cases show what
their pages say, and the pages are what the kept results give.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import torchtraceap

torch = pytest.importorskip("torch")

from benchmarks.lab.corpus import case_pages
from benchmarks.lab.corpus.case_results import Row
from benchmarks.lab.corpus.case_table import KNOWN, read_cases
from benchmarks.lab.corpus.measure import Protocol, twins_agree
from benchmarks.lab.corpus.recording import record
from benchmarks.lab.corpus.simulation.plans import MECHANISMS as SIMULATED
from benchmarks.lab.corpus.workloads.families import FAMILIES
from benchmarks.lab.corpus.workloads.pairs import GROUPS, PAIRS
from benchmarks.lab.corpus.workloads.training import Lab

# Loader workers are forked from a process with threads, which Python 3.12 warns about.
pytestmark = [
    pytest.mark.verify,
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning"),
]

CASES = read_cases()
TRIED = [
    pair
    for group in ("loops", "updates", "kernels", "captured", "memory", "compiled",
                  "named", "unseen")
    for pair in GROUPS[group]
]  # fmt: skip
COMPILED = [pair for pair in TRIED if pair.needs in ("compiler", "cpu")]
# A graph is captured on a GPU only; the other twins run on a CPU too, to no effect.
EAGER = [pair for pair in TRIED
         if pair not in COMPILED and pair.pattern != "missed_cuda_graph"]  # fmt: skip
MECHANISMS = (
    "unfused_optimizer", "zero_grad_fill", "loop_indexing", "fusible_chain",
    "launch_bound", "small_grid", "tensor_core_unused", "allocator_churn",
    "graph_break", "recompile_or_lazy_load",
)  # fmt: skip
# What a recording shows in a second or two; for the others the kept results stand.
QUICK = {
    "newton": ("newton_loop", "loop_indexing"),
    "optimizer": ("single_tensor_optimizer", "unfused_optimizer"),
    "neighbor_sampling": ("neighbors_not_prefetched", "dataloader_bound"),
}


def lab_of(row: Row, strength: float = 1.0, scale: str = "cpu") -> Lab:
    return Lab(torch.device("cpu"), FAMILIES[row.family], scale, 0, strength)


@pytest.mark.parametrize("strength", [1.0, 0.5])
@pytest.mark.parametrize("pair", EAGER, ids=lambda pair: pair.name)
def test_twins_compute_the_same(pair: Any, strength: float) -> None:
    lab = lab_of(Row(pair, pair.families[0]), strength)
    with closing(pair.slow(lab)) as slow, closing(pair.fixed(lab)) as fixed:
        told = twins_agree(slow, fixed, steps=3, tolerance=pair.tolerance)
    assert told["loss_error"] <= pair.tolerance


# The compiler hides its own warnings where they are shown; as errors they break it.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("pair", COMPILED, ids=lambda pair: pair.name)
def test_compiled_twins_compute_the_same(
    pair: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The same pieces without a compiler behind them, which would take minutes.
    def compiled(model: Any, backend: str = "", **options: Any) -> Any:
        return original(model, backend="eager", **options)

    original = torch.compile
    monkeypatch.setattr(torch, "compile", functools.wraps(original)(compiled))
    lab = lab_of(Row(pair, pair.families[0]))
    with closing(pair.slow(lab)) as slow, closing(pair.fixed(lab)) as fixed:
        twins_agree(slow, fixed, steps=2, tolerance=pair.tolerance)


@pytest.mark.parametrize("pattern", MECHANISMS)
def test_patterns_of_the_device_come_about_in_three_ways(pattern: str) -> None:
    pairs = [pair for pair in PAIRS if pair.pattern == pattern]
    # The same way has the same name in programs and in simulated runs of them.
    ways = {pair.mechanism or pair.name for pair in pairs}
    ways |= {one.name for one in SIMULATED if one.pattern == pattern}
    assert len(pairs) >= 3 and len(ways) >= 3


def found(row: Row, side: str) -> set[str]:
    """Record a twin at the scale of its page, and name the patterns found."""
    protocol = Protocol(check=0, lead_in=2, blocks=0, block=0, active=3)
    with closing(getattr(row.pair, side)(lab_of(row, scale=row.scale))) as run:
        data = record(run, protocol).data
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json.gz")
        path.write_bytes(data)
        return {finding.pattern for finding in torchtraceap.analyze(path).findings}


@pytest.mark.parametrize("case", QUICK)
def test_slow_trace_shows_the_pattern(case: str) -> None:
    name, pattern = QUICK[case]
    row = next(row for row in CASES[case].rows if row.pair.name == name)
    assert pattern in CASES[case].shows
    assert pattern in found(row, "slow")


def kept() -> dict[str, Any]:
    return json.loads(case_pages.KEPT.read_text("utf-8"))


def test_all_cases_have_results_of_all_their_pairs() -> None:
    results = kept()
    assert list(results) == list(CASES)
    for name, case in CASES.items():
        pairs = results[name]["pairs"]
        assert set(pairs) == {row.pair.name for row in case.rows}
        for row in case.rows:
            assert ("cpu" in pairs[row.pair.name]) is row.cpu
            assert ("dry" in pairs[row.pair.name]) is row.dry


@pytest.mark.parametrize("case", CASES)
def test_kept_traces_show_what_the_case_says(case: str) -> None:
    rows = kept()[case]["pairs"].values()
    shown = {
        pattern
        for row in rows
        if "cpu" in row
        for pattern, share in row["cpu"]["slow"]["found"].items()
        if share >= case_pages.LEAST
    }
    assert set(CASES[case].shows) <= shown


def test_pages_are_what_the_results_give() -> None:
    made = case_pages.pages(CASES, kept())
    assert {path.name for path in case_pages.PAGES.glob("*.md")} == set(made)
    for name, text in made.items():
        assert (case_pages.PAGES / name).read_text("utf-8") == text, (
            f"{name}: run benchmarks/lab/corpus/case_pages.py --render"
        )


def test_rendering_changes_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed = case_pages.PAGES
    monkeypatch.setattr(case_pages, "PAGES", tmp_path)
    monkeypatch.setattr(sys, "argv", ["case_pages.py", "--render"])
    threads = torch.get_num_threads()
    assert case_pages.main() == 0
    torch.set_num_threads(threads)
    pages = {path.name: path.read_text("utf-8") for path in tmp_path.glob("*.md")}
    assert pages == {p.name: p.read_text("utf-8") for p in committed.glob("*.md")}


def test_no_page_is_formatted() -> None:
    pytest.importorskip("ruff")
    # The code in them is an excerpt: formatted it would be another than is written.
    line = [sys.executable, "-m", "ruff", "format", "--check", case_pages.PAGES]
    told = subprocess.run(line, cwd=case_pages.ROOT, capture_output=True, text=True)
    assert told.returncode == 0, told.stdout


def test_a_pattern_is_named_if_the_fixed_form_has_less_than_half() -> None:
    def row(slow: float, fixed: float) -> dict[str, Any]:
        sides = {"slow": {"found": {"x": slow}}, "fixed": {"found": {"x": fixed}}}
        return {"patterns": ["x"], "cpu": sides}

    assert case_pages.named_in(row(0.2, 0.09), "cpu") == ["x"]
    assert case_pages.named_in(row(0.2, 0.11), "cpu") == []
    assert case_pages.named_in(row(0.009, 0.0), "cpu") == []
    assert case_pages.named_in(row(0.2, 0.0), "dry") == []
    assert case_pages.named([row(0.2, 0.0), row(0.0, 0.0)]) == "CPU: x"


def test_every_case_uses_known_pairs_and_scales() -> None:
    for case in CASES.values():
        for row in case.rows:
            assert KNOWN[row.pair.name] is row.pair
            assert row.pair.runs_on(FAMILIES[row.family])
            assert row.scale in FAMILIES[row.family].configs
            assert row.without or row.cpu or row.dry
