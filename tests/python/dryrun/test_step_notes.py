# SPDX-License-Identifier: BSD-3-Clause
"""test_step_notes.py: what numbers by step hang on is said with them."""

from __future__ import annotations

import threading

import pytest

torch = pytest.importorskip("torch")
if torch.cuda.is_available():
    pytest.skip("a GPU is here", allow_module_level=True)

from torchtraceap.checking.sync_check import SyncStalls  # noqa: E402
from torchtraceap.dryrun.dry_run import DryRun, dry_run  # noqa: E402

_CHANCE = "of other threads counted for the step that was under way"
_AFTER = "in no step, as it came after the last step(): "


def launch(count: int) -> None:
    for _ in range(count):
        torch.ones(8, device="cuda")


def in_thread(count: int, *, waits: bool = False) -> None:
    def work() -> None:
        launch(count)
        if waits:
            torch.ones((), device="cuda").item()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def said(run: DryRun) -> str:
    notes = " ".join(run.to_dict()["notes"])
    summary = " ".join(run.summary().split())
    assert (_CHANCE in summary) == (_CHANCE in notes)
    assert (_AFTER in summary) == (_AFTER in notes)
    return notes


def test_operators_of_threads_are_counted_and_said() -> None:
    with dry_run() as run:
        for _ in range(2):
            launch(1)
            in_thread(5, waits=True)
            run.step()
    assert f"14 operators and 2 waits {_CHANCE}" in said(run)
    with pytest.raises(AssertionError, match=f"14 operators and 2 waits {_CHANCE}"):
        run.assert_launches(max_per_step=1)
    with pytest.raises(AssertionError, match=f"7 operators and 1 wait {_CHANCE}"):
        run.assert_launches(max_per_step=1, after_step=1)
    with pytest.raises(SyncStalls, match=f"14 operators and 2 waits {_CHANCE}"):
        run.assert_no_sync(max_per_step=0)


def test_nothing_is_said_of_one_thread_or_one_step() -> None:
    with dry_run() as run:
        launch(3)
        run.step()
        launch(3)
        run.step()
    assert _CHANCE not in said(run) and _AFTER not in said(run)
    with pytest.raises(AssertionError) as error:
        run.assert_launches(max_per_step=1)
    assert _CHANCE not in str(error.value)
    with dry_run() as run:  # Without steps there are no numbers by step.
        in_thread(3)
    assert _CHANCE not in said(run) and _AFTER not in said(run)


def test_what_is_in_no_step_is_said() -> None:
    with dry_run() as run:
        launch(1)
        run.step()
        launch(2)
        torch.ones((), device="cuda").item()
    assert f"{_AFTER}4 operators and 1 wait" in said(run)


def test_threads_of_before_are_told_where_there_were_some() -> None:
    def message() -> str:
        with dry_run() as run:
            torch.ones((), device="cuda").item()
            launch(1)
        with pytest.raises(SyncStalls) as error:
            run.assert_no_sync()
        return str(error.value)

    done = threading.Event()
    older = threading.Thread(target=done.wait, name="older")
    older.start()
    try:
        assert "; threads that were started before.\n" in message()
    finally:
        done.set()
        older.join()
    if threading.active_count() == 1:
        assert "of NCCL.\n" in message()
