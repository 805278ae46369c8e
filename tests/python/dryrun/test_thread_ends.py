# SPDX-License-Identifier: BSD-3-Clause
"""test_thread_ends.py: threads that are older than a dry run or outlive it, and what is
left of it in threads."""

from __future__ import annotations

import _thread
import os
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch.utils.data import DataLoader

from torchtraceap.dryrun.device.border import Border
from torchtraceap.dryrun.dry_run import dry_run
from torchtraceap.dryrun.private_names import private
from torchtraceap.errors import DryRunError

if torch.cuda.is_available():
    pytest.skip("a GPU is here", allow_module_level=True)

_function_modes = private("torch.overrides._get_current_function_mode_stack")
_operator_modes = private("torch._C._len_torch_dispatch_stack")


class Worker:
    """A thread that runs functions; not a pool, which a dry run knows."""

    def __init__(self, name: str) -> None:
        self._work: queue.Queue[Any] = queue.Queue()
        self._done: queue.Queue[Any] = queue.Queue()
        self.thread = threading.Thread(target=self._run, name=name)
        self.thread.start()

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                self._done.put((work(), None))
            except Exception as error:
                self._done.put((None, error))

    def __call__(self, work: Callable[[], Any]) -> Any:
        self._work.put(work)
        result, error = self._done.get(timeout=60)
        if error is not None:
            raise error
        return result

    def end(self) -> None:
        self._work.put(None)
        self.thread.join(60)
        assert not self.thread.is_alive()


@pytest.mark.parametrize(
    "use",
    [
        torch.cuda.synchronize,
        torch.cuda.current_stream,
        lambda: torch.cuda.Event().record(),
        # What torch itself calls, once, where "cuda" is named.
        lambda: torch.cuda._lazy_init(),
    ],
)
def test_a_thread_of_before_that_asks_for_the_gpu_is_told(
    use: Callable[[], object],
) -> None:
    worker = Worker("old")
    try:
        with dry_run() as run:
            with pytest.raises(
                DryRunError, match=r"'old' uses the GPU.*before the dry"
            ):
                worker(use)
            assert not run.record.entries
        assert "'old' was refused the GPU" in run.summary().replace("\n", " ")
    finally:
        worker.end()


def test_a_thread_that_threading_did_not_start_is_told_so() -> None:
    told: queue.Queue[str] = queue.Queue()

    def use() -> None:
        try:
            torch.cuda.synchronize()
        except DryRunError as error:
            told.put(str(error))

    with dry_run():
        _thread.start_new_thread(use, ())
        message = told.get(timeout=60)
    assert "not by threading.Thread" in message
    assert "before the dry run" not in message


def begin_by_threading(work: Callable[[], object]) -> None:
    threading.Thread(target=work).start()


def begin_otherwise(work: Callable[[], object]) -> None:
    _thread.start_new_thread(work, ())


@pytest.mark.parametrize("begin", [begin_by_threading, begin_otherwise])
def test_a_thread_is_not_taken_for_one_of_before_that_had_its_ident(
    begin: Callable[[Callable[[], object]], None],
) -> None:
    known, seen, go_on = queue.Queue[int](), queue.Queue[Any](), threading.Event()
    may_end = threading.Event()

    def of_before() -> None:
        known.put(threading.current_thread().ident or 0)  # Now threading knows it.
        may_end.wait(60)

    def later() -> None:
        ident, message = threading.get_ident(), ""
        if ident == wanted:
            with pytest.raises(DryRunError) as error:
                torch.cuda.synchronize()
            message = str(error.value)
        seen.put(message)
        go_on.wait(60)  # Else the next one would have the same ident as this one.

    begin(of_before)
    wanted = known.get(timeout=60)
    try:
        with dry_run():
            may_end.set()
            for _ in range(200):
                _thread.start_new_thread(later, ())
                if message := seen.get(timeout=60):
                    break
            else:
                pytest.skip("idents of threads are not used again here")
    finally:
        go_on.set()
    assert "not by threading.Thread" in message
    assert "before the dry run" not in message


@pytest.mark.parametrize(
    "use",
    [
        lambda: torch.ones(3).to("cuda"),
        lambda: torch.ones(3, device="cuda"),
        lambda: torch.nn.Linear(2, 2).cuda(),
    ],
)
def test_a_thread_of_before_that_names_the_gpu_gets_an_error(
    use: Callable[[], object],
) -> None:
    worker = Worker("old")
    try:
        # Torch's own, once it has asked for the GPU in this process.
        told = r"'old' uses the GPU|not linked with|from the 'CUDA' backend"
        with dry_run() as run, pytest.raises((DryRunError, RuntimeError), match=told):
            worker(use)
        assert not run.record.entries
    finally:
        worker.end()


def left_in_thread() -> tuple[int, int, str]:
    """What a dry run leaves in a thread: modes, and a key of the dispatcher."""
    tensor = torch.ones(2, device="meta")
    return len(_function_modes()), _operator_modes(), tensor.device.type


def test_work_that_a_pool_of_before_gets_is_followed() -> None:
    with ThreadPoolExecutor(1, "old") as pool:
        before = pool.submit(left_in_thread).result()
        with dry_run() as run:
            data = torch.ones(3, device="cuda")
            assert pool.submit(lambda: (data * 2).sum().item()).result() == 6.0
        assert pool.submit(left_in_thread).result() == before == (0, 0, "meta")
        with dry_run() as other:
            pool.submit(lambda: data + 1).result()
    assert run.record.threads == other.record.threads == ["MainThread", "old_0"]
    assert len(run.syncs) == 1 and not run.record.notes
    assert [op.name for op in other.ops] == ["aten::add"]


def test_all_is_put_back_when_threads_were_followed() -> None:
    start, submit = threading.Thread.start, ThreadPoolExecutor.submit
    alive = threading.active_count()
    thread = threading.Thread(target=lambda: torch.ones(3, device="cuda").item)
    with dry_run():
        thread.start()
        with pytest.raises(RuntimeError, match="only be started once"):
            thread.start()
        thread.join()
    assert "run" not in vars(thread) and threading.active_count() == alive
    assert threading.Thread.start is start and ThreadPoolExecutor.submit is submit
    assert left_in_thread() == (0, 0, "meta")


def test_threads_that_stay_on_the_host_are_as_ever() -> None:
    done = []

    class Own(threading.Thread):
        def run(self) -> None:
            done.append(torch.ones(3).sum().item())

    with dry_run() as run:
        thread = Own()
        thread.start()
        thread.join()
    assert done == [3.0] and not run.record.notes and not run.ops
    assert run.record.threads == ["MainThread"]


def test_a_thread_that_outlives_the_run_is_told_when_it_uses_the_gpu() -> None:
    with dry_run() as run:
        worker = Worker("late")
        data = worker(lambda: torch.ones(3, device="cuda"))
        graph = worker(lambda: torch.ones(3, device="cuda", requires_grad=True) * 2)
    ops = len(run.ops)
    uses: list[Callable[[], Any]] = [
        lambda: data + 1,
        lambda: torch.cat([data, data]),
        lambda: torch.ones(3).to("cuda"),
        lambda: torch.ones(3).cuda(),
        lambda: torch.ones(3, device="cuda"),
        lambda: graph.backward(torch.ones(3)),
    ]
    try:
        for use in uses:
            with pytest.raises(DryRunError, match=r"'late' uses the GPU.*has ended"):
                worker(use)
        # What it does on the host, or on "meta", is its own.
        assert worker(lambda: torch.ones(3).sum().item()) == 3.0
        assert worker(lambda: (torch.ones(3, device="meta") * 2).device.type) == "meta"
        with dry_run() as other, pytest.raises(DryRunError, match="has ended"):
            worker(lambda: torch.ones(3, device="cuda"))
        assert not other.ops and len(run.ops) == ops
    finally:
        worker.end()


def test_the_end_waits_for_no_thread_and_loses_nothing_of_before() -> None:
    going, errors = threading.Event(), []

    def work() -> None:
        try:
            data = torch.ones(3, device="cuda")
            while True:
                data = data + 1
                going.set()
        except DryRunError as error:
            errors.append(str(error))

    with dry_run() as run:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        assert going.wait(60)
    ops = len(run.ops)
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert len(errors) == 3 and len(run.ops) == ops
    assert left_in_thread() == (0, 0, "meta")


def test_what_is_under_way_as_the_run_ends_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = Border._answer

    def ending(border: Border, func: Any, args: Any, kwargs: Any) -> Any:
        if func is torch.ones:
            run.end_record()
        return answer(border, func, args, kwargs)

    with dry_run() as run:
        monkeypatch.setattr(Border, "_answer", ending)
        with pytest.raises(DryRunError, match="has ended"):
            torch.ones(3, device="cuda")


ENDLESS = """
import queue, threading, torch
batches = queue.Queue(2)
def load():
    while True:
        batches.put(torch.ones(4, 4).pin_memory().to("cuda", non_blocking=True))
threading.Thread(target=load, name="prefetch").start()
model = torch.nn.Linear(4, 4).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
while True:
    model(batches.get()).sum().backward()
    optimizer.step()
"""


def test_a_script_that_is_ended_early_does_not_wait_for_its_threads(
    tmp_path: Path,
) -> None:
    script = tmp_path / "train.py"
    script.write_text(ENDLESS)
    command = [sys.executable, "-m", "torchtraceap", "dryrun", "--max-syncs", "0"]
    done = subprocess.run(
        [*command, script], capture_output=True, text=True, timeout=120
    )
    assert "3 steps." in done.stdout
    assert re.search(r"train\.py:8  .*Tensor\.cuda.*  ×2", done.stdout)
    assert done.returncode == 0, done.stderr
    # Where the end finds it: in a full queue, or at its next use of the device.
    waits = "threads that it left do not end: 'prefetch'" in done.stderr
    assert waits or "the thread 'prefetch' uses the GPU" in done.stderr


class Rows(torch.utils.data.Dataset[Any]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((3,), float(index))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")
def test_a_thread_may_read_a_loader_whose_workers_are_forked_meanwhile() -> None:
    stop = threading.Event()

    def busy() -> None:
        data = torch.ones(3, device="cuda")
        while not stop.is_set():
            data = data + 1

    def load() -> list[float]:
        loader = DataLoader(Rows(), 4, num_workers=2, pin_memory=True)
        moved = [batch.to("cuda", non_blocking=True) for batch in loader]
        return [float(batch.sum().item()) for batch in moved]

    with dry_run() as run, ThreadPoolExecutor(2) as pool:
        other = pool.submit(busy)
        try:
            assert pool.submit(load).result(120) == [18.0, 66.0]
        finally:
            stop.set()
        other.result(60)
    copies = [op.copy for op in run.ops if op.copy and op.copy.direction == "h2d"]
    assert [copy.pinned for copy in copies] == [True, True]
    assert [sync.api for sync in run.syncs] == ["aten::_local_scalar_dense"] * 2
