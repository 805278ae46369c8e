# SPDX-License-Identifier: BSD-3-Clause
"""pytest_plugin.py: the fixture `no_sync_stalls`. All it decides is in sync_check.py.

pytest loads this file at every start, so it imports nothing but pytest.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from torchtraceap.sync_check import SyncCheck


@pytest.fixture
def no_sync_stalls() -> Callable[..., AbstractContextManager[SyncCheck]]:
    """A context manager that fails the test if the code in it waits for the GPU.

    ``with no_sync_stalls(): train_step()``. Options: ``over_us``, ``max_count``,
    ``allow=[...]``, ``warmup``. Without a GPU it checks which operators would wait,
    and says so. See docs/pytest.md.
    """
    if importlib.util.find_spec("torch") is None:
        pytest.skip("no_sync_stalls needs PyTorch, and torch is not installed")
    return _no_sync_stalls


@contextmanager
def _no_sync_stalls(**options: Any) -> Iterator[SyncCheck]:
    from torchtraceap.sync_check import SyncCheck, SyncStalls

    check = SyncCheck(**options)
    failure = ""
    try:
        with check:
            yield check
    except SyncStalls as error:
        failure = f"no_sync_stalls: {error}"
    if failure:
        # The message names the lines; a traceback into this file would not help.
        pytest.fail(failure, pytrace=False)
