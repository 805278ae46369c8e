# SPDX-License-Identifier: BSD-3-Clause
"""pytest_log.py: where the log of a test's checks is, and how the test fails by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torchtraceap.errors import DryRunError, DryRunUnderWay

if TYPE_CHECKING:
    from torchtraceap.checking.check_log import CheckLog

LOG: pytest.StashKey[CheckLog | None] = pytest.StashKey()


def log_of(item: pytest.Item) -> CheckLog:
    """Return the log of a test, which is made when it is first asked for."""
    from torchtraceap.checking.check_log import CheckLog
    from torchtraceap.checking.pytest_dry import device_of

    log = item.stash[LOG]
    if log is None:
        config = item.config
        log = CheckLog(config.getoption("--traceap-unknown"), device_of(config))
        item.stash[LOG] = log
    return log


def not_checked(item: pytest.Item, error: DryRunError) -> str | None:
    """Note that a test cannot be run dry, and return that; None: it is not run dry."""
    from torchtraceap.checking import dry_stage

    log = item.stash[LOG]
    if log is None or error not in log.explained:
        if dry_stage.current() is None or isinstance(error, DryRunUnderWay):
            return None
        from torchtraceap.checking.outcome import of_dry_run_error

        log = log_of(item)
        log.add(of_dry_run_error(error, log.unknown or "fail"))
    return log.outcomes[-1].headline


def settle(item: pytest.Item) -> None:
    """Fail, or skip, a test whose own code has not failed, if its checks have."""
    log = item.stash.get(LOG, None)
    if log is None:
        return
    from torchtraceap.checking.outcome import failure_text, skip_text

    if fails := [one for one in log.new if one.fails]:
        # The message names the lines; a traceback into this file would not help.
        pytest.fail(failure_text(fails), pytrace=False)
    if skips := [one for one in log.new if one.skips]:
        pytest.skip(skip_text(skips))
