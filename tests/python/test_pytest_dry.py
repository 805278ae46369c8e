# SPDX-License-Identifier: BSD-3-Clause
"""test_pytest_dry.py: `no_sync_stalls` where there is no GPU: what a dry run finds,
when it begins and ends, what it cannot run, and how it is asked for, as the tests of
somebody else's project see it (dry_tests.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from . import dry_tests, other_project  # noqa: E402
from .torch_forks import TorchForks  # noqa: E402

if torch.cuda.is_available():
    pytest.skip(
        "these are dry runs, for machines without a GPU", allow_module_level=True
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="module")
def ran(torch_forks: TorchForks, folder: Path) -> other_project.Ran:
    options = ["-rP", *dry_tests.OPTIONS]
    return other_project.run(torch_forks, folder, dry_tests.FILES, *options)


def test_what_becomes_of_each_test(ran: other_project.Ran) -> None:
    ran.is_as(dry_tests.ALL)


def test_what_is_said_of_all(ran: other_project.Ran) -> None:
    ran.says(
        "Checks that could not be made, of 9 tests:",
        "*test_cpu: no_sync_stalls assert_launches(13)",
    )
    for foreign in ("During handling", "not reached", "CUDA event"):
        assert foreign not in ran.text


# Beside where tests run, what becomes of those that cannot be run dry.
@pytest.mark.parametrize(
    ("options", "dry", "refused"),
    [
        (("--traceap-device=auto", "--traceap-unknown=skip"), True, "skipped"),
        (
            ("-otraceap_device=cpu", "--traceap-device=dry", "--traceap-unknown=pass"),
            True,
            "passed",
        ),
        (("--traceap-device=cpu",), False, ""),
        (("--traceap-device=cuda",), False, ""),
        (("-otraceap_device=cpu",), False, ""),
    ],
)
def test_what_the_command_line_says(
    torch_forks: TorchForks,
    ran: other_project.Ran,
    folder: Path,
    options: tuple[str, ...],
    dry: bool,
    refused: str,
) -> None:
    tests = ["test_where.py", "test_refused.py"][: 1 + bool(refused)]
    again = other_project.run(torch_forks, folder, {}, "-rP", *options, *tests)
    table = dry_tests.refused("skipped", refused) if refused else {}
    again.is_as({**dry_tests.where(dry), **table})
    if refused:
        again.says("Checks that could not be made, of 4 tests:")
    if "--traceap-device=cuda" in options:
        again.says("*Nothing was checked: there is no GPU here. *")


def test_a_wrong_device_is_named(torch_forks: TorchForks, tmp_path: Path) -> None:
    ended = other_project.start(torch_forks, tmp_path, {}, "-otraceap_device=gpu")
    assert ended.code == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: traceap_device: device must be one of " in ended.err
