# SPDX-License-Identifier: BSD-3-Clause
"""conftest.py: what tests of dry runs share."""

from __future__ import annotations

import importlib.util
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from .scripts import Write
from .told import Told

# All of it is about torch.
collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["test_*.py"]


@pytest.fixture
def told() -> Iterator[Told]:
    """What torch's stand-ins tell, while they stand in."""
    from torchtraceap.dryrun.facade.facade import Facade

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
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, all_loaded: None) -> Write:
    """Writes scripts into what is the working folder meanwhile."""
    monkeypatch.chdir(tmp_path)

    def write(code: str, name: str = "prog.py") -> str:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(code))
        return name

    return write
