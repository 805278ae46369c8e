# SPDX-License-Identifier: BSD-3-Clause
"""`torch.cuda.FloatTensor` and its like: each call beside the same with the host's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import torchtraceap
from torchtraceap.errors import DryRunError

from .shared_run import Seen

# Bound at import, as scripts do.
from torch.cuda import LongTensor as Ids  # isort: skip

MADE: dict[str, Callable[[Any], Any]] = {
    "sizes": lambda t: t.FloatTensor(2, 3).fill_(2),
    "a size": lambda t: t.DoubleTensor(torch.Size([2, 3])).zero_(),
    "no size": lambda t: t.HalfTensor(),
    "a number of NumPy": lambda t: t.IntTensor(np.int64(3)).zero_(),
    "a list": lambda t: t.LongTensor([1, 2]),
    "nested lists": lambda t: t.FloatTensor([[1, 2], [3, 4]]),
    "an array": lambda t: t.FloatTensor(np.ones(3, dtype=np.float32)),
    "bytes": lambda t: t.ByteTensor([1, 0]),
    "bools": lambda t: t.BoolTensor([True, False]),
    "another": lambda t: t.LongTensor(t.LongTensor([1, 2])),
    "new with sizes": lambda t: t.FloatTensor([1]).new(2, 2).fill_(3),
    "new with data": lambda t: t.FloatTensor([1]).new([4, 5]),
    "new with an array": lambda t: t.FloatTensor([1]).new(np.ones(2, np.float32)),
    "new of shape": lambda t: t.LongTensor([1]).new(torch.Size([2])).zero_(),
    "new of a tuple": lambda t: t.LongTensor([1]).new((3, 4)),
    "new and resized": lambda t: t.LongTensor([1]).new().resize_(2).fill_(7),
    "type": lambda t: torch.ones(2).type(t.DoubleTensor),
    "type by name": lambda t: torch.ones(2).type(
        t.LongTensor.__module__ + ".IntTensor"
    ),
    "type of another": lambda t: t.FloatTensor([1.5]).type(t.LongTensor),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_they_are_as_those_of_the_host(
    make: Callable[[Any], Tensor], seen: Seen
) -> None:
    expected, found = make(torch), make(torch.cuda)
    assert found.is_cuda and found.dtype is expected.dtype
    assert found.type() == expected.type().replace("torch.", "torch.cuda.")
    assert torch.equal(found.cpu(), expected)


def test_data_is_copied_which_waits_and_sizes_do_not(seen: Seen) -> None:
    torch.cuda.FloatTensor(2, 3)
    assert not seen.syncs
    torch.cuda.FloatTensor([1, 2])
    torch.ones(2, device="cuda").new([1, 2])
    torch.ones(2).type("torch.cuda.FloatTensor")
    x = torch.ones(2, device="cuda")
    assert x.type(torch.cuda.FloatTensor) is x
    apis = ["torch.tensor", "torch.tensor", "Tensor.cuda"]
    assert [sync.api for sync in seen.syncs] == apis
    assert [op.copy.nbytes for op in seen.ops if op.copy] == [8, 8, 8]


def test_tensors_are_told_by_them(seen: Seen) -> None:
    x = torch.ones(2, device="cuda")
    assert isinstance(x, torch.cuda.FloatTensor)
    assert not isinstance(x, torch.cuda.HalfTensor | torch.FloatTensor)
    assert not isinstance(x.cpu(), torch.cuda.FloatTensor)
    assert isinstance(x.cpu(), torch.FloatTensor)
    assert not isinstance(torch.ones(2, device="meta"), torch.cuda.FloatTensor)
    assert isinstance(x.long(), Ids) and Ids([1]).is_cuda
    assert torch.typename(x) == "torch.cuda.FloatTensor"
    assert x.type("torch.FloatTensor").device.type == "cpu"
    assert torch.cuda.FloatTensor.dtype is torch.float32


@pytest.mark.parametrize("named", ["torch.cuda.HalfTensor", torch.cuda.HalfTensor])
def test_a_type_that_is_held_elsewhere_converts(named: object, seen: Seen) -> None:
    data = torch.ones(3).type(named)  # type: ignore[call-overload]
    assert data.is_cuda and data.dtype is torch.half


def test_what_is_wrong_is_said(seen: Seen) -> None:
    with pytest.raises(TypeError, match=r"expected torch\.cuda\.FloatTensor"):
        torch.cuda.FloatTensor(torch.ones(2))
    with pytest.raises(RuntimeError, match="legacy constructor expects device"):
        torch.cuda.FloatTensor(2, device="cpu")
    with pytest.raises(ValueError, match="invalid type"):
        torch.ones(2).type("torch.cuda.FooTensor")
    with pytest.raises(DryRunError, match="sparse"):
        torch.ones(2).type("torch.cuda.sparse.FloatTensor")
    with pytest.raises(DryRunError, match="set_default_device"):
        torch.set_default_tensor_type("torch.cuda.FloatTensor")


def test_the_names_are_torchs_own_again() -> None:
    former, ids = torch.cuda.FloatTensor, Ids
    with torchtraceap.dry_run():
        assert torch.cuda.FloatTensor is not former and Ids is not ids
    assert torch.cuda.FloatTensor is former and Ids is ids
    with pytest.raises(TypeError, match="not available"):
        torch.cuda.FloatTensor(2)
