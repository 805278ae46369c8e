# SPDX-License-Identifier: BSD-3-Clause
"""Operators that take functions run by those that they are made of, as on a GPU."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from torchtraceap.errors import DryRunError

from .shared_run import Seen

flex = pytest.importorskip("torch.nn.attention.flex_attention")
pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without")


def later_keys(score: Tensor, b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
    return score + (k - q)


def given() -> list[Tensor]:
    torch.manual_seed(0)
    return [torch.randn(1, 2, 16, 8) for _ in range(3)]


def test_flex_attention_gives_what_it_gives_on_the_host(seen_all: Seen) -> None:
    with torch.no_grad():
        expected = flex.flex_attention(*given(), score_mod=later_keys)
        on_device = [one.cuda() for one in given()]
        since = seen_all.anew()
        found = flex.flex_attention(*on_device, score_mod=later_keys)
        assert found.is_cuda and found.device == torch.device("cuda", 0)
        # Queries by keys, and what comes of it by values.
        assert since.names.count("bmm") == 2
        since = since.anew()
        twice = found * 2
        assert since.names == ["mul"]
        torch.testing.assert_close(twice.cpu(), expected * 2)


def test_what_follows_flex_attention_is_waited_for(seen: Seen) -> None:
    with torch.no_grad():
        out = flex.flex_attention(*(one.cuda() for one in given())).sum()
        since = seen.anew()
        out.item()
    assert len(since.syncs) == 1


def test_its_backward_is_refused_by_name(seen: Seen) -> None:
    with pytest.raises(DryRunError, match="backward of flex_attention"):
        flex.flex_attention(*(one.cuda().requires_grad_() for one in given()))
