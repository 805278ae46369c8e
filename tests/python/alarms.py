# SPDX-License-Identifier: BSD-3-Clause
"""alarms.py: how tests send signals: a timer that fires again and again, for who has to
hear of Ctrl-C, and a fixture for tests that send SIGINT itself.

Python calls a handler when the core lets it, or once for all when the core is done. So
alarms are heard several times only by who listens meanwhile.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

SEVERAL = 2  # One is heard at the end of any call.


class Ended(Exception):
    """What a handler raises here: KeyboardInterrupt would end pytest."""


@contextmanager
def alarms(handler: Callable[[], None]) -> Iterator[None]:
    """Call `handler` twenty times a second, as far as Python gets to it."""
    before = signal.signal(signal.SIGALRM, lambda *_: handler())
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def heard(call: Callable[[], object]) -> int:
    """Return how many signals were heard while the core was at work."""
    count = 0

    def hear() -> None:
        nonlocal count
        count += 1

    with alarms(hear):
        count = 0  # What came before does not count, on a busy machine.
        call()
    return count


def end() -> None:
    """Be a handler that ends what is under way."""
    raise Ended


@pytest.fixture
def ctrl_c_is_heard() -> Iterator[None]:
    """Let SIGINT interrupt this process, and those that it starts.

    A shell lets its background jobs ignore it, their children inherit that, and Python
    installs its handler only where it is not ignored.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
