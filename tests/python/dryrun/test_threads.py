# SPDX-License-Identifier: BSD-3-Clause
"""test_threads.py: threads that are started in a dry run, against the same work done
without them."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from torchtraceap.checking.sync_check import SyncStalls
from torchtraceap.dryrun.dry_run import DryRun, dry_run
from torchtraceap.dryrun.record import Op
from torchtraceap.errors import DryRunLimit

from .threaded_programs import content, plain, threaded, waits

if torch.cuda.is_available():
    pytest.skip("a GPU is here", allow_module_level=True)


def run_of(program: Callable[[], object], **options: Any) -> DryRun:
    with dry_run(**options) as run:
        program()
    return run


def ops_of(run: DryRun, thread: int) -> list[Op]:
    return [op for op in run.ops if op.thread == thread]


def test_a_program_with_threads_does_what_it_does_without() -> None:
    alone, together = run_of(plain), run_of(threaded)
    assert content(together.record) == content(alone.record)
    assert waits(together.record) == waits(alone.record)
    assert together.record.threads == ["MainThread", "prefetch", "log_0"]
    assert Counter(op.name for op in ops_of(together, 1)) == {
        "aten::_to_copy": 3,
        "aten::mul": 3,
    }
    assert {op.stream for op in ops_of(together, 1)} == {8}
    assert together.peak_bytes >= alone.peak_bytes > 0


def test_a_wait_says_where_and_in_which_thread() -> None:
    run = run_of(threaded)
    wait = next(one for one in run.waits if one.api == "aten::_local_scalar_dense")
    assert wait.threads == ("log_0",)
    assert wait.line is not None
    assert wait.line.function == "read" and wait.count == 3
    assert ".item() (aten::_local_scalar_dense) in thread 'log_0'  ×3" in run.summary()
    form = next(one for one in run.to_dict()["waits"] if one["api"] == wait.api)
    assert form["threads"] == ["log_0"]
    with pytest.raises(
        SyncStalls, match=r"_local_scalar_dense\) in thread 'log_0'  ×3"
    ):
        run.assert_no_sync()
    finding = next(
        one for one in run.report(host_us=500.0).findings if one.operator == wait.api
    )
    assert "waits for the GPU here in thread 'log_0' 3 times" in finding.message


def test_the_same_line_in_several_threads_is_one_place() -> None:
    def read(tensor: torch.Tensor) -> None:
        tensor.item()

    with dry_run() as run:
        value = torch.ones((), device="cuda")
        read(value)
        thread = threading.Thread(target=read, args=(value,), name="other")
        thread.start()
        thread.join()
    (wait,) = run.waits
    assert wait.count == 2 and wait.threads == ("MainThread", "other")
    with pytest.raises(SyncStalls, match="in threads the main one, 'other'  ×2"):
        run.assert_no_sync()


def test_one_worker_gives_the_same_record_again() -> None:
    def program() -> None:
        with ThreadPoolExecutor(1) as pool:
            for size in (3, 5000):
                data = torch.ones(size, device="cuda")
                pool.submit(lambda data=data: (data * 2).sum().item()).result()
                pool.submit(torch.rand, size, device="cuda").result().tolist()

    one, other = run_of(program).record, run_of(program).record
    assert one.entries == other.entries and one.syncs == other.syncs
    assert len(one.syncs) == 4


def test_what_has_no_line_of_its_own_is_where_it_was_handed_over() -> None:
    with dry_run() as run, ThreadPoolExecutor(1) as pool:
        x = torch.ones(3, device="cuda")
        pool.submit(x.cpu).result()  # by a pool
        thread = threading.Thread(target=x.tolist)
        thread.start()  # by a thread
        thread.join()
        pool.submit(lambda: pool.submit(x.sum().item)).result().result()  # one's own
    source = Path(__file__).read_text().splitlines()
    lines = [source[sync.line.line - 1] for sync in run.syncs if sync.line]
    assert [line.split("#")[-1].strip() for line in lines] == [
        "by a pool",
        "by a thread",
        "one's own",
    ]


@contextmanager
def often_switching() -> Iterator[None]:
    """Let another thread go on every 10 µs, so that no two lines belong together."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def test_no_operator_is_lost_or_twice_and_each_wait_is_at_its_own() -> None:
    start = threading.Barrier(4)

    def work(size: int) -> int:
        start.wait(60)
        data, read = torch.ones(size, device="cuda"), 0
        for _ in range(100):
            data = data + 1
            read += int(data.max())
        return read

    with dry_run() as run, often_switching(), ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, range(1, 5)))
        left = torch.cuda.memory_allocated()
    # 2 + 3 + ... + 101
    assert found == [5150] * 4 and left == 0 and run.peak_bytes <= 4 * 4 * 512
    wanted = [
        "aten::ones",
        *100 * ["aten::add", "aten::max", "aten::_local_scalar_dense"],
    ]
    entries = run.record.entries
    for number in range(1, 5):
        ops = ops_of(run, number)
        assert [op.name for op in ops if not op.is_view] == wanted
        assert len({op.outputs[0].shape for op in ops if op.name == "aten::add"}) == 1
        syncs = [sync for sync in run.syncs if sync.thread == number]
        assert [entries[sync.entry] for sync in syncs] == wanted_waits(ops)
        assert len(syncs) == 100


def wanted_waits(ops: list[Op]) -> list[Op]:
    waits = [op for op in ops if op.name == "aten::_local_scalar_dense"]
    assert all(op.copy for op in waits) and not any(
        op.copy for op in ops if op not in waits
    )
    return waits


def train(width: int) -> None:
    model = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))
    model.cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(torch.ones(2, width, device="cuda")).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def links(ops: list[Op], entries: list[Any]) -> list[Any]:
    place = {id(op): at for at, op in enumerate(ops)}
    return [
        (
            *(op.name, op.outputs, op.phase, op.module, str(op.line)),
            None if op.forward is None else place[id(entries[op.forward])],
        )
        for op in ops
    ]


def test_threads_that_train_at_once_keep_modules_autocast_and_graphs_apart() -> None:
    widths = (4, 5, 6)
    alone = {width: run_of(lambda width=width: train(width)) for width in widths}
    with dry_run() as run, often_switching():
        threads = [threading.Thread(target=train, args=(one,)) for one in widths]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    by_width = {}
    for number in range(1, 4):
        ops = ops_of(run, number)
        by_width[ops[0].outputs[0].shape[-1]] = links(ops, run.record.entries)
    for width in widths:
        wanted = links(alone[width].ops, alone[width].record.entries)
        assert by_width[width] == wanted
        assert any(row[-1] is not None for row in wanted)
        assert any(one.dtype == "bfloat16" for row in wanted for one in row[1])


def test_backward_of_another_threads_graph_has_the_right_lines_or_none() -> None:
    def forward(data: torch.Tensor) -> torch.Tensor:
        return (data * 2).exp().sum()

    def program(call: Callable[..., torch.Tensor]) -> None:
        data = torch.ones(4, device="cuda", requires_grad=True)
        mine = data.sin().cos().sum()  # It has the numbers of the other's nodes.
        call(forward, data).backward()
        mine.backward()

    def in_thread(function: Any, data: torch.Tensor) -> torch.Tensor:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(function, data).result()

    def backward(run: DryRun) -> list[Op]:
        return [op for op in run.ops if op.phase == "backward"]

    alone = backward(run_of(lambda: program(lambda function, data: function(data))))
    together = backward(run_of(lambda: program(in_thread)))
    assert [op.name for op in together] == [op.name for op in alone]
    for one, other in zip(alone, together, strict=True):
        assert other.line == (other.caller if other.forward is None else one.line)
    assert sum(op.forward is not None for op in together) >= 2


def test_callbacks_that_wait_for_a_thread_do_not_hang() -> None:
    lock = threading.Lock()

    def use() -> float:
        with lock:
            return float(torch.ones(3, device="cuda").sum())

    with dry_run(), ThreadPoolExecutor(1) as pool:
        seen = []

        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
                seen.append(pool.submit(use).result(60))
                return x * 2

            @staticmethod
            def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
                seen.append(pool.submit(use).result(60))
                return grad * 2

        data = torch.ones(3, device="cuda", requires_grad=True)
        data.register_hook(lambda grad: seen.append(pool.submit(use).result(60)))
        Double.apply(data).sum().backward()
        with lock:
            (data * 2).sum().item()
    assert seen == [3.0] * 3


def test_the_limit_ends_a_thread_and_then_the_program() -> None:
    def work() -> None:
        data = torch.ones(3, device="cuda")
        while True:
            data.add_(1)

    with dry_run(max_ops=50) as run:
        with ThreadPoolExecutor(1, "loops") as pool, pytest.raises(DryRunLimit):
            pool.submit(work).result()
        with pytest.raises(DryRunLimit):
            torch.ones(3, device="cuda")
    assert len(run.ops) == 50
    assert any("'loops_0' was ended by max_ops" in note for note in run.record.notes)


def test_transformers_loads_onto_the_gpu_in_a_pool(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    config = transformers.LlamaConfig(
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        vocab_size=64,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path)
    tokens = [[1, 2, 3]]

    def used(**options: Any) -> tuple[Any, Any, Any]:
        with dry_run() as run:
            load = transformers.LlamaForCausalLM.from_pretrained
            model = load(tmp_path, **options).to("cuda").eval()
            at = len(run.ops)
            with torch.no_grad():
                model(torch.tensor(tokens, device="cuda"))
            parameters = list(model.parameters())
            assert {str(one.device) for one in parameters} == {"cuda:0"}
        copies = [op for op in run.ops[:at] if op.copy is not None]
        pooled = Counter(op.outputs[0].shape for op in copies if op.thread)
        ran = [(op.name, op.outputs, op.module) for op in run.ops[at:]]
        assert not run.record.notes
        return pooled, ran, Counter(tuple(one.shape) for one in parameters)

    none, ran, _ = used()
    pooled, ran_too, shapes = used(device_map="cuda")
    assert not none and pooled == shapes and ran_too == ran


def test_the_line_of_a_thread_is_none_of_pythons_own() -> None:
    with dry_run() as run:
        thread = threading.Thread(target=torch.ones((), device="cuda").item)
        thread.start()
        thread.join()
    (wait,) = run.waits
    assert wait.line is not None and wait.line.file == __file__
    assert wait.head == "reading a value (aten::_local_scalar_dense)"
