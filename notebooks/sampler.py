# SPDX-License-Identifier: BSD-3-Clause
"""sampler.py: top-k sampling of the next token, in two forms with one result.

Both add Gumbel noise to the k largest logits of each row and take the largest sum,
which draws from the softmax of those k.
"""

from __future__ import annotations

import torch


def sample_by_mask(logits: torch.Tensor, noise: torch.Tensor, k: int) -> torch.Tensor:
    """Takes what reaches the k-th largest: how many those are only the device knows."""
    likely = logits >= torch.topk(logits, k).values[:, -1:]
    rows, kept = torch.nonzero(likely, as_tuple=True)
    scores = torch.full_like(logits, -torch.inf)
    scores[rows, kept] = (logits + noise)[likely]
    return torch.argmax(scores, dim=1)


def sample_static(logits: torch.Tensor, noise: torch.Tensor, k: int) -> torch.Tensor:
    """Works on the k that topk gives: every size is known beforehand."""
    values, kept = torch.topk(logits, k)
    best = torch.argmax(values + noise.gather(1, kept), dim=1, keepdim=True)
    return kept.gather(1, best).squeeze(1)
