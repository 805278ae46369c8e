# SPDX-License-Identifier: BSD-3-Clause
"""pytest_hooks.py: keeps a test's log and fails a test whose checks failed; handles
fixtures that outlive a dry run; and adds to pytest's summary of all tests.

A plugin of its own, which pytest_plugin.py registers. Loads no torch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from torchtraceap.base.errors import DryRunError, DryRunUnderWay
from torchtraceap.base.units import counted
from torchtraceap.checking.device import Device, checked_device, stage, suspended

if TYPE_CHECKING:
    from torchtraceap.checking.outcome import CheckLog

LOG: pytest.StashKey[CheckLog | None] = pytest.StashKey()
#: The error that ends a test before its fixtures: an invalid marker, a missing torch.
ENDS: pytest.StashKey[BaseException | None] = pytest.StashKey()


def log_of(item: pytest.Item) -> CheckLog:
    """Return the log of a test, which is made when it is first asked for."""
    from torchtraceap.checking.outcome import CheckLog

    log = item.stash[LOG]
    if log is None:
        config = item.config
        log = CheckLog(config.getoption("--traceap-unknown"), device_of(config))
        item.stash[LOG] = log
    return log


def not_checked(item: pytest.Item, error: DryRunError) -> str:
    """Note that a test cannot be run dry, and return that.

    Raises the error again if it is the test's own: the test is not run dry, or begins
    a dry run itself.
    """
    log = item.stash[LOG]
    if log is None or error not in log.explained:
        if stage() is None or isinstance(error, DryRunUnderWay):
            raise error
        from torchtraceap.checking.outcome import of_verdict
        from torchtraceap.waits.verdict import decide
        from torchtraceap_dryrun.observation import cannot_be_run

        log = log_of(item)
        log.outcomes.append(
            of_verdict(decide(cannot_be_run(error)), log.unknown or "fail")
        )
    return log.outcomes[-1].headline


def settle(item: pytest.Item) -> None:
    """Fail, or skip, a test whose own code has not failed, if its checks have."""
    log = item.stash.get(LOG, None)
    if log is None:
        return
    from torchtraceap.checking.outcome import failure_text

    if fails := [one for one in log.new if one.fails]:
        # The message names the lines; a traceback into this file would not help.
        pytest.fail(failure_text(fails), pytrace=False)
    if skips := [one for one in log.new if one.skips]:
        pytest.skip("; ".join(f"{one.headline} [{one.fixture}]" for one in skips))


def device_of(config: pytest.Config) -> Device:
    """Return what checks are made on that do not say so themselves."""
    given = config.getoption("--traceap-device") or config.getini("traceap_device")
    try:
        return checked_device(given) or "auto"
    except ValueError as error:
        raise pytest.UsageError(f"traceap_device: {error}") from None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """End a test that cannot be run: here, within what other plugins put around the
    phase, which is not theirs to undo if it never began (pytest's own log fails)."""
    if ends := item.stash.get(ENDS, None):
        raise ends


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """Make, and end, fixtures that outlive the test as without the dry run."""
    if fixturedef.scope == "function":
        return (yield)
    request.addfinalizer(_resume)  # the last of its finalizers to run
    try:
        with suspended():
            return (yield)
    finally:
        request.addfinalizer(_suspend)  # the first


def _suspend() -> None:
    if (run := stage()) is not None:
        run.suspend()


def _resume() -> None:
    if (run := stage()) is not None:
        run.resume()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Name the checks that could not be made: passing tests would not show theirs."""
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
    verbose = config.get_verbosity() > 0
    if not_made or (modes and verbose):
        terminalreporter.section("torchtraceap")
    if verbose:
        for mode, number in modes.items():
            terminalreporter.line(f"{number} checked by: {mode}")
    if not_made:
        tests = counted(len(not_made), "test")
        terminalreporter.line(f"Checks that could not be made, of {tests}:")
        for line in not_made:
            terminalreporter.line(line)
