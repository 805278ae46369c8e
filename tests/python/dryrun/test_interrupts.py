# SPDX-License-Identifier: BSD-3-Clause
"""test_interrupts.py: KeyboardInterrupt reaches a block of the main thread, and nothing
after it."""

from __future__ import annotations

import signal
import sys
import threading
import time

import pytest

from torchtraceap.dryrun.script import interrupts
from torchtraceap.dryrun.script.interrupts import MainInterrupt


def test_one_that_a_finalizer_lost_comes_again() -> None:
    class Lost:
        def __del__(self) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), MainInterrupt().reaching():
        one = Lost()
        del one
        time.sleep(60)


def test_one_that_is_asked_for_comes_again_if_it_is_caught() -> None:
    main, caught = MainInterrupt(), 0
    with pytest.raises(KeyboardInterrupt), main.reaching():
        main.ask()
        while True:
            try:
                time.sleep(60)
            except KeyboardInterrupt:
                caught += 1
                if caught == 2:
                    raise
    assert caught == 2


def test_none_comes_after_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    send, begun = interrupts._interrupt_main, threading.Event()

    def send_late() -> None:
        begun.set()
        time.sleep(0.05)
        send()

    monkeypatch.setattr(interrupts, "_interrupt_main", send_late)
    main = MainInterrupt()
    with main.reaching():
        main.ask()
        assert begun.wait(60)  # It is about to be sent, and the block is left.
    time.sleep(0.2)  # Here it would be raised.


@pytest.mark.parametrize("former", [signal.SIG_IGN, signal.default_int_handler])
def test_handlers_are_put_back(former: signal.Handlers) -> None:
    own = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, former)
    try:
        with MainInterrupt().reaching():
            assert signal.getsignal(signal.SIGINT) is not former
        assert signal.getsignal(signal.SIGINT) is former
    finally:
        signal.signal(signal.SIGINT, own)
    assert sys.unraisablehook is not None


def test_ctrl_c_of_a_process_that_ignores_it() -> None:
    own = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with MainInterrupt().reaching():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, own)


def test_a_handler_of_the_programs_is_called() -> None:
    called = threading.Event()
    main = MainInterrupt()
    with main.reaching():
        own = signal.signal(signal.SIGINT, lambda *_: called.set())
        main.ask()
        assert called.wait(60)
    try:
        assert signal.getsignal(signal.SIGINT) is not own
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
