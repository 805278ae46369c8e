# SPDX-License-Identifier: BSD-3-Clause
"""Results of convolutions lie in memory as on a GPU.

Where the CPU has the same rule it is the reference.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from torchtraceap_dryrun.estimate.launches import launches_of

from .shared_run import Seen

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
