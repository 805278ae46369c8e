# SPDX-License-Identifier: BSD-3-Clause
"""test_thread_links.py: what a dry run says of whose forward a backward operator is,
where threads and steps meet: a wrong link is worse than none.

Threads are new ones: autograd numbers the nodes of each from 0, so theirs are the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch import Tensor, nn

from torchtraceap.dryrun.dry_run import DryRun, dry_run
from torchtraceap.dryrun.record import Op

if torch.cuda.is_available():
    pytest.skip("a GPU is here", allow_module_level=True)


def in_thread(function: Callable[[], Any]) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def leaf() -> Tensor:
    return torch.ones(4, device="cuda", requires_grad=True)


def links(run: DryRun) -> list[tuple[str, str | None]]:
    """Per operator of backward that computes: its name, and what it is said to be."""
    entries, found = run.record.entries, []
    for op in run.ops:
        if op.phase == "backward" and not op.is_view and op.name != "aten::detach":
            of: Any = None if op.forward is None else entries[op.forward]
            found.append((op.name, of and f"{of.name} of thread {of.thread}"))
    return found


def backward_of(end: Tensor) -> None:
    torch.autograd.backward([end], [torch.ones(4, device="cuda")])


def grad_of(end: Tensor) -> None:
    inputs = end.grad_fn.next_functions[0][0].variable  # type: ignore[union-attr]
    torch.autograd.grad(end, [inputs], grad_outputs=[torch.ones(4, device="cuda")])


@pytest.mark.parametrize("begin", [backward_of, grad_of])
@pytest.mark.parametrize("steps", [0, 1])
def test_a_graph_of_another_thread_is_never_linked_to_what_has_its_numbers(
    begin: Callable[[Tensor], None], steps: int
) -> None:
    def run_with(other: Callable[[Tensor], Tensor]) -> list[tuple[str, str | None]]:
        def work() -> None:
            kept = other(leaf())
            begin(graph)
            del kept

        with dry_run() as run:
            graph: Tensor = in_thread(lambda: leaf() * 3)
            for _ in range(steps):
                run.step()
            in_thread(work)
        return links(run)

    # The operator of another name cannot be it; of the same, nobody knows. What is of
    # a step of before has no line, as ever, but may still be what it is.
    right = None if steps else "aten::mul of thread 1"
    assert run_with(torch.exp) == [("aten::mul", right)]
    assert run_with(lambda data: data * 2) == [("aten::mul", None)]


def test_the_name_has_to_be_the_same_not_only_in_it() -> None:
    def square(data: Tensor) -> Tensor:
        return data.expand(4, 4)

    def work() -> None:
        kept = torch.mm(square(leaf()), ones)
        torch.autograd.backward([graph], [ones])
        del kept

    with dry_run() as run:
        ones = torch.ones(4, 4, device="cuda")
        graph = in_thread(lambda: torch.addmm(ones, square(leaf()), ones))
        in_thread(work)
    said = {of for name, of in links(run) if name == "aten::mm"}
    assert said == {"aten::addmm of thread 1"}


def test_a_second_derivative_is_no_forward_operator_of_another_thread() -> None:
    def twice() -> Tensor:
        data = leaf()
        (slope,) = torch.autograd.grad(data.exp().sum(), [data], create_graph=True)
        return slope

    def work() -> None:
        data = leaf()
        kept = [data.exp(), data.sum(), data * 2, data * 2, data * 2, data * 2]
        slope.sum().backward()
        del kept

    with dry_run() as run:
        slope = in_thread(twice)
        in_thread(work)
    said = [of for _, of in links(run)]
    assert all(of is None or of.endswith(" 1") or "sum" in of for of in said)


class Layers(nn.Module):
    """Such as have nodes of other names than what runs: see forward_ops.py."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        self.end = nn.Linear(4, 5)

    def forward(self, images: Tensor) -> Tensor:
        norm: Tensor = self.norm(self.conv(images))
        target = torch.zeros(len(images), dtype=torch.long, device="cuda")
        return nn.functional.cross_entropy(self.end(norm.mean((2, 3))), target)


def test_threads_that_train_the_same_are_linked_as_one_is_alone() -> None:
    def train() -> None:
        Layers().cuda()(torch.ones(2, 3, 8, 8, device="cuda")).backward()

    def said(run: DryRun, thread: int) -> list[Any]:
        mine = [op for op in run.ops if op.thread == thread and op.phase == "backward"]
        names = [op.forward and run.record.entries[op.forward] for op in mine]
        return [
            (op.name, isinstance(of, Op) and of.name)
            for op, of in zip(mine, names, strict=True)
        ]

    with dry_run() as alone:
        in_thread(train)
    with dry_run() as run:
        in_thread(train)
        in_thread(train)
    wanted = said(alone, 1)
    assert said(run, 1) == said(run, 2) == wanted
    of = dict(wanted)
    assert of["aten::native_batch_norm_backward"] == "aten::_native_batch_norm_legit"
    assert of["aten::nll_loss_backward"] == "aten::nll_loss_forward"
