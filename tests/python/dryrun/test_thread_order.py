# SPDX-License-Identifier: BSD-3-Clause
"""test_thread_order.py: what a dry run knows of which entries come before which, of
other threads; and nothing of those of other runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("torch")

import torch
from torch import Tensor

from torchtraceap.dryrun.dry_run import DryRun, dry_run
from torchtraceap.dryrun.host_threads import Handed, HostThreads
from torchtraceap.dryrun.record import Record

if torch.cuda.is_available():
    pytest.skip("a GPU is here", allow_module_level=True)


def test_a_tensor_of_another_run_brings_no_numbers_of_it() -> None:
    kept: list[Tensor] = []

    def run_of(count: int) -> DryRun:
        def work() -> None:
            for _ in range(count):
                torch.ones(4, device="cuda") * 2
            if not kept:
                kept.append(torch.ones(4, device="cuda"))
            kept[0].sum()

        with dry_run() as run:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            (kept[0] + 1).sum()
        return run

    run_of(50)
    other = run_of(1)
    entries = other.record.entries
    assert all(before < at for at, e in enumerate(entries) for before in e.after)
    assert other.trace() and other.report()


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1),
        lambda x: torch._foreach_add_([x], 1),
        lambda x: torch.add(torch.ones_like(x), 1, out=x),
        lambda x: x.view(2, 2).zero_(),
    ],
    ids=["in place", "of a list", "out", "a view"],
)
def test_who_reads_comes_after_who_wrote(write: Callable[[Tensor], object]) -> None:
    with dry_run() as run:
        x = torch.ones(4, device="cuda")
        thread = threading.Thread(target=write, args=[x])
        thread.start()
        thread.join()
        by = len(run.record.entries) - 1
        x.sum()
    assert run.record.entries[-1].after == (by,)


def test_work_that_is_handed_on_and_on_carries_one_entry_per_thread() -> None:
    carried: list[int] = []
    done = threading.Event()

    with dry_run() as run, ThreadPoolExecutor(1) as pool:

        def poll(left: int) -> None:
            carried.append(len(run._recorder.threads.hand_over(None).after))
            if left:
                pool.submit(poll, left - 1)
            else:
                done.set()

        torch.ones(2, device="cuda")
        pool.submit(lambda: (torch.ones(2, device="cuda"), pool.submit(poll, 50)))
        assert done.wait(60)
    assert max(carried) <= len(run.record.threads) == 2


def test_what_the_start_of_a_thread_had_to_say_is_added_to() -> None:
    threads = HostThreads(Record(), lambda _: None)
    threads.enter(Handed({1: 7, 2: 3}))
    threads.take(Handed({2: 9, 3: 4}))
    threads.take(Handed({2: 5}))
    assert threads.hand_over(None).after == {1: 7, 2: 9, 3: 4}
    assert threads.entered(10, ()) == (4, 7, 9)
