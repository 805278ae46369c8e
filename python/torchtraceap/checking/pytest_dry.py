# SPDX-License-Identifier: BSD-3-Clause
"""pytest_dry.py: the dry run that a test with `no_sync_stalls` is in where there is no
GPU, from before its fixtures to after them. A plugin of its own; pytest_plugin.py
registers it. Loads torch for such tests only.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Generator
from typing import Any

import pytest

from torchtraceap.checking import dry_stage, whole_body
from torchtraceap.checking.sync_recorder import DEVICES, Device, checked_device

_STAGE: pytest.StashKey[dry_stage.DryStage] = pytest.StashKey()
_ON_ERROR = (
    "This test ran dry, as there is no GPU here: torch.cuda had one, and of what is on "
    "it only\nsmall tensors have values, some of them guessed. To run it on the CPU: "
    '--traceap-device=cpu,\nor device="cpu" in the test\'s marker no_sync_stalls.'
)


def add_options(parser: pytest.Parser) -> None:
    """Add the option, and its like in the configuration."""
    what = (
        "what no_sync_stalls checks on, where a test does not say so itself: cuda "
        "(real waits), dry (as if on a GPU), cpu (all tensors are taken to be on a "
        "GPU), auto (cuda where there is a GPU, else dry, or cpu for code that puts "
        "nothing on the dry run's GPU). Default: auto"
    )
    group = parser.getgroup("torchtraceap")
    group.addoption("--traceap-device", choices=DEVICES, help=what)
    parser.addini("traceap_device", what, default="auto")


def device_of(config: pytest.Config) -> Device:
    """Return what checks are made on that do not say so themselves."""
    given = config.getoption("--traceap-device") or config.getini("traceap_device")
    try:
        return checked_device(given) or "auto"
    except ValueError as error:
        raise pytest.UsageError(f"traceap_device: {error}") from None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Begin before the first fixture, and before other plugins prepare the test."""
    if _is_dry(item):
        item.stash[_STAGE] = stage = dry_stage.DryStage()
        # Should pytest be interrupted, no teardown follows.
        item.config.add_cleanup(stage.end)
        stage.begin()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """End after the last fixture."""
    try:
        return (yield)
    finally:
        if (stage := item.stash.get(_STAGE, None)) is not None:
            stage.end()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """Make, and end, fixtures that outlive the test as without the dry run."""
    if fixturedef.scope == "function":
        return (yield)
    request.addfinalizer(_resume)  # the last of its finalizers to run
    try:
        with dry_stage.suspended():
            return (yield)
    finally:
        request.addfinalizer(_suspend)  # the first


def _suspend() -> None:
    if (stage := dry_stage.current()) is not None:
        stage.suspend()


def _resume() -> None:
    if (stage := dry_stage.current()) is not None:
        stage.resume()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say of an error of the test's own that it ran dry."""
    report = yield
    stage = item.stash.get(_STAGE, None)
    own = call.excinfo is not None and not call.excinfo.errisinstance(
        pytest.fail.Exception
    )
    if report.failed and own and stage is not None and stage.used:
        report.sections.append(("torchtraceap", _ON_ERROR))
    return report


def _is_dry(item: pytest.Item) -> bool:
    """Tell whether a test is to be in a dry run. Loads torch if it may be."""
    try:
        options = whole_body.options_of(item)
    except TypeError:
        return False  # The plugin says what is wrong.
    names = getattr(item, "fixturenames", ())
    if options is None and whole_body.NAME not in names:
        return False
    if importlib.util.find_spec("torch") is None:
        return False
    try:
        device = checked_device((options or {}).get("device"))
    except ValueError:
        return False
    return dry_stage.wants_stage(device or device_of(item.config))
