# SPDX-License-Identifier: BSD-3-Clause
"""test_recording_lock.py: threads of a dry run do not wait for each other for ever, and
one that lives on holds nothing of the run."""

from __future__ import annotations

import gc
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from torchtraceap.dryrun import recording_lock
from torchtraceap.dryrun.dry_run import dry_run
from torchtraceap.dryrun.recording_lock import LOCK, RecordingLock
from torchtraceap.errors import DryRunError

if torch.cuda.is_available():
    pytest.skip("a GPU is here", allow_module_level=True)

WAIT_S = 20.0  # Only a test that fails waits so long.


@contextmanager
def beside(work: Callable[[], Any]) -> Iterator[threading.Thread]:
    thread = threading.Thread(target=work, name="other", daemon=True)
    thread.start()
    yield thread
    thread.join(WAIT_S)
    assert not thread.is_alive()


def test_what_shows_a_warning_may_wait_for_a_thread_that_uses_the_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As logging.captureWarnings, and a thread that logs a tensor, do.
    handler, holds, shows = threading.Lock(), threading.Event(), threading.Event()
    shown = []

    def show(message: Any, *_: Any) -> None:
        shows.set()
        shown.append((str(message), handler.acquire(timeout=WAIT_S)))

    def log() -> None:
        with handler:
            holds.set()
            shows.wait(WAIT_S)
            str(data.sum())

    with dry_run() as run, warnings.catch_warnings():
        data = torch.ones(4, device="cuda")
        out = torch.empty(2, device="cuda")
        warnings.simplefilter("always")
        # By the program, in the block.
        monkeypatch.setattr(warnings, "showwarning", show)
        with beside(log):
            assert holds.wait(WAIT_S)
            torch.add(data, data, out=out)
    ((text, got),) = shown
    assert "was resized" in text and got
    assert "aten::sum" in [op.name for op in run.ops if op.thread]


def test_warnings_are_shown_as_ever_once_an_operator_is_done() -> None:
    former = vars(warnings)["_showwarnmsg"]
    with dry_run():
        data, out = torch.ones(4, device="cuda"), torch.empty(2, device="cuda")
        with pytest.warns(UserWarning, match="was resized") as met:
            torch.add(data, data, out=out)
            assert len(met) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UserWarning, match="was resized"):
                torch.add(data, data, out=torch.empty(3, device="cuda"))
    assert vars(warnings)["_showwarnmsg"] is former


def test_no_garbage_is_collected_while_an_operator_is_worked_out() -> None:
    holders = []

    def note(phase: str, _: object) -> None:
        holders.append(LOCK._holder == threading.get_ident())

    before = gc.get_threshold()
    with dry_run():
        data = torch.ones(4, device="cuda")
        gc.callbacks.append(note)
        gc.set_threshold(1)
        try:
            for _ in range(10):
                data = data * 2
        finally:
            gc.set_threshold(*before)
            gc.callbacks.remove(note)
        assert gc.isenabled()
        gc.disable()
        data = data * 2
        assert not gc.isenabled()
        gc.enable()
    assert holders and not any(holders)


@pytest.mark.parametrize("guessed", [False, True], ids=["known", "guessed"])
def test_the_host_draws_no_numbers_while_an_operator_has_set_them_aside(
    guessed: bool,
) -> None:
    drawn = threading.Event()

    def draw() -> None:
        torch.zeros(3).normal_()
        drawn.set()

    with dry_run():
        if guessed:  # From then on operators of the host are looked at.
            torch.rand(100_000, device="cuda").cpu()
        with LOCK:
            thread = threading.Thread(target=draw, daemon=True)
            thread.start()
            assert not drawn.wait(0.3)
        thread.join(WAIT_S)
    assert drawn.is_set()


def test_a_thread_that_waits_too_long_is_told_for_whom(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recording_lock, "PATIENCE_S", 0.01)
    holds, enough = threading.Event(), threading.Event()

    def hold() -> None:
        with LOCK:
            holds.set()
            enough.wait(WAIT_S)

    with dry_run() as run:
        data = torch.ones(4, device="cuda")
        with beside(hold):
            try:
                assert holds.wait(WAIT_S)
                told = "'MainThread' has waited .* for the thread 'other' .* lock of"
                with pytest.raises(DryRunError, match=told):
                    _ = data + 1
            finally:
                enough.set()
        _ = data * 2
    assert [op.name for op in run.ops][1:] == ["aten::mul"]


def test_a_thread_waits_on_while_others_take_turns() -> None:
    lock = RecordingLock()
    tries = 0

    class Busy:
        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
            nonlocal tries
            tries += 1
            lock._turns += 1
            return tries > 3

        def release(self) -> None:
            pass

    lock._lock = Busy()
    with lock:
        assert tries == 4


def left_held() -> None:
    LOCK.__enter__()


def left_half_taken() -> None:
    LOCK._lock.acquire()


@pytest.mark.parametrize("interrupted", [left_held, left_half_taken])
def test_what_ctrl_c_left_taken_is_free_after_the_run(
    interrupted: Callable[[], None],
) -> None:
    with pytest.raises(KeyboardInterrupt), dry_run():
        with LOCK:
            pass
        interrupted()
        interrupted()
        raise KeyboardInterrupt
    assert gc.isenabled()
    got = []

    def take() -> None:
        if LOCK._lock.acquire(timeout=WAIT_S):
            got.append(LOCK._depth)
            LOCK._lock.release()

    with beside(take):
        pass
    assert got == [0]


def test_a_thread_that_waits_on_keeps_nothing_of_the_run() -> None:
    end, ready = threading.Event(), threading.Event()
    errors = []

    def wait() -> None:
        ready.set()
        end.wait(WAIT_S)
        for _ in range(2):
            try:
                torch.ones(3, device="cuda")
            except DryRunError as error:
                errors.append(str(error))

    def once() -> tuple[weakref.ref[Any], weakref.ref[Any]]:
        with dry_run() as run:
            for _ in range(10):
                torch.ones(4, device="cuda").add(1)
            thread.start()
            assert ready.wait(WAIT_S)
        return weakref.ref(run), weakref.ref(run._recorder)

    thread = threading.Thread(target=wait, name="late", daemon=True)
    run, recorder = once()
    gc.collect()
    try:
        assert run() is None and recorder() is None
    finally:
        end.set()
        thread.join(WAIT_S)
    assert len(errors) == 2 and all("'late' uses the GPU" in one for one in errors)
