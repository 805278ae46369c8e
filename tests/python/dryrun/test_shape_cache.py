# SPDX-License-Identifier: BSD-3-Clause
"""test_shape_cache.py: what was worked out before is what would be worked out again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from .shared_run import Seen

CALLS: dict[str, Callable[[Any], Any]] = {
    "transpose_": lambda x: x.clone().transpose_(0, 1),
    "squeeze_": lambda x: x[None].clone().squeeze_(0),
    "unsqueeze_": lambda x: x.clone().unsqueeze_(1),
    "t_": lambda x: x.clone().t_(),
    "as_strided_": lambda x: x.clone().as_strided_((2, 2), (1, 2)),
    "resize_": lambda x: x.clone().resize_(5, 7),
    "resize_as_": lambda x: x.clone().resize_as_(torch.empty(2, 9, device=x.device)),
    "set_": lambda x: x.clone().set_(torch.empty(3, device=x.device)),
    "swapaxes_": lambda x: x.clone().swapaxes_(0, 1),
    "out": lambda x: torch.add(x, x, out=torch.empty(0, device=x.device)),
    "add_": lambda x: x.clone().add_(1),
    "matmul": lambda x: x @ x.t(),
    "sum": lambda x: x.sum(1, keepdim=True),
    "view": lambda x: x.view(-1),
    "dtype": lambda x: (x.half() + 1, x + 1),
    "strides": lambda x: x.t() * 2,
    "tangent": lambda x: torch.func.jvp(lambda a: a[None] @ x.t(), (x[0],), (x[1],)),
}


@pytest.mark.filterwarnings("ignore:.torch.jit.script")  # torch.func's own
@pytest.mark.parametrize("name", CALLS)
def test_shapes_are_those_of_the_cpu_each_time(name: str, seen: Seen) -> None:
    def shapes(x: Any) -> list[Any]:
        made = CALLS[name](x)
        all_of = made if isinstance(made, tuple) else (made,)
        return [(t.shape, t.stride(), t.dtype) for t in all_of]

    expected = shapes(torch.ones(4, 8))
    x = torch.ones(4, 8, device="cuda")
    for _ in range(3):
        assert shapes(x) == expected
