# SPDX-License-Identifier: BSD-3-Clause
"""test_interrupts.py: KeyboardInterrupt that Python loses comes again."""

from __future__ import annotations

import signal
import sys
import time

import pytest

from torchtraceap.dryrun.script.interrupts import not_lost


def test_one_that_a_finalizer_lost_comes_again() -> None:
    class Lost:
        def __del__(self) -> None:
            raise KeyboardInterrupt

    former = sys.unraisablehook
    # Whoever runs the tests may ignore it.
    own = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), not_lost():
            one = Lost()
            del one
            time.sleep(60)
    finally:
        signal.signal(signal.SIGINT, own)
    assert sys.unraisablehook is former
