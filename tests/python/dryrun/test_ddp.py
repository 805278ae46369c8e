# SPDX-License-Identifier: BSD-3-Clause
"""Distributed training in one process: what is sent, when, on which stream.

Expected is what torch documents of DistributedDataParallel (its design note: buckets in
reverse order, of 25 MiB, the first of 1 MiB, rebuilt after the first backward in the
order of gradients) and what its reducer does, worked out by hand for these sizes.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

import torchtraceap
from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.estimate.kernel_time import kernel_us
from torchtraceap_dryrun.estimate.launches import launches_of
from torchtraceap_dryrun.record import DEFAULT_STREAM, Call, Op

WIDTH = 512
LAYER = WIDTH * WIDTH + WIDTH  # numbers of a layer: 1.002 MiB


class Net(nn.Module):
    def __init__(self, spare: bool = False) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.spare = nn.Linear(3, 3) if spare else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def _steps(count: int, spare: bool = False, **options: Any) -> Any:
    with torchtraceap.dry_run() as run:
        dist.init_process_group("nccl", rank=0, world_size=4)
        net = DistributedDataParallel(Net(spare).to("cuda"), **options)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x = torch.randn(8, WIDTH, device="cuda")
        run.step()
        for _ in range(count):
            net(x).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            run.step()
    return run


def _reduced(run: Any, step: int) -> list[Op]:
    return [op for op in run.ops if op.step == step and op.name == "c10d::allreduce_"]


def _sizes(run: Any, step: int) -> list[int]:
    return [op.outputs[0].numel for op in _reduced(run, step)]


def test_buckets() -> None:
    run = _steps(3)
    # One for all, until the order of gradients is known.
    assert _sizes(run, 1) == [3 * LAYER]
    # The last layer alone fills the first bucket; 25 MiB hold the rest.
    assert _sizes(run, 2) == _sizes(run, 3) == [LAYER, 2 * LAYER]
    assert _sizes(_steps(2, bucket_cap_mb=1), 2) == [LAYER, LAYER, LAYER]


def _begin_of_optimizer(entries: list[Any]) -> int:
    return next(
        at
        for at, one in enumerate(entries)
        if isinstance(one, Op) and one.phase == "optimizer"
    )


@pytest.mark.parametrize("as_view", [False, True])
def test_sums_run_beside_backward(as_view: bool) -> None:
    run = _steps(3, gradient_as_bucket_view=as_view)
    first, second = _reduced(run, 3)
    assert first.stream == second.stream != DEFAULT_STREAM
    assert {first.phase, second.phase} == {"backward"}
    entries = run.record.entries
    step = [one for one in entries if one.step == 3]
    at = step.index(first)
    gemms = [one for one in step[at:] if isinstance(one, Op) and one.name == "aten::mm"]
    # After the gradients of the last layer: two of the middle one, one of the first.
    assert [one.phase for one in gemms] == ["backward"] * 3
    waits = [one for one in step[:at] if isinstance(one, Call)]
    assert [one.kind for one in waits] == ["event_record", "stream_wait"]
    assert waits[-1].stream == first.stream
    # Six gradients go into buckets; they come out again unless they are views.
    into = [one for one in step if isinstance(one, Op) and one.overload == "out"]
    assert sum(one.name == "aten::mul" for one in into) == 6
    out = [one for one in step if isinstance(one, Op) and one.name == "aten::copy_"]
    assert len(out) == (0 if as_view else 6)
    assert all(one.phase == "backward" for one in out)
    # The optimizer's work comes after both are waited for.
    back = [
        one
        for one in step[: _begin_of_optimizer(step)]
        if isinstance(one, Call)
        and one.kind == "stream_wait"
        and one.stream == DEFAULT_STREAM
    ]
    assert len(back) == 2
    assert not [sync for sync in run.syncs if sync.step == 3]


def test_no_sync_and_unused_parameters() -> None:
    run = _steps(2, spare=True, find_unused_parameters=True)
    # Never rebuilt: the spare layer (12 numbers) keeps its place at the front, and
    # the bucket of what was defined first is the last.
    assert sum(_sizes(run, 2)[:-1]) == 3 * LAYER + 12
    assert _sizes(run, 2)[-1] == 8  # which parameters were used: one number for each
    # Was the spare one used elsewhere? The host asks.
    assert [sync.phase for sync in run.syncs if sync.step == 2] == ["backward"]
    with torchtraceap.dry_run() as run:
        dist.init_process_group("nccl")
        net = DistributedDataParallel(Net().to("cuda"))
        with net.no_sync():
            net(torch.randn(2, WIDTH, device="cuda")).sum().backward()
        assert not _reduced(run, 0)
        net(torch.randn(2, WIDTH, device="cuda")).sum().backward()
        assert len(_reduced(run, 0)) == 1


def test_a_module_without_gradients_is_refused() -> None:
    with torchtraceap.dry_run():
        dist.init_process_group("nccl")
        frozen = Net().to("cuda").requires_grad_(False)
        with pytest.raises(RuntimeError, match="any parameter that requires"):
            DistributedDataParallel(frozen)


def test_parameters_and_buffers_are_sent() -> None:
    with torchtraceap.dry_run() as run:
        dist.init_process_group("nccl")
        net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).to("cuda")
        net = DistributedDataParallel(net, device_ids=[0])
        sent = [op for op in run.ops if op.name == "c10d::broadcast_"]
        # Shapes, then 28 parameters with 8 running statistics, then one counter.
        assert [op.outputs[0].numel for op in sent[1:]] == [36, 1]
        assert [op.outputs[0].dtype for op in sent[1:]] == ["float32", "int64"]
        before = len(run.ops)
        net(torch.randn(2, 4))  # of the host: DDP moves it
        names = [op.name for op in run.ops[before:]]
        assert names.count("c10d::broadcast_") == 2
        assert names.count("aten::_to_copy") == 1


def test_hooks_and_static_graphs() -> None:
    with torchtraceap.dry_run() as run:
        dist.init_process_group("nccl")
        net = DistributedDataParallel(Net().to("cuda"))
        net.register_comm_hook(None, default_hooks.fp16_compress_hook)
        net(torch.randn(2, WIDTH, device="cuda")).sum().backward()
        assert _reduced(run, 0)[0].outputs[0].dtype == "float16"
    run = _steps(2, static_graph=True)
    assert _sizes(run, 1) == [3 * LAYER]
    assert _reduced(run, 1)[0].phase == "backward"
    assert _sizes(run, 2) == [LAYER, 2 * LAYER]


def test_collectives() -> None:
    with torchtraceap.dry_run() as run:
        dist.init_process_group("nccl")
        size = dist.get_world_size()
        assert (dist.get_rank(), dist.get_backend()) == (0, "nccl")
        one = torch.ones(4, device="cuda")
        dist.all_reduce(one)
        work = dist.all_reduce(one, async_op=True)
        work.wait()
        parts = [torch.empty(4, device="cuda") for _ in range(size)]
        dist.all_gather(parts, one)
        dist.broadcast(one, 0)
        dist.all_reduce(one, group=dist.new_group([0, 1]))
        found = [None] * size
        dist.all_gather_object(found, {"loss": 1.5})
        assert found == [{"loss": 1.5}] * size
        before = len(run.syncs)
        dist.barrier(device_ids=[0])
        assert [sync.api for sync in run.syncs[before:]] == [
            "torch.distributed.barrier"
        ]
    sent = [op for op in run.ops if op.name.startswith("c10d::")]
    assert [op.name.split("::")[1] for op in sent[:5]] == [
        "allreduce_", "allreduce_", "allgather_", "broadcast_", "allreduce_",
    ]  # fmt: skip
    # Since torch 2.8 only what is asked to run beside has a stream of its own.
    beside = [op.stream != DEFAULT_STREAM for op in sent[:5]]
    assert beside == [False, True, False, False, False]
    assert sent[2].kwargs["world_size"] == size
    assert sent[4].kwargs["world_size"] == 2


def test_the_environment_and_the_program_say_how_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "16")
    monkeypatch.setenv("RANK", "3")
    with torchtraceap.dry_run():
        dist.init_process_group("nccl")
        assert (dist.get_world_size(), dist.get_rank()) == (16, 3)
        dist.destroy_process_group()
        dist.init_process_group(world_size=2, rank=1, init_method="env://")
        assert (dist.get_world_size(), dist.get_rank()) == (2, 1)


def test_nothing_stays_behind() -> None:
    before = sys.excepthook, dist.Reducer, set(dist.Backend.backend_list)
    with pytest.raises(ValueError, match="of the program"), torchtraceap.dry_run():
        dist.init_process_group("nccl")
        raise ValueError("of the program")
    assert not dist.is_initialized()
    assert before == (sys.excepthook, dist.Reducer, set(dist.Backend.backend_list))


def test_data_parallel_with_one_gpu() -> None:
    with torchtraceap.dry_run() as run:
        net = nn.DataParallel(nn.Linear(4, 4).to("cuda"))
        net(torch.randn(2, 4, device="cuda")).sum().backward()
        assert net.module.weight.grad.is_cuda
        before = len(run.ops)
        net(torch.randn(2, 4))
        assert run.ops[before].copy.direction == "h2d"


def test_collectives_are_estimated_as_nccls() -> None:
    with torchtraceap.dry_run() as run:
        dist.init_process_group("nccl", rank=0, world_size=4)
        dist.all_reduce(torch.ones(1 << 24, device="cuda"))
    (reduced,) = [op for op in run.ops if op.name == "c10d::allreduce_"]
    (kernel,) = launches_of(reduced)
    assert kernel.name == "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
    assert kernel.work == "collective" and not kernel.by_default
    # 64 MiB, 2 * 3/4 of it over each link, at 100 GB/s.
    assert kernel_us(kernel, run.gpu) == pytest.approx(1016.6, rel=0.01)
    assert any("only this one is there" in note for note in run.record.notes)
    assert b"ncclDevKernel_AllReduce" in run.trace()


def test_what_is_not_followed_says_so() -> None:
    from torch.nn.parallel.distributed import _MixedPrecision

    half = torch.float16
    sparse = nn.Sequential(nn.Embedding(4, 3, sparse=True), nn.Linear(3, 2))
    with torchtraceap.dry_run():
        dist.init_process_group("nccl", rank=0, world_size=4)
        with pytest.raises(DryRunError, match="sparse gradients"):
            DistributedDataParallel(sparse.to("cuda"))
        with pytest.raises(DryRunError, match=r"mixed_precision=\.\.\."):
            DistributedDataParallel(
                nn.Linear(2, 2).to("cuda"),
                mixed_precision=_MixedPrecision(half, half, half),
            )
        net = DistributedDataParallel(nn.Linear(2, 2).to("cuda"))
        with pytest.raises(DryRunError, match=r"join\(\)"), net.join():
            net(torch.ones(1, 2, device="cuda"))
        with net.join(enable=False):
            net(torch.ones(1, 2, device="cuda")).sum().backward()
