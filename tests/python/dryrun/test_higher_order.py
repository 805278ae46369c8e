# SPDX-License-Identifier: BSD-3-Clause
"""Operators that take functions run by those that they are made of, as on a GPU."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import torchtraceap
from torchtraceap.errors import DryRunError

flex = pytest.importorskip("torch.nn.attention.flex_attention")
pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without")


def later_keys(score: Tensor, b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
    return score + (k - q)


def given() -> list[Tensor]:
    torch.manual_seed(0)
    return [torch.randn(1, 2, 16, 8) for _ in range(3)]


def test_flex_attention_gives_what_it_gives_on_the_host() -> None:
    with torch.no_grad():
        expected = flex.flex_attention(*given(), score_mod=later_keys)
        host = [one.clone() for one in given()]
        with torchtraceap.dry_run(values="all") as run:
            found = flex.flex_attention(
                *(one.cuda() for one in host), score_mod=later_keys
            )
            assert found.is_cuda and found.device == torch.device("cuda", 0)
            names = [op.name for op in run.ops]
            # Queries by keys, and what comes of it by values.
            assert names.count("aten::bmm") == 2
            twice = found * 2
            assert [op.name for op in run.ops[len(names) :]] == ["aten::mul"]
            torch.testing.assert_close(twice.cpu(), expected * 2)


def test_what_follows_flex_attention_is_waited_for() -> None:
    with torchtraceap.dry_run() as run, torch.no_grad():
        out = flex.flex_attention(*(one.cuda() for one in given())).sum()
        before = len(run.syncs)
        out.item()
        assert len(run.syncs) == before + 1


def test_its_backward_is_refused_by_name() -> None:
    with (
        torchtraceap.dry_run(),
        pytest.raises(DryRunError, match="backward of flex_attention"),
    ):
        flex.flex_attention(*(one.cuda().requires_grad_() for one in given()))
