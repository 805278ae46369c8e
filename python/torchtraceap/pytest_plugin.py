# SPDX-License-Identifier: BSD-3-Clause
"""pytest_plugin.py: the fixtures `no_sync_stalls` and `trace_check`, the marker
`no_sync_stalls`, and what pytest's reports show of them. See docs/pytest.md.

pytest loads this file at every start, so it imports little but pytest. What is checked
is decided in checking/; checks do not raise, but are noted in the test's log, and the
test fails with all of them when the phase it is in is over (checking/pytest_hooks.py).
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from torchtraceap.base.errors import DryRunError
from torchtraceap.checking import whole_body
from torchtraceap.checking.pytest_hooks import LOG, log_of, not_checked, settle

if TYPE_CHECKING:
    from torchtraceap.checking.sync_block import NoSyncStalls, SyncBlock
    from torchtraceap.checking.trace_check import TraceChecks

_OURS = os.path.join(os.path.dirname(__file__), "")
_HELP = """\
no_sync_stalls(over_us=50, max_count=0, max_per_step=None, allow=[], warmup=0, \
device="auto", unknown="fail"): fail the test if its body waits for the GPU \
(torchtraceap)"""
# Watches the body of a marked test.
_WHOLE: pytest.StashKey[SyncBlock | None] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    parser.getgroup("torchtraceap").addoption(
        "--traceap-unknown",
        choices=("fail", "skip", "pass"),
        help="what becomes of a test one of whose checks cannot be made, where it does "
        "not say so itself. Default: it fails; skipped for want of a GPU",
    )
    from torchtraceap.checking import pytest_hooks

    pytest_hooks.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, the dry run and what is said of all tests together."""
    from torchtraceap.checking import pytest_hooks

    config.addinivalue_line("markers", _HELP)
    pytest_hooks.device_of(config)  # a wrong one is named at once
    config.pluginmanager.register(pytest_hooks, "torchtraceap-hooks")


@pytest.fixture
def no_sync_stalls(request: pytest.FixtureRequest) -> NoSyncStalls:
    """A context manager that fails the test if the code in it waits for the GPU.

    ``with no_sync_stalls(): train_step()``. Options: ``over_us``, ``max_count``,
    ``max_per_step``, ``allow=[...]``, ``warmup``, ``device``. The marker of the same
    name does so for the whole body of a test. Without a GPU the test is run dry, as if
    on one: it checks which operators would wait, and says so.
    """
    _need_torch("no_sync_stalls")
    from torchtraceap.checking.sync_block import NoSyncStalls

    item = request.node
    watched = item.stash[_WHOLE] is not None
    return NoSyncStalls(log_of(item), not watched and whole_body.asks_for_fixture(item))


@pytest.fixture
def trace_check(request: pytest.FixtureRequest) -> TraceChecks:
    """Fail the test if a trace, stored or recorded here, breaks a limit.

    ``check = trace_check("trace.json.gz")`` or ``with trace_check() as check: step()``,
    then ``check.no("graph_break")``, ``check.min_busy(0.8)``,
    ``check.budget("budget.toml")`` and so on. All that fail are reported.
    """
    from torchtraceap.checking.trace_check import TraceChecks

    return TraceChecks(log_of(request.node), lambda: _need_torch("trace_check()"))


def _need_torch(what: str) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip(f"{what} needs PyTorch, and torch is not installed")


def _block(item: pytest.Item, options: dict[str, Any]) -> SyncBlock:
    from torchtraceap.checking.sync_block import SyncBlock

    return SyncBlock(log_of(item), **options)


# --- The phases of a test ----------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Prepare to watch a marked test; fail what a fixture found."""
    wrong = ""
    item.stash[LOG] = item.stash[_WHOLE] = None  # tests may be run again
    try:
        options = whole_body.options_of(item)
        if options is not None:
            _need_torch(whole_body.NAME)
            item.stash[_WHOLE] = _block(item, options)
    except (TypeError, ValueError) as error:
        wrong = f"marker {whole_body.NAME}: {error}"
    if wrong:
        pytest.fail(wrong, pytrace=False)
    refused, result = None, None
    try:
        result = yield
    except DryRunError as error:
        refused = not_checked(item, error)
        if refused is None:
            raise
    settle(item)
    if refused:
        pytest.skip(refused)  # there is no test without its fixtures
    return result


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Watch the body of a marked test; fail what the test found."""
    whole = item.stash.get(_WHOLE, None)
    result, refused = None, None
    try:
        if whole is None:
            result = yield
        elif whole_body.is_unittest(item):
            from torchtraceap.checking.sync_block import watch_method

            watch_method(item, whole)
            result = yield
        else:
            with whole:
                result = yield
    except pytest.skip.Exception:
        settle(item)  # skipped later, which does not undo a failure
        raise
    except DryRunError as error:
        refused = not_checked(item, error)
        if refused is None:
            raise
    if (log := item.stash.get(LOG, None)) and not refused:
        log.give_up_waiting()
    settle(item)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail what a fixture found after the test."""
    result = yield
    settle(item)
    return result


# --- Reports -----------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the section and the properties, which pytest-xdist carries over."""
    log = item.stash.get(LOG, None)
    if log and log.outcomes:
        from torchtraceap.checking.outcome import PREFIX, properties

        kept = [
            one for one in item.user_properties if not str(one[0]).startswith(PREFIX)
        ]
        item.user_properties[:] = kept + properties(log.outcomes)
    report = yield
    if report.skipped and isinstance(report.longrepr, tuple):
        path, _, reason = report.longrepr
        if path.startswith(_OURS):  # Of no use to anybody; the test's own place is.
            where, line = item.reportinfo()[:2]
            report.longrepr = (str(where), (line or 0) + 1, reason)
    if log and (new := log.take()):
        from torchtraceap.checking.outcome import section_text

        verbosity = getattr(item.config.option, "verbose", 0)
        report.sections.append(("torchtraceap", section_text(new, verbosity)))
    return report
