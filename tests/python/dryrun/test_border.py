# SPDX-License-Identifier: BSD-3-Clause
"""Tensors on the device answer as CUDA's do, and refuse what CUDA's refuse."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import torchtraceap
from torchtraceap.errors import DryRunError


@pytest.fixture
def run() -> Iterator[torchtraceap.dryrun.dry_run.DryRun]:
    with torchtraceap.dry_run() as run:
        yield run


WAYS = {
    "cuda": lambda: torch.ones(2).cuda(),
    "cuda of an index": lambda: torch.ones(2).cuda(0),
    "to a name": lambda: torch.ones(2).to("cuda"),
    "to a name and index": lambda: torch.ones(2).to("cuda:0"),
    "to a device": lambda: torch.ones(2).to(torch.device("cuda")),
    "to a keyword": lambda: torch.ones(2).to(device="cuda", dtype=torch.float64),
    "to an index": lambda: torch.ones(2).to(0),
    "to another tensor": lambda: torch.ones(2).to(torch.ones(1, device="cuda")),
    "made there": lambda: torch.zeros(2, device="cuda"),
    "of data": lambda: torch.tensor([1.0], device="cuda"),
    "of data, at an index": lambda: torch.tensor([1.0], device=0),
    "as_tensor": lambda: torch.as_tensor(np.ones(2), device="cuda"),
    "new_zeros": lambda: torch.ones(1, device="cuda").new_zeros(3),
    "new_tensor": lambda: torch.ones(1, device="cuda").new_tensor([4.0]),
    "new_tensor where it is": lambda: torch.ones(1, device="cuda").new_tensor(
        [4.0], device=None
    ),
    "like": lambda: torch.zeros_like(torch.ones(2), device="cuda"),
    "a module's": lambda: nn.Linear(2, 2).cuda().weight,
    "a module made there": lambda: nn.Linear(2, 2, device="cuda").weight,
    "a result": lambda: nn.Linear(2, 2).cuda()(torch.ones(1, 2).cuda()),
    "current device": lambda: torch.ones(2, device=torch.cuda.current_device()),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_the_device_leads_there(run: object, way: str) -> None:
    tensor = WAYS[way]()
    assert tensor.device == torch.device("cuda:0") and tensor.device.type == "cuda"
    assert tensor.is_cuda and not tensor.is_meta and not tensor.is_cpu
    assert tensor.get_device() == 0
    assert "device='cuda:0'" in repr(tensor)
    assert tensor.cpu().device.type == "cpu"


def test_data_at_an_index_keeps_its_values(run: Any) -> None:
    assert torch.tensor([2.0, 3.0], device=0).tolist() == [2.0, 3.0]
    here = torch.ones(1, device="cuda")
    assert here.new_tensor([4.0], device=None).tolist() == [4.0]
    assert {sync.value for sync in run.syncs} <= {"none", "known"}


def test_a_default_device(run: object) -> None:
    with torch.device("cuda"):
        assert torch.ones(2).is_cuda and torch.tensor([1]).is_cuda
        assert nn.Linear(2, 2).weight.is_cuda
    torch.set_default_device("cuda")
    try:
        assert torch.ones(2).is_cuda and torch.tensor([1]).is_cuda
    finally:
        torch.set_default_device(None)
    assert torch.ones(2).device.type == "cpu"


def test_there_is_one_gpu(run: object) -> None:
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.ones(2, device="cuda:1")
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.ones(2).to("cuda:3")


def test_tensors_of_both_sides_do_not_mix(run: object) -> None:
    there, here = torch.ones(3, device="cuda"), torch.ones(3)
    for mix in (
        lambda: there + here,
        lambda: nn.Linear(3, 3).cuda()(here),
        lambda: torch.cat([there, here]),
        lambda: there.mul_(here),
    ):
        with pytest.raises(RuntimeError, match="found at least two devices"):
            mix()
    assert (there + torch.tensor(2.0)).tolist() == [3, 3, 3]  # one number may
    assert here.device.type == "cpu"


def test_what_cannot_be_read_cannot_be_read(run: object) -> None:
    tensor = torch.ones(2, device="cuda")
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor"):
        tensor.numpy()
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor"):
        np.asarray(tensor)
    with pytest.raises(DryRunError, match="__dlpack__"):
        torch.from_dlpack(tensor)


def test_what_is_read_is_like_the_original(run: object) -> None:
    tensor = torch.tensor([[1.5, 2.5]], device="cuda")
    assert tensor.tolist() == [[1.5, 2.5]]
    assert f"{tensor.sum():.1f}" == "4.0"
    assert f"{tensor}" == str(tensor) == "tensor([[1.5000, 2.5000]], device='cuda:0')"
    assert list(map(float, tensor[0])) == [1.5, 2.5]
    assert torch.equal(pickle.loads(pickle.dumps(tensor)), torch.tensor([[1.5, 2.5]]))


def test_a_state_can_be_saved_and_loaded(run: object) -> None:
    layer, file = nn.Linear(2, 2).cuda(), io.BytesIO()
    nn.init.ones_(layer.weight)
    torch.save(layer.state_dict(), file)
    file.seek(0)
    other = nn.Linear(2, 2).cuda()
    other.load_state_dict(torch.load(file, map_location="cpu"))
    assert other.weight.is_cuda and other.weight.tolist() == [[1, 1], [1, 1]]


def test_pinned_memory_is_told_apart(run: torchtraceap.dryrun.dry_run.DryRun) -> None:
    host = torch.ones(1000)
    pinned = host.pin_memory()
    assert pinned.is_pinned() and not host.is_pinned()
    pinned.to("cuda", non_blocking=True)
    host.to("cuda", non_blocking=True)
    assert not run.syncs
    pinned.to("cuda")
    host.to("cuda")
    assert len(run.syncs) == 2
    assert [op.copy and op.copy.pinned for op in run.ops] == [True, False, True, False]


def test_an_unknown_operator_is_named() -> None:
    library = torch.library.Library("traceap_test", "FRAGMENT")
    library.define("mystery(Tensor x) -> Tensor")
    with (
        torchtraceap.dry_run(),
        pytest.raises(DryRunError, match=r"traceap_test::mystery cannot be run dry"),
    ):
        torch.ops.traceap_test.mystery(torch.ones(2, device="cuda"))


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (
            lambda x: torch.nested.nested_tensor([x, x], layout=torch.jagged),
            "nested tensors",
        ),
        (lambda x: torch.nested.nested_tensor([x, x], device="cuda"), "nested tensors"),
        (lambda x: torch.export.export(nn.Linear(2, 2).cuda(), (x,)), "torch.export"),
    ],
)
def test_what_cannot_run_dry_is_named(use: Callable[..., Any], message: str) -> None:
    with torchtraceap.dry_run():
        x = torch.ones(2, 2, device="cuda")
        with pytest.raises(DryRunError, match=message):
            use(x)
        assert (x + 1).is_cuda  # and all goes on


def test_an_operator_with_a_shape_function_runs(run: object) -> None:
    @torch.library.custom_op("traceap_test::double", mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    double.register_fake(torch.empty_like)
    assert double(torch.ones(2, 3, device="cuda")).shape == (2, 3)


def test_nothing_of_it_is_left_behind() -> None:
    before = (
        torch.cuda.is_available(),
        torch.__future__.get_swap_module_params_on_conversion(),
    )
    with pytest.raises(ZeroDivisionError), torchtraceap.dry_run():
        nn.Linear(2, 2).cuda()
        1 / 0  # noqa: B018
    after = (
        torch.cuda.is_available(),
        torch.__future__.get_swap_module_params_on_conversion(),
    )
    assert before == after
    assert torch.overrides._get_current_function_mode() is None
    if not torch.cuda.is_available():
        with pytest.raises((RuntimeError, AssertionError)):
            torch.ones(2, device="cuda")


def test_modules_that_were_moved_are_back_on_the_host_as_they_were() -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    net.requires_grad_(True)[0].bias.requires_grad_(False)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    weight = net[0].weight
    optimizer = torch.optim.SGD(net.parameters(), lr=1)
    with pytest.raises(ZeroDivisionError), torchtraceap.dry_run():
        net.cuda()
        net(torch.ones(4, 3, device="cuda")).sum().backward()
        optimizer.step()
        assert net[0].weight is weight and weight.is_cuda
        1 / 0  # noqa: B018
    assert net[0].weight is weight
    assert not net[0].bias.requires_grad
    after = net.state_dict()
    assert before.keys() == after.keys()
    for name, value in after.items():
        assert torch.equal(value, before[name]), name
    net(torch.randn(4, 3)).pow(4).sum().backward()
    optimizer.step()
    assert not torch.equal(weight, before["0.weight"])
