# SPDX-License-Identifier: BSD-3-Clause
"""attention_values.py: what attention kernels of a GPU give, worked out on the CPU.

The CPU has none of them. Loads torch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from torchtraceap_dryrun.device.signatures import named

_KERNELS = ("flash", "efficient", "cudnn")
_FORWARD = {f"aten::_scaled_dot_product_{kernel}_attention" for kernel in _KERNELS}
ATTENTION = _FORWARD | {f"{name}_backward" for name in _FORWARD}


def attention_values(
    func: Any, args: Sequence[Any], kwargs: dict[str, Any], out: Any
) -> Any:
    """Return the results of an attention kernel, like ``out`` but on the CPU; None if
    the operator is none, or if dropout makes them random.

    Args:
        func: The operator.
        args: What it gets, on the CPU.
        kwargs: The same by name.
        out: What it gave on the device: shapes.
    """
    name = func._schema.name
    if name not in ATTENTION:
        return None
    given = named(func, args, kwargs)
    if given["dropout_p"] > 0:
        return None
    query, key, value = (
        given[part].float() if given[part].dtype != torch.float64 else given[part]
        for part in ("query", "key", "value")
    )
    groups = query.shape[1] // key.shape[1]
    key, value = (part.repeat_interleave(groups, 1) for part in (key, value))
    scale = given["scale"]
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = query @ key.mT * scale
    if given.get("attn_bias") is not None:
        scores = scores + given["attn_bias"]
    if given["is_causal"]:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, -math.inf)
    weights = torch.ops.aten._safe_softmax(scores, -1)
    if name in _FORWARD:
        return _like(out, [weights @ value, _padded(scores.logsumexp(-1), out[1])])
    grad = given["grad_out_" if "grad_out_" in given else "grad_out"].to(query.dtype)
    by_weights = grad @ value.mT
    slope = weights * (by_weights - (by_weights * weights).sum(-1, keepdim=True))
    grads = [slope @ key * scale, slope.mT @ query * scale, weights.mT @ grad, slope]
    if groups > 1:
        grads[1:3] = [part.unflatten(1, (-1, groups)).sum(2) for part in grads[1:3]]
    return _like(out, grads)


def _padded(sums: Tensor, like: Tensor) -> Tensor:
    """Return sums of rows as a kernel keeps them: for more rows, or for none."""
    sums = sums[..., None] if like.dim() > sums.dim() else sums
    found = torch.zeros(like.shape, dtype=sums.dtype)
    rows = min(like.shape[2], sums.shape[2])
    found[:, :, :rows] = sums[:, :, :rows]
    return found


def _like(out: Any, results: list[Tensor]) -> list[Any]:
    """Return results in the shapes and types of ``out``: for a mask that is broadcast,
    summed; what is only kept for the kernel's own backward is zero."""
    found: list[Any] = []
    for at, one in enumerate(out):
        if not isinstance(one, Tensor):
            found.append(None)
        elif at < len(results) and one.numel():
            found.append(results[at].sum_to_size(one.shape).to(one.dtype))
        else:
            found.append(torch.zeros(one.shape, dtype=one.dtype))
    return found
