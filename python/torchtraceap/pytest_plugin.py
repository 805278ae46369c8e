# SPDX-License-Identifier: BSD-3-Clause
"""pytest_plugin.py: the fixtures `no_sync_stalls` and `trace_check`, the marker
`no_sync_stalls`, and what pytest's reports show of them. See docs/pytest.md.

pytest loads this file at every start, so it imports little but pytest. checking/
decides what to check. Checks do not raise: they are noted in the test's log, and the
test fails with all of them at the end of its phase (checking/pytest_hooks.py).
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, cast

import pytest

from torchtraceap.base.errors import DryRunError
from torchtraceap.checking import pytest_hooks
from torchtraceap.checking.device import (
    DEVICES,
    NAME,
    begin_stage,
    end_stage,
    has_torch,
    resolved,
)
from torchtraceap.checking.pytest_hooks import (
    ENDS,
    LOG,
    log_of,
    not_checked,
    settle,
)

if TYPE_CHECKING:
    from torchtraceap.checking.sync_block import NoSyncStalls, SyncBlock
    from torchtraceap.checking.trace_check import TraceChecks
    from torchtraceap_dryrun.dry_run import DryRun

_OURS = os.path.join(os.path.dirname(__file__), "")
_HELP = """\
no_sync_stalls(over_us=50, max_count=0, max_per_step=None, allow=[], warmup=0, \
device="auto", unknown="fail"): fail the test if its body waits for the GPU \
(torchtraceap)"""
_RAN_DRY = (
    "This test ran dry, as there is no GPU here: torch.cuda had one, and on it only "
    "small\ntensors have values, some of them guessed. To run it on the CPU: "
    '--traceap-device=cpu,\nor device="cpu" in the test\'s marker no_sync_stalls.'
)
# Watches the body of a marked test.
_WHOLE: pytest.StashKey[SyncBlock | None] = pytest.StashKey()
# The dry run that a test is in.
_RUN: pytest.StashKey[DryRun | None] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("torchtraceap")
    group.addoption(
        "--traceap-unknown",
        choices=("fail", "skip", "pass"),
        help="what becomes of a test one of whose checks cannot be made, where it does "
        "not say so itself. Default: it fails; skipped for want of a GPU",
    )
    device = (
        "what no_sync_stalls checks on, where a test does not say so itself: cuda "
        "(real waits), dry (as if on a GPU), cpu (all tensors are taken to be on a "
        "GPU), auto (cuda where there is a GPU, else dry). Default: auto"
    )
    group.addoption("--traceap-device", choices=DEVICES, help=device)
    parser.addini("traceap_device", device, default="auto")


def pytest_configure(config: pytest.Config) -> None:
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
    return NoSyncStalls(log_of(item), not watched and _asks_for_fixture(item))


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
    if not has_torch():
        pytest.skip(f"{what} needs PyTorch, and torch is not installed")


# --- Tests whose body is watched as a whole -------------------------------------------


def _options_of(item: pytest.Item) -> dict[str, Any] | None:
    """Return the options with which all of a test's body is watched; None: it is not.

    Raises TypeError if the marker has options without names.
    """
    mark = _closest_mark(item)
    if mark is not None:
        if mark.args:
            raise TypeError("options need their names, such as max_count=1")
        return dict(mark.kwargs)
    # A fixture that is only named would watch nothing, without any notice.
    used = [name for mark in item.iter_markers("usefixtures") for name in mark.args]
    used += item.config.getini("usefixtures")
    return {} if NAME in used else None


def _closest_mark(item: pytest.Item) -> pytest.Mark | None:
    """Return the marker that counts. One of a parameter is the closest there is, though
    pytest puts it after the function's own."""
    call = getattr(item, "callspec", None)
    for mark in getattr(call, "marks", ()):
        if mark.name == NAME:
            return cast(pytest.Mark, getattr(mark, "mark", mark))
    return item.get_closest_marker(NAME)


def _asks_for_fixture(item: pytest.Item) -> bool:
    """Tell whether the test itself, not another fixture, asks for the fixture."""
    function = getattr(item, "function", None)
    return function is not None and NAME in inspect.signature(function).parameters


def _is_unittest(item: pytest.Item) -> bool:
    """Tell whether a test is a method of a unittest.TestCase."""
    import unittest

    cls = getattr(item, "cls", None)
    return isinstance(cls, type) and issubclass(cls, unittest.TestCase)


# --- The phases of a test ----------------------------------------------------------


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Begin to run a checked test dry, before its first fixture and before other
    plugins prepare it; prepare to watch a marked one; fail what a fixture found."""
    options = None
    # It may run again.
    item.stash[LOG] = item.stash[_WHOLE] = item.stash[_RUN] = item.stash[ENDS] = None
    try:
        options = _options_of(item)
        if options is not None:
            _need_torch(NAME)
            from torchtraceap.checking.sync_block import SyncBlock

            item.stash[_WHOLE] = SyncBlock(log_of(item), **options)
    except (TypeError, ValueError) as error:
        wrong = f"marker {NAME}: {error}"
        item.stash[ENDS] = pytest.fail.Exception(wrong, pytrace=False)
    except pytest.skip.Exception as error:
        item.stash[ENDS] = error
    if item.stash[ENDS] is None:
        _begin_dry_run(item, options)
    refused, result = None, None
    try:
        result = yield
    except DryRunError as error:
        refused = not_checked(item, error)
    settle(item)
    if refused:
        pytest.skip(refused)  # there is no test without its fixtures
    return result


def _begin_dry_run(item: pytest.Item, options: dict[str, Any] | None) -> None:
    """Begin it if the test has checks, and they are made dry."""
    names = getattr(item, "fixturenames", ())
    if (options is None and NAME not in names) or not has_torch():
        return
    device = (options or {}).get("device") or pytest_hooks.device_of(item.config)
    if resolved(device) == "dry":
        item.stash[_RUN] = begin_stage()
        # Should pytest be interrupted, no teardown follows.
        item.config.add_cleanup(end_stage)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Watch the body of a marked test; fail what the test found."""
    whole = item.stash.get(_WHOLE, None)
    result, refused = None, None
    try:
        if whole is None:
            result = yield
        elif _is_unittest(item):
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
    if (log := item.stash.get(LOG, None)) and not refused:
        log.give_up_waiting()
    settle(item)
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """End the dry run after the last fixture; fail what one found after the test."""
    try:
        result = yield
    finally:
        if item.stash.get(_RUN, None) is not None:
            end_stage()
            item.stash[_RUN] = None  # Nor is its record needed any more.
    settle(item)
    return result


# --- Reports -----------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the section and the properties, which pytest-xdist transfers; note on
    the test's own errors that it ran dry."""
    log = item.stash.get(LOG, None)
    if log and log.outcomes:
        from torchtraceap.checking.outcome import PREFIX, properties

        given = item.user_properties
        kept = [one for one in given if not str(one[0]).startswith(PREFIX)]
        item.user_properties[:] = kept + properties(log.outcomes)
    report = yield
    if report.skipped and isinstance(report.longrepr, tuple):
        path, _, reason = report.longrepr
        if path.startswith(_OURS):  # Useless; the test's own place helps.
            where, line = item.reportinfo()[:2]
            report.longrepr = (str(where), (line or 0) + 1, reason)
    if log and (new := log.take()):
        from torchtraceap.checking.outcome import section_text

        verbosity = getattr(item.config.option, "verbose", 0)
        report.sections.append(("torchtraceap", section_text(new, verbosity)))
    run = item.stash.get(_RUN, None)
    own = call.excinfo and not call.excinfo.errisinstance(pytest.fail.Exception)
    if report.failed and own and run is not None and run.record.entries:
        report.sections.append(("torchtraceap", _RAN_DRY))
    return report
