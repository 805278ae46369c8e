# SPDX-License-Identifier: BSD-3-Clause
"""conftest.py: what tests of dry runs share."""

from __future__ import annotations

import importlib.util
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchtraceap_dryrun.script import child, ending

from .scripts import BEGIN, Dry, Write, run
from .shared_run import SHARED, Seen
from .told import Told

# All of it is about torch.
if importlib.util.find_spec("torch"):
    import torch

    HAS_GPU = torch.cuda.is_available()
else:
    HAS_GPU, collect_ignore_glob = False, ["test_*.py"]


@pytest.fixture(autouse=True)
def _no_gpu(request: pytest.FixtureRequest) -> None:
    if HAS_GPU and not request.node.get_closest_marker("cuda"):
        pytest.skip("a GPU is here: hide it with CUDA_VISIBLE_DEVICES=")


@pytest.fixture
def told() -> Iterator[Told]:
    """What torch's stand-ins tell, while they stand in."""
    from torchtraceap_dryrun.facade.facade import Facade

    host = Told()
    with Facade(host):
        yield host


@pytest.fixture(scope="session")
def all_loaded() -> None:
    """Load what a dry run loads, which takes most of the time of one in a child."""
    import torchtraceap

    with torchtraceap.dry_run():
        pass


@pytest.fixture
def script(here: Path, all_loaded: None) -> Write:
    """Writes scripts into what is the working folder meanwhile."""

    def write(code: str, name: str = "prog.py") -> str:
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text(textwrap.dedent(code))
        return name

    return write


@pytest.fixture
def dry(script: Write) -> Dry:
    """Runs what follows BEGIN."""
    return lambda end, **options: run(script(BEGIN + end), **options)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kill a process soon after it was asked to end. For programs that never end."""
    monkeypatch.setattr(child, "GRACE_S", 0.3)


@pytest.fixture
def endings(monkeypatch: pytest.MonkeyPatch) -> None:
    """For ENDING."""
    begin, found = ending.Ending.begin, []
    monkeypatch.setattr(ending, "endings", found, raising=False)
    monkeypatch.setattr(
        ending.Ending, "begin", lambda one, run: (found.append(one), begin(one, run))
    )


@pytest.fixture
def seen() -> Seen:
    """What the test makes in a dry run that it shares with its neighbors."""
    return SHARED["seen"].seen()


@pytest.fixture
def seen_all() -> Seen:
    """The same of a run in which all values are worked out."""
    return SHARED["seen_all"].seen()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    following = getattr(nextitem, "fixturenames", ())
    for fixture, shared in SHARED.items():
        if fixture not in following:
            shared.leave()


def pytest_sessionfinish() -> None:
    for shared in SHARED.values():  # With -x a test that others follow is the last.
        shared.leave()
