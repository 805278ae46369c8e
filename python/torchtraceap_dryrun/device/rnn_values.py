# SPDX-License-Identifier: BSD-3-Clause
"""rnn_values.py: what cuDNN's recurrent layers give, worked out by torch's on the CPU.

Loads torch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import torch
from torch import Tensor

from torchtraceap_dryrun.device.signatures import named

_LAYERS = torch.rnn_relu, torch.rnn_tanh, torch.lstm, torch.gru  # by cuDNN's number
_LSTM = 2
_FORWARD, _BACKWARD = "aten::_cudnn_rnn", "aten::_cudnn_rnn_backward"
RECURRENT = {_FORWARD, _BACKWARD}

_Result = TypeVar("_Result")


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
    if name == _FORWARD:
        results = _run(given, inputs, given["weight"])
        zeros = [torch.zeros(one.shape, dtype=one.dtype) for one in out[len(results) :]]
        return [*results, *zeros]
    grads = _in_a_thread_of_its_own(lambda: _gradients(given, inputs, lstm))
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
    given: dict[str, Any], inputs: Sequence[Tensor], lstm: bool
) -> tuple[Tensor, ...]:
    leaves = [t.detach().requires_grad_() for t in (*inputs, *given["weight"])]
    results = _run(given, leaves[: len(inputs)], leaves[len(inputs) :])
    names = ("grad_output", "grad_hy", "grad_cy")[: 3 if lstm else 2]
    pairs = [
        (result, given[name])
        for result, name in zip(results, names, strict=True)
        if given[name] is not None
    ]
    made, grads = zip(*pairs, strict=True)
    found: tuple[Tensor, ...] = torch.autograd.grad(made, leaves, grads)
    return found


def _in_a_thread_of_its_own(work: Callable[[], _Result]) -> _Result:
    """Run what needs autograd, which is off for the thread that dispatches."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()
