# SPDX-License-Identifier: BSD-3-Clause
"""pytest_summary.py: what pytest says of all tests together: how they are checked, and
which checks could not be made. A plugin of its own; pytest_plugin.py registers it.
"""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchtraceap.checking.pytest_dry import device_of

if TYPE_CHECKING:
    import pytest

_FIXTURES = {"no_sync_stalls", "trace_check"}
_MARKER = "no_sync_stalls"
_LOOKS = {
    "cuda": "looks for calls that blocked the CPU",
    "dry": "runs tests dry, and looks for operators that would wait for one",
    "cpu": "looks for operators on the CPU that would wait for one",
}


def pytest_report_collectionfinish(
    config: pytest.Config, items: Sequence[pytest.Item]
) -> str | list[str]:
    """Say in which mode checks run, if any of the tests has one."""
    number = sum(
        not _FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))
        or item.get_closest_marker(_MARKER) is not None
        for item in items
    )
    if not number:
        return []
    tests = "1 test uses" if number == 1 else f"{number} tests use"
    return f"torchtraceap: {tests} its checks; {_device(config)}"


def _device(config: pytest.Config) -> str:
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed: stored traces can be checked, code cannot"
    torch = sys.modules.get("torch")
    if torch is None:  # Nor is it loaded only to say this.
        return "each says whether it ran on a GPU"
    # Unlike is_available, this leaves CUDA alone, so that tests can still fork.
    here = bool(torch.cuda.device_count())
    device = device_of(config)
    if device == "auto":
        device = "cuda" if here else "dry"
    where = "a GPU is here" if here else "no GPU here"
    return f"{where}: no_sync_stalls {_LOOKS[device]}"


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Name the checks that could not be made: nobody sees those of tests that pass."""
    modes: Counter[str] = Counter()
    not_made: list[str] = []
    for reports in list(terminalreporter.stats.values()):
        for report in reports:
            if getattr(report, "when", None) != "teardown":
                continue
            found = dict(report.user_properties)
            if mode := found.get("torchtraceap.mode"):
                modes[mode] += 1
            if checks := found.get("torchtraceap.not_checked"):
                not_made.append(f"  {report.nodeid}: {checks}")
    if (modes and config.get_verbosity() > 0) or not_made:
        terminalreporter.section("torchtraceap")
    if config.get_verbosity() > 0:
        for mode, number in modes.items():
            terminalreporter.line(f"{number} checked by: {mode}")
    if not_made:
        tests = "1 test" if len(not_made) == 1 else f"{len(not_made)} tests"
        terminalreporter.line(f"Checks that could not be made, of {tests}:")
        for line in not_made:
            terminalreporter.line(line)
