#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""broken_spots.py [NAME...]: breaks the product, spot by spot; says which test notices.

A suite is only worth its green if it turns red. Each row of `SPOTS` is one mistake that
somebody could make, and the tests that must notice it. The tree itself is changed, one
file at a time, and mended again; a file with changes that are not committed is refused.

    python tests/broken_spots.py             # all of them: minutes, needs `make build`
    python tests/broken_spots.py rounding    # one
    python tests/broken_spots.py --check     # only: is each spot still there, once?

Exit code 1: some spot is gone, or no test noticed it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "dev"
PACKAGE = "python/torchtraceap"
TESTS = "tests/python"


class Spot(NamedTuple):
    """One place, right and wrong."""

    name: str
    file: str
    right: str
    wrong: str
    #: What must notice it: parts of tests/cpp, then files or folders of pytest.
    tests: tuple[str, ...]


SPOTS = (
    # --- Loader ---
    Spot(
        "rounding",
        "cpp/trace/number.cpp",
        "if (next > 5 || (next == 5 && (rest || value % 2 == 1))) ++value;",
        "if (next >= 5) ++value;",
        ("trace",),
    ),
    Spot(
        "trailing-garbage",
        "cpp/trace/gzip_reader.cpp",
        "if (at_ != end_) return fail_trailing();",
        "if (at_ != end_) break;",
        ("trace",),
    ),
    Spot(
        "fraction-is-no-id",
        "cpp/trace/number.cpp",
        "return exact ? number : Number{0, NumberKind::kFraction};",
        "return number;",
        ("trace",),
    ),
    # --- Fleets ---
    Spot(
        "retry-alone",
        f"{PACKAGE}/fleets/local_pool.py",
        "            if item.id in self._tried:\n                return False\n",
        "            if True:\n                return False\n",
        (f"{TESTS}/fleets/test_fleet.py",),
    ),
    Spot(
        "orphans-of-a-kill",
        f"{PACKAGE}/fleets/data_set.py",
        "            self._remove_rest()\n            yield\n",
        "            yield\n",
        (f"{TESTS}/fleets/test_fleet.py",),
    ),
    Spot(
        "last-green",
        f"{PACKAGE}/fleets/regressions.py",
        "since = since or run",
        "since = run",
        (f"{TESTS}/fleets/test_fleet_report.py",),
    ),
    # --- Server ---
    Spot(
        "any-token",
        f"{PACKAGE}/service/guard.py",
        "if not secrets.compare_digest(found, self._token) or ",
        "if ",
        (f"{TESTS}/service/test_serve.py",),
    ),
    Spot(
        "endless-body",
        f"{PACKAGE}/service/uploads.py",
        "                if self._left < 0:\n",
        "                if False:\n",
        (f"{TESTS}/service/test_serve.py",),
    ),
    Spot(
        "endless-queue",
        f"{PACKAGE}/service/pool.py",
        "        if not self._left:\n",
        "        if False:\n",
        (f"{TESTS}/service/test_serve_ends.py",),
    ),
    Spot(
        "work-for-no-one",
        f"{PACKAGE}/service/app.py",
        "        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)\n",
        "        await asyncio.wait({done})\n",
        (f"{TESTS}/service/test_serve_ends.py",),
    ),
    # --- Perfetto's packets ---
    Spot(
        "ends-of-a-group",
        "cpp/trace/pftrace/index.cpp",
        "if (losses_ > 0 || std::ranges::all_of(halves, has_one)) {",
        "if (losses_ > 0) {",
        (f"{TESTS}/test_pftrace.py",),
    ),
    Spot(
        "one-clock",
        "cpp/trace/pftrace/decoder_state.cpp",
        "return sum(ts, state.offset);",
        "return ts;",
        (f"{TESTS}/test_pftrace.py",),
    ),
    Spot(
        "overlaps-on-one-track",
        "cpp/write/track_plan.cpp",
        "if (!open.empty() && c_.end(open.back()) < c_.end(row)) continue;",
        "",
        (f"{TESTS}/test_pftrace.py",),
    ),
    # --- Memory ---
    Spot(
        "retry-after-a-launch",
        "cpp/timeline/memory.cpp",
        "if (t.named(row, Name::kLaunch)) calls.rows.clear();",
        "",
        ("timeline",),
    ),
    Spot(
        "freed-at-the-peak",
        "cpp/pipeline/tables/memory_table.cpp",
        "if (one.begin >= peak || one.end < peak) continue;",
        "if (one.begin >= peak) continue;",
        (f"{TESTS}/test_memory.py",),
    ),
    Spot(
        "growth-by-any-place",
        "cpp/pipeline/tables/memory_growth.cpp",
        "if (together < out.bytes / 2) return std::nullopt;",
        "",
        (f"{TESTS}/test_memory.py",),
    ),
    # --- Timeline ---
    Spot(
        "last-launch-before-work",
        "cpp/timeline/links.cpp",
        "if (after != first) return std::prev(after);",
        "if (after != first) return first;",
        ("timeline",),
    ),
    Spot(
        "overlapping-streams",
        "cpp/timeline/busy_time.cpp",
        "reached = std::max({reached, work.begin, work.end});",
        "reached = std::max(work.begin, work.end);",
        ("timeline",),
    ),
    Spot(
        "events-of-a-window",
        "cpp/timeline/windows.cpp",
        "if (w.events >= spec.max_events && start->at > w.begin_ns) {",
        "if (w.events > spec.max_events && start->at > w.begin_ns) {",
        ("timeline",),
    ),
    Spot(
        "parent-of-an-event",
        "cpp/timeline/op_tree.cpp",
        "while (!open.empty() && tree.end(c, open.back()) < least) {",
        "while (!open.empty() && tree.end(c, open.back()) <= least) {",
        ("timeline",),
    ),
    # --- Patterns ---
    Spot(
        "stall-is-bounded-by-its-wait",
        "cpp/patterns/rules/sync_stall.cpp",
        "const auto end = std::min(idle.end, idle.begin + drain.left);",
        "const auto end = idle.end;",
        ("patterns",),
    ),
    Spot(
        "loader-of-another-thread",
        "cpp/patterns/rules/dataloader_bound.cpp",
        "if (!holds_up_next(t, d, row, idle)) continue;",
        "if (row == kNoRow && !holds_up_next(t, d, row, idle)) continue;",
        ("patterns",),
    ),
    Spot(
        "time-claimed-twice",
        "cpp/patterns/ledger.cpp",
        "if (!taken.empty() && claim.begin < taken.back().end) {",
        "if (!taken.empty() && claim.end < taken.back().begin) {",
        ("patterns",),
    ),
    Spot(
        "pinned-is-not-pageable",
        "cpp/patterns/rules/pageable_copy.cpp",
        "if (copy.memory != HostMemory::kPageable || launch == kNoRow ||",
        "if (launch == kNoRow ||",
        ("patterns",),
    ),
    # --- Features ---
    Spot(
        "edges-across-windows",
        "cpp/features/features.cpp",
        "if (i + 1 == windows.size() || !of_one_tiling(windows[i], windows[i + 1])) {",
        "if (i + 1 <= windows.size()) {",
        ("features", f"{TESTS}/test_features.py"),
    ),
    Spot(
        "rounding-is-no-gap",
        "cpp/features/device_parts.h",
        "return gap.time.length() > resolution;",
        "return gap.time.length() > 0;",
        ("features",),
    ),
    Spot(
        "frames-are-no-host-time",
        "cpp/features/host_parts.h",
        "return in != In::kNothing && in != In::kPython && in != In::kProfiler;",
        "return in != In::kNothing && in != In::kProfiler;",
        ("features",),
    ),
    # --- Replay and pricing ---
    Spot(
        "streams-are-first-in-first-out",
        "cpp/replay/simulation.cpp",
        "if (s.last != kNone) wait_for(",
        "if (s.last == id) wait_for(",
        ("replay",),
    ),
    Spot(
        "places-of-the-launch-queue",
        "cpp/replay/simulation.cpp",
        "if (s.launches.size() > places) {",
        "if (s.launches.size() > places + 1) {",
        ("replay",),
    ),
    Spot(
        "contradicted-waits-count",
        "cpp/replay/fidelity.cpp",
        "f.contradicted += f.contradicted_waits + m.dropped_edges",
        "f.contradicted += m.dropped_edges",
        ("replay",),
    ),
    Spot(
        "nothing-sure-of-an-estimate",
        "cpp/replay/gain.cpp",
        "gain.low = part(gain.at_least, trust.low);",
        "gain.low = part(gain.replayed, trust.high);",
        ("replay", "pipeline"),
    ),
    Spot(
        "nothing-sure-without-a-device",
        "cpp/pipeline/pricing/trust.cpp",
        "return {0, 0.85, 1.1};",
        "return {0.5, 0.85, 1.1};",
        (f"{TESTS}/test_what_if.py",),
    ),
    Spot(
        "lost-records-are-told",
        "cpp/pipeline/quality/lost_records.cpp",
        "constexpr double kLostLaunches = 0.025;",
        "constexpr double kLostLaunches = 0.9;",
        ("pipeline",),
    ),
    # --- Live profilers ---
    Spot(
        "a-report-for-each-cycle",
        f"{PACKAGE}/profiling/handler.py",
        "if last is not None and last() is results:",
        "if last is not None:",
        (f"{TESTS}/test_profiling_handler.py",),
    ),
    Spot(
        "export-of-the-newest-cycle",
        f"{PACKAGE}/profiling/kept_trace.py",
        "stale = not self.holds(inner_profile(owner).kineto_results)",
        "stale = False",
        (f"{TESTS}/test_profiling_handler.py",),
    ),
    # --- pytest ---
    Spot(
        "what-is-allowed-passes",
        f"{PACKAGE}/waits/verdict.py",
        "if not _too_short(wait, over_us) and not _is_allowed(wait, allow)",
        "if not _too_short(wait, over_us)",
        (f"{TESTS}/test_sync_check_dry.py",),
    ),
    Spot(
        "what-is-not-known-fails",
        f"{PACKAGE}/waits/verdict.py",
        "return self.told and self.count <= most",
        "return self.count <= most",
        (f"{TESTS}/test_sync_check_dry.py", f"{TESTS}/test_pytest_dry.py"),
    ),
    # --- Dry run ---
    Spot(
        "waits-inside-of-operators",
        "python/torchtraceap_dryrun/device/run.py",
        "if row is not None and row.applies(args, kwargs):",
        "if row is not None and not row.hidden and row.applies(args, kwargs):",
        (f"{TESTS}/dryrun/test_probes.py",),
    ),
    Spot(
        "work-of-a-product",
        "python/torchtraceap_dryrun/estimate/matrix_launches.py",
        "Launch(name, work, dtype, 2.0 * m * n * k, moved)",
        "Launch(name, work, dtype, 1.0 * m * n * k, moved)",
        (f"{TESTS}/dryrun/test_kernel_time.py", f"{TESTS}/dryrun/test_launches.py"),
    ),
    Spot(
        "operators-have-a-limit",
        "python/torchtraceap_dryrun/limits.py",
        "if self.ops > self._max_ops:",
        "if self.ops > 2 * self._max_ops:",
        (f"{TESTS}/dryrun/test_dry_run.py",),
    ),
    # --- Pages, files, gates ---
    Spot(
        "names-are-no-markup",
        f"{PACKAGE}/views/html/document.py",
        "autoescape=True,",
        "autoescape=False,",
        (f"{TESTS}/test_html.py",),
    ),
    Spot(
        "names-end-no-script",
        f"{PACKAGE}/views/html/document.py",
        r'return text.replace("<", "\\u003c").replace("&", "\\u0026")',
        "return text",
        (f"{TESTS}/test_html.py", f"{TESTS}/test_html_timeline.py"),
    ),
    Spot(
        "names-drive-no-terminal",
        f"{PACKAGE}/base/safe_text.py",
        '_UNSAFE = frozenset({"Cc", "Cf", ',
        '_UNSAFE = frozenset({"Cc", ',
        (f"{TESTS}/test_terminal.py", f"{TESTS}/test_inspect.py"),
    ),
    Spot(
        "quality-below-the-budget",
        f"{PACKAGE}/gate/judge.py",
        "if VERDICTS.index(found) > VERDICTS.index(allowed):",
        "if VERDICTS.index(found) < VERDICTS.index(allowed):",
        (f"{TESTS}/test_budget.py", f"{TESTS}/test_check.py"),
    ),
    Spot(
        "an-incomplete-trace-keeps-no-budget",
        f"{PACKAGE}/gate/judge.py",
        """    if report.quality.incomplete:
        yield undetermined("min_busy",""",
        """    if not text:
        yield undetermined("min_busy",""",
        (f"{TESTS}/test_budget.py", f"{TESTS}/test_check.py"),
    ),
    Spot(
        "exit-code-of-a-broken-budget",
        f"{PACKAGE}/cli/output.py",
        "OK, BUDGET_BROKEN, BAD_INPUT, INTERRUPTED = 0, 1, 2,",
        "OK, BUDGET_BROKEN, BAD_INPUT, INTERRUPTED = 0, 0, 2,",
        (f"{TESTS}/test_check.py",),
    ),
    Spot(
        "noise-is-no-change",
        f"{PACKAGE}/gate/differences.py",
        "_SURE = 3.0",
        "_SURE = 0.1",
        (f"{TESTS}/test_compare_steps.py", f"{TESTS}/test_compare.py"),
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", metavar="NAME", nargs="*")
    parser.add_argument("--check", action="store_true", help="run no test")
    options = parser.parse_args()
    spots = [s for s in SPOTS if not options.names or s.name in options.names]
    if unknown := {*options.names} - {spot.name for spot in SPOTS}:
        parser.error(f"there is no spot {', '.join(sorted(unknown))}")
    wrong = [text for spot in spots for text in mistakes(spot)]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    if options.check or wrong:
        return 1 if wrong else 0
    survived = [spot.name for spot in spots if not tell(spot)]
    build(*spots)  # As they were.
    print(f"{len(spots) - len(survived)} of {len(spots)} noticed", *survived)
    return 1 if survived else 0


def mistakes(spot: Spot) -> Iterator[str]:
    """Yield why a row proves nothing."""
    if (ROOT / spot.file).read_text().count(spot.right) != 1:
        yield f"{spot.name}: no longer once in {spot.file}: {spot.right}"
    for test in spot.tests:
        if not (ROOT / (test if "/" in test else f"tests/cpp/{test}")).exists():
            yield f"{spot.name}: there is no {test}"


def tell(spot: Spot) -> bool:
    """Break one spot, print which test notices, and return whether one does."""
    begin = time.monotonic()
    found = broken(spot)
    if any("/" in test for test in spot.tests):
        build(spot)  # The module as it was, for the next one.
    seconds = time.monotonic() - begin
    print(f"{spot.name:36} {found or 'NOBODY NOTICED'}  ({seconds:.0f} s)", flush=True)
    return bool(found)


def broken(spot: Spot) -> str:
    """Return the first test that fails while the spot is broken; "": none does."""
    path = ROOT / spot.file
    git = ["git", "-C", str(ROOT), "diff", "--quiet", "HEAD", "--", spot.file]
    if subprocess.run(git, check=False).returncode:
        raise SystemExit(f"{spot.file} has changes that are not committed")
    sound = path.read_text()
    try:
        path.write_text(sound.replace(spot.right, spot.wrong))
        return failing(spot)
    finally:
        path.write_text(sound)


def failing(spot: Spot) -> str:
    build(spot)
    for part in parts(spot):
        name = failing_in(str(BUILD / f"tests/cpp/test_{part}"), "--gtest_brief=1")
        if name:
            return f"{part}.{name}"
    files = [test for test in spot.tests if "/" in test]
    pytest = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    return failing_in(*pytest, *files) if files else ""


def failing_in(*command: str) -> str:
    """Run tests; return the name of the first that fails."""
    done = subprocess.run(
        command, cwd=ROOT, check=False, text=True, errors="replace",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode == 0:
        return ""
    for line in done.stdout.splitlines():
        for mark in ("[  FAILED  ] ", "FAILED ", "ERROR "):
            if line.startswith(mark):
                return line.removeprefix(mark).split(" ")[0].rstrip(",")
    return f"exit code {done.returncode}: {done.stdout[-200:]}"


def parts(spot: Spot) -> tuple[str, ...]:
    return tuple(test for test in spot.tests if "/" not in test)


def build(*spots: Spot) -> None:
    """Build what the tests of some spots run; SystemExit if a broken one does not
    compile, which proves nothing."""
    native = [spot for spot in spots if spot.file.startswith("cpp/")]
    targets = {f"test_{part}" for spot in native for part in parts(spot)}
    if any("/" in test for spot in native for test in spot.tests):
        targets.add("_core")
    if not targets:
        return
    done = subprocess.run(
        ["cmake", "--build", str(BUILD), "--target", *sorted(targets)],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stdout[-2000:])


if __name__ == "__main__":
    raise SystemExit(main())
