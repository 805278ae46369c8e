# SPDX-License-Identifier: BSD-3-Clause
"""Tensors on the device answer as CUDA's do, refuse what CUDA's refuse, and lie in
memory as CUDA's do."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.cuda import LongTensor  # bound before any run, as in old scripts

from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.estimate.launches import launches_of

from .shared_run import Seen

# In a run that they share.
pytestmark = pytest.mark.usefixtures("seen")

FORMER = [torch.cuda.HalfTensor][0]

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
    "new with sizes": lambda: torch.ones(1, device="cuda").new(2, 2),
    "new with data": lambda: torch.ones(1, device="cuda").new([4, 5]),
    "new with an array": lambda: torch.ones(1, device="cuda").new(np.ones(2)),
    "a type by name": lambda: torch.ones(2).type("torch.cuda.DoubleTensor"),
    "like": lambda: torch.zeros_like(torch.ones(2), device="cuda"),
    "a module's": lambda: nn.Linear(2, 2).cuda().weight,
    "a module made there": lambda: nn.Linear(2, 2, device="cuda").weight,
    "a result": lambda: nn.Linear(2, 2).cuda()(torch.ones(1, 2).cuda()),
    "current device": lambda: torch.ones(2, device=torch.cuda.current_device()),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_the_device_leads_there(way: str) -> None:
    tensor = WAYS[way]()
    assert tensor.device == torch.device("cuda:0") and tensor.device.type == "cuda"
    assert tensor.is_cuda and not tensor.is_meta and not tensor.is_cpu
    assert tensor.get_device() == 0
    assert "device='cuda:0'" in repr(tensor)
    assert tensor.cpu().device.type == "cpu"


def test_types_have_names() -> None:
    here = torch.ones(2, device="cuda")
    assert here.type() == torch.typename(here) == "torch.cuda.FloatTensor"
    assert here.type(here.type()) is here
    assert torch.ones(2).half().type(here.type()).dtype is torch.float
    assert here.type("torch.IntTensor").type() == "torch.IntTensor"
    assert isinstance(here.cpu(), torch.FloatTensor)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.set_default_tensor_type("torch.FloatTensor")
    with pytest.raises(ValueError, match="invalid type"):
        here.type("torch.cuda.FooTensor")


def test_there_is_one_gpu() -> None:
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.ones(2, device="cuda:1")
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.ones(2).to("cuda:3")


def test_tensors_of_both_sides_do_not_mix() -> None:
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


def test_what_cannot_be_read_cannot_be_read() -> None:
    tensor = torch.ones(2, device="cuda")
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor"):
        tensor.numpy()
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor"):
        np.asarray(tensor)
    with pytest.raises(DryRunError, match="__dlpack__"):
        torch.from_dlpack(tensor)


def test_what_is_read_is_like_the_original() -> None:
    tensor = torch.tensor([[1.5, 2.5]], device="cuda")
    assert tensor.tolist() == [[1.5, 2.5]]
    assert f"{tensor.sum():.1f}" == "4.0"
    assert f"{tensor}" == str(tensor) == "tensor([[1.5000, 2.5000]], device='cuda:0')"
    assert list(map(float, tensor[0])) == [1.5, 2.5]
    assert torch.equal(pickle.loads(pickle.dumps(tensor)), torch.tensor([[1.5, 2.5]]))


def test_an_unknown_operator_is_named() -> None:
    library = torch.library.Library("traceap_test", "FRAGMENT")
    library.define("mystery(Tensor x) -> Tensor")
    with pytest.raises(DryRunError, match=r"traceap_test::mystery cannot be run dry"):
        torch.ops.traceap_test.mystery(torch.ones(2, device="cuda"))


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda x: torch.cuda.FloatTensor(2, 3), r"torch\.tensor\(data, dtype="),
        (lambda x: isinstance(x, LongTensor), r"ask x\.is_cuda and x\.dtype"),
        (lambda x: x.type(torch.cuda.HalfTensor), r"x\.cuda\(\)\.float\(\)"),
        (lambda x: x.type(FORMER), r"x\.cuda\(\)\.float\(\)"),
        (lambda x: x.type("torch.cuda.sparse.HalfTensor"), "sparse tensors"),
        (
            lambda x: torch.set_default_tensor_type("torch.cuda.FloatTensor"),
            "set_default_device",
        ),
        (
            lambda x: torch.nested.nested_tensor([x, x], layout=torch.jagged),
            "nested tensors",
        ),
        (lambda x: torch.nested.nested_tensor([x, x], device="cuda"), "nested tensors"),
        (lambda x: torch.export.export(nn.Linear(2, 2).cuda(), (x,)), "torch.export"),
    ],
)
def test_what_cannot_run_dry_is_named(use: Callable[..., Any], message: str) -> None:
    x = torch.ones(2, 2, device="cuda")
    with pytest.raises(DryRunError, match=message):
        use(x)
    assert (x + 1).is_cuda  # and all goes on


def test_an_operator_with_a_shape_function_runs() -> None:
    @torch.library.custom_op("traceap_test::double", mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    double.register_fake(torch.empty_like)
    assert double(torch.ones(2, 3, device="cuda")).shape == (2, 3)


# --- Results of convolutions lie in memory as on a GPU --------------------------------

# Where the CPU has the same rule it is the reference.
_LAST, _LAST_3D = torch.channels_last, torch.channels_last_3d
Make = Callable[[str], nn.Module]


def _images(device: str) -> Tensor:
    return torch.randn(2, 8, 8, 8, device=device)


def _volumes(device: str) -> Tensor:
    return torch.randn(2, 4, 6, 6, 6, device=device)


LAYERS: dict[str, Make] = {
    "conv": lambda d: nn.Conv2d(8, 16, 3),
    "stride": lambda d: nn.Conv2d(8, 16, 3, stride=2, padding=1),
    "1x1": lambda d: nn.Conv2d(8, 16, 1),
    "depthwise": lambda d: nn.Conv2d(8, 8, 3, groups=8),
    "transposed": lambda d: nn.ConvTranspose2d(8, 16, 3),
    "network": lambda d: nn.Sequential(
        nn.Conv2d(8, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 8, 1),
        nn.AvgPool2d(2),
        nn.Conv2d(8, 8, 1),
    ),
}


def _strides(make: Make, device: str, of_input: bool, of_weight: bool) -> list[object]:
    """Return the strides of what a layer gives, and of the gradients."""
    layer = make(device).to(device)
    x = _images(device)
    if of_weight:
        layer = layer.to(memory_format=_LAST)
    if of_input:
        x = x.contiguous(memory_format=_LAST)
    x.requires_grad_()
    found: list[object] = []
    x.register_hook(lambda grad: found.append(grad.stride()))
    y = layer(x)
    y.backward(torch.ones_like(y))
    found += [p.grad.stride() for p in layer.parameters() if p.grad is not None]
    return [y.stride(), y.is_contiguous(memory_format=_LAST), *found]


@pytest.mark.parametrize("of_input", [False, True])
@pytest.mark.parametrize("of_weight", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_convolutions_keep_channels_last(
    name: str, of_weight: bool, of_input: bool, seen: Seen
) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)  # With one, the CPU takes convolutions with other rules.
    try:
        expected = _strides(LAYERS[name], "cpu", of_input, of_weight)
    finally:
        torch.set_num_threads(before)
    assert _strides(LAYERS[name], "cuda", of_input, of_weight) == expected


@pytest.mark.parametrize("kind", [nn.Conv3d, nn.ConvTranspose3d])
def test_volumes_too(kind: type[nn.Module], seen: Seen) -> None:
    layer = kind(4, 8, 3).cuda()
    assert layer(_volumes("cuda")).is_contiguous()
    x = _volumes("cuda").contiguous(memory_format=_LAST_3D)
    assert layer(x).is_contiguous(memory_format=_LAST_3D)


def test_doubles_are_contiguous_as_in_cudnn(seen: Seen) -> None:
    layer = nn.Conv2d(8, 16, 3).double().cuda().to(memory_format=_LAST)
    assert layer(_images("cuda").double()).is_contiguous()


def test_no_convolution_changes_a_layout_that_cudnn_likes(seen: Seen) -> None:
    def launched(memory_format: torch.memory_format) -> list[str]:
        since = seen.anew()
        model = nn.Sequential(*(nn.Conv2d(16, 16, 5) for _ in range(3)))
        model = model.cuda().half().to(memory_format=memory_format)
        x = torch.zeros(2, 16, 32, 32, device="cuda", dtype=torch.half)
        model(x.to(memory_format=memory_format))
        return [
            one.name
            for op in since.ops
            if op.name == "aten::convolution"
            for one in launches_of(op)
            if one.name.endswith("layout")
        ]

    assert launched(torch.channels_last) == []
    assert len(launched(torch.contiguous_format)) == 9
