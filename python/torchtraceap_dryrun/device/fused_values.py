# SPDX-License-Identifier: BSD-3-Clause
"""fused_values.py: what attention kernels and cuDNN's recurrent layers give, worked out
on the CPU, which has none of them. Loads torch."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import torch
from torch import Tensor

from torchtraceap_dryrun.device.arguments import named

_KERNELS = ("flash", "efficient", "cudnn")
_ATTENTION_FORWARD = {
    f"aten::_scaled_dot_product_{kernel}_attention" for kernel in _KERNELS
}
ATTENTION = _ATTENTION_FORWARD | {f"{name}_backward" for name in _ATTENTION_FORWARD}


def attention_values(
    func: Any, args: Sequence[Any], kwargs: dict[str, Any], out: Any
) -> Any:
    """Return the results of an attention kernel, like ``out`` but on the CPU; None if
    the operator is none, or if dropout makes them random."""
    name = func._schema.name
    if name not in ATTENTION:
        return None
    given = named(func, args, kwargs)
    if given["dropout_p"] > 0:
        return None
    parts = ("query", "key", "value", "attn_bias")
    inputs = [given[part] for part in parts if given.get(part) is not None]
    inputs = [one if one.dtype == torch.float64 else one.float() for one in inputs]
    if name in _ATTENTION_FORWARD:
        result, sums = _attend(given, inputs)
        return _like(out, [result, _padded(sums, out[1])])
    grad = given["grad_out_" if "grad_out_" in given else "grad_out"]
    run = partial(_attend, given)
    return _like(out, _gradients(run, inputs, [grad.to(inputs[0].dtype), None]))


def _attend(given: dict[str, Any], inputs: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the attention, and the logarithm of each row's sum."""
    query, key, value, *bias = inputs
    groups = query.shape[1] // key.shape[1]
    key, value = (part.repeat_interleave(groups, 1) for part in (key, value))
    scale = given["scale"]
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = query @ key.mT * scale
    for one in bias:
        scores = scores + one
    if given["is_causal"]:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, -math.inf)
    return torch.ops.aten._safe_softmax(scores, -1) @ value, scores.logsumexp(-1)


def _padded(sums: Tensor, like: Tensor) -> Tensor:
    """Return sums of rows as a kernel keeps them: for more rows, or for none."""
    sums = sums[..., None] if like.dim() > sums.dim() else sums
    found = torch.zeros(like.shape, dtype=sums.dtype)
    rows = min(like.shape[2], sums.shape[2])
    found[:, :, :rows] = sums[:, :, :rows]
    return found


def _like(out: Any, results: Sequence[Tensor]) -> list[Any]:
    """Return results in the shapes and types of ``out``: for a mask that is broadcast,
    summed; results only used by the kernel's own backward are zero."""
    found: list[Any] = []
    for at, one in enumerate(out):
        if not isinstance(one, Tensor):
            found.append(None)
        elif at < len(results) and one.numel():
            found.append(results[at].sum_to_size(one.shape).to(one.dtype))
        else:
            found.append(torch.zeros(one.shape, dtype=one.dtype))
    return found


_LAYERS = torch.rnn_relu, torch.rnn_tanh, torch.lstm, torch.gru  # by cuDNN's number
_LSTM = 2
_RNN_FORWARD, _RNN_BACKWARD = "aten::_cudnn_rnn", "aten::_cudnn_rnn_backward"
RECURRENT = {_RNN_FORWARD, _RNN_BACKWARD}


def rnn_values(func: Any, args: Sequence[Any], kwargs: dict[str, Any], out: Any) -> Any:
    """Return the results of a recurrent layer, like ``out`` but on the CPU; None if the
    operator is none, or if dropout makes them random. As of `attention_values`."""
    name = func._schema.name
    if name not in RECURRENT:
        return None
    given = named(func, args, kwargs)
    if given["dropout"] > 0 and given["train"]:
        return None
    lstm = given["mode"] == _LSTM
    inputs = [given["input"], given["hx"], *([given["cx"]] if lstm else [])]
    if name == _RNN_FORWARD:
        results = _run(given, inputs, given["weight"])
        zeros = [torch.zeros(one.shape, dtype=one.dtype) for one in out[len(results) :]]
        return [*results, *zeros]
    names = ("grad_output", "grad_hy", "grad_cy")[: 3 if lstm else 2]
    grads = _gradients(
        lambda leaves: _run(given, leaves[: len(inputs)], leaves[len(inputs) :]),
        [*inputs, *given["weight"]],
        [given[one] for one in names],
    )
    count = len(inputs)
    wanted = [*grads[:count], *([None] if count == 2 else [])]
    wanted = [g if o is not None else None for g, o in zip(wanted, out, strict=False)]
    return [*wanted, list(grads[count:]) if out[3] else []]


def _run(
    given: dict[str, Any], inputs: Sequence[Tensor], weights: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    data, state = inputs[0], list(inputs[1:])
    hidden = state if len(state) > 1 else state[0]
    biases = given["weight_stride0"] - (given["proj_size"] > 0) == 4
    more = biases, given["num_layers"], 0.0, given["train"], given["bidirectional"]
    layer = _LAYERS[given["mode"]]
    with warnings.catch_warnings():  # of what is slow on a CPU
        warnings.simplefilter("ignore")
        if given["batch_sizes"]:
            sizes = torch.tensor(given["batch_sizes"])
            return tuple(layer(data, sizes, hidden, list(weights), *more))
        first = given["batch_first"]
        return tuple(layer(data, hidden, list(weights), *more, first))


def _gradients(
    run: Callable[[Sequence[Tensor]], Sequence[Tensor]],
    inputs: Sequence[Tensor],
    grads: Sequence[Tensor | None],
) -> tuple[Tensor, ...]:
    """Return the gradients of inputs by those of the results, None where there is none;
    in a thread of its own, for autograd is off for the one that dispatches."""

    def work() -> tuple[Tensor, ...]:
        leaves = [one.detach().requires_grad_() for one in inputs]
        pairs = zip(run(leaves), grads, strict=True)
        made, given = zip(*(p for p in pairs if p[1] is not None), strict=True)
        found: tuple[Tensor, ...] = torch.autograd.grad(made, leaves, given)
        return found

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()
