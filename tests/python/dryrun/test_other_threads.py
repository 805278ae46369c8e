# SPDX-License-Identifier: BSD-3-Clause
"""Threads beside a dry run, which follows the one that entered it, and data loaders."""

from __future__ import annotations

import _thread
import importlib
import queue
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

import torchtraceap
from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.dry_run import dry_run
from torchtraceap_dryrun.private_names import private

from .loader_data import Batch, Numbers
from .shared_run import Seen

_operator_modes = private("torch._C._len_torch_dispatch_stack")

SENTENCE = (
    r"^the thread '.*' uses the GPU at .*test_other_threads\.py:\d+, but a dry run "
    r"follows only the thread that entered it, because .*: for the dry run, do that in "
    r"the one thread$"
)


def in_thread(work: Callable[[], Any], start: Any = None) -> Any:
    """Do work in a thread of its own, and return what it returns, or raise it."""
    done: queue.Queue[Any] = queue.Queue()

    def run() -> None:
        try:
            done.put(work())
        except Exception as error:
            done.put(error)

    if start is None:
        threading.Thread(target=run, name="other").start()
    else:
        start(run)
    found = done.get(timeout=60)
    if isinstance(found, Exception):
        raise found
    return found


def test_each_use_of_the_device_is_refused_in_one_sentence() -> None:
    with dry_run() as run:
        data = torch.ones(3, device="cuda", requires_grad=True)
        graph = (data * 2).sum()
        before = len(run.record.entries)
        uses = (
            lambda: data + 1,
            lambda: torch.cat([torch.ones(1), data]),
            graph.backward,
            graph.item,
            data.cpu,
            lambda: torch.ones(3).to("cuda"),
            lambda: torch.ones(3, device="cuda"),
            lambda: torch.nn.Linear(2, 2).cuda(),
            lambda: torch.ones(3).pin_memory(),
            torch.cuda.synchronize,
            lambda: torch.cuda.Event().record(),
        )
        for use in uses:
            with pytest.raises(DryRunError, match=SENTENCE):
                in_thread(use)
        # Once in a process, torch asks in C whether there is a GPU, and then no more.
        with torch._C.DisableTorchFunction(), pytest.raises(RuntimeError):
            torch.ones(3).to("cuda")
        for use in uses:
            with pytest.raises(DryRunError, match=SENTENCE):
                in_thread(use)
        assert len(run.record.entries) == before and not run.syncs
        graph.backward()
        assert len(run.record.entries) > before
    assert "'other' was refused the GPU" in " ".join(run.summary().split())


def test_whatever_began_the_thread() -> None:
    older: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=lambda: older.get()(), name="old").start()
    with ThreadPoolExecutor(1) as pool_of_before, dry_run():
        pool_of_before.submit(int).result()
        data = torch.ones(3, device="cuda")
        for pool in (pool_of_before, ThreadPoolExecutor(1)):
            with pytest.raises(DryRunError, match="uses the GPU, but"):
                pool.submit(data.sum).result()
            assert pool.submit(torch.ones(3).sum).result() == 3.0
        for start in (older.put, lambda work: _thread.start_new_thread(work, ())):
            with pytest.raises(DryRunError, match=SENTENCE):
                in_thread(torch.cuda.synchronize, start)


class Own(threading.Thread):
    """One with a run() of its own."""

    def __init__(self, work: Callable[[], object]) -> None:
        super().__init__()
        self._work = work

    def run(self) -> None:
        self._work()


def test_a_thread_that_stays_on_the_host_is_not_disturbed() -> None:
    def work() -> Any:
        torch.manual_seed(3)
        layer = torch.nn.Linear(3, 2)
        optimizer = torch.optim.AdamW(layer.parameters())
        for batch in DataLoader(Numbers(), batch_size=4, num_workers=1):
            layer(batch["image"]).square().sum().backward()
            optimizer.step()
        meta = torch.nn.Linear(2, 2, device="meta")
        assert meta(torch.ones(1, 2, device="meta")).is_meta
        return [one.detach().clone() for one in layer.parameters()]

    expected = work()
    with dry_run() as run:
        model = torch.nn.Linear(4, 2).cuda()
        found = in_thread(work, lambda run: Own(run).start())
        model(torch.ones(1, 4, device="cuda"))
    torch.testing.assert_close(found, expected)
    assert run.ops and not run.record.notes


def test_threads_and_pools_are_as_before_when_it_is_over() -> None:
    start, submit = threading.Thread.start, ThreadPoolExecutor.submit
    more, done = queue.Queue[Any](), queue.Queue[Any]()

    def live_on() -> None:
        while work := more.get(timeout=60):
            done.put(work())

    with dry_run(), ThreadPoolExecutor(1) as pool:
        thread = threading.Thread(target=live_on)
        thread.start()
        with pytest.raises(RuntimeError, match="only be started once"):
            thread.start()
        pool.submit(int).result()
        data = torch.ones(3, device="cuda")
    more.put(lambda: ((torch.ones(3) * 2).sum().item(), (data * 2).device.type))
    assert done.get(timeout=60) == (6.0, "meta")
    more.put(None)
    thread.join()
    assert "run" not in vars(thread)
    assert threading.Thread.start is start and ThreadPoolExecutor.submit is submit
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()  # This begins its thread.
        with dry_run():
            pool.submit(int).result()
        assert pool.submit(_operator_modes).result() == 0 == _operator_modes()


def test_transformers_loads_onto_the_gpu_without_a_pool(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    config = transformers.LlamaConfig(
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        vocab_size=64,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path)
    with dry_run() as run:
        load = transformers.LlamaForCausalLM.from_pretrained
        model = load(tmp_path, device_map="cuda")
        shapes = Counter(tuple(one.shape) for one in model.parameters())
        copies = Counter(op.outputs[0].shape for op in run.ops if op.copy is not None)
        assert {str(one.device) for one in model.parameters()} == {"cuda:0"}
    assert shapes <= copies and not run.record.notes


# --- Data loaders ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_workers": 2},
        {"num_workers": 2, "persistent_workers": True},
        {
            "num_workers": 1,
            "multiprocessing_context": "spawn",
            "persistent_workers": True,  # as to start one takes seconds
        },
    ],
)
def test_pinned_batches_do_not_wait(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, seen: Seen
) -> None:
    # Under a name by which a process of its own can import it.
    monkeypatch.syspath_prepend(Path(__file__).parent)
    numbers = importlib.import_module("loader_data").Numbers
    loader = DataLoader(numbers(), batch_size=4, pin_memory=True, **options)
    rows = []
    for _ in range(2):
        for batch in loader:
            assert batch["image"].is_pinned()
            assert all(one.is_pinned() for one in batch["pair"])
            batch["image"].to("cuda", non_blocking=True)
            rows.append(batch["image"][:, 0].tolist())
            assert batch["name"] == [str(int(one)) for one in rows[-1]]
    assert rows == [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]] * 2
    assert loader.pin_memory is True
    del loader
    copies = [(op.copy.pinned, op.copy.blocking) for op in seen.ops]
    assert copies == [(True, False)] * 4
    assert not seen.syncs


def test_batches_of_a_type_of_their_own(seen: Seen) -> None:
    loader = DataLoader(
        Numbers(), batch_size=4, num_workers=1, pin_memory=True, collate_fn=Batch
    )
    assert [batch.images.is_pinned() for batch in loader] == [True, True]


def test_pinned_memory_that_the_program_makes() -> None:
    with torchtraceap.dry_run() as run:
        host = torch.empty(4, pin_memory=True)
        assert host.is_pinned()
        assert torch.tensor([1.0], pin_memory=True).is_pinned()
        assert not torch.empty(4).is_pinned()
        host.copy_(torch.randn(4, device="cuda"), non_blocking=True)
    assert not run.syncs
    copy = run.ops[-1].copy
    assert (copy.direction, copy.pinned, copy.blocking) == ("d2h", True, False)
    with pytest.raises(RuntimeError):
        torch.empty(4, pin_memory=True)


def test_workers_do_not_record(seen: Seen) -> None:
    class OnDevice(Numbers):
        def __getitem__(self, index: int) -> dict[str, Any]:
            assert torch.utils.data.get_worker_info() is not None
            try:
                torch.zeros(3).to("cuda")
            except (AssertionError, RuntimeError):  # as in a forked process with CUDA
                return super().__getitem__(index)
            raise ValueError("a worker has a GPU")

    assert len([*DataLoader(OnDevice(), batch_size=4, num_workers=1)]) == 2
    assert not seen.ops
