# SPDX-License-Identifier: BSD-3-Clause
"""rnn.py: recurrent layers run as cuDNN runs them, all time steps in one operator.

On "meta" torch takes `nn.LSTM` and its like apart into a few operators for each time
step. Loads torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from torchtraceap_dryrun.device.tensors import is_here
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.overrides.autocast import KEY, Casts, eligible
from torchtraceap_dryrun.overrides.kernels import below_functions, operator, replaced

#: What cuDNN calls them.
MODES = {"rnn_relu": 0, "rnn_tanh": 1, "lstm": 2, "gru": 3}


def _run(
    mode: str, steps: Tensor, batch_sizes: Sequence[int], hidden: Any, params: Any,
    biases: bool, layers: int, dropout: float, train: bool, both_ways: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    state, cell = (hidden[0], hidden[1]) if mode == "lstm" else (hidden, None)
    size, projected = state.size(2), 0
    if cell is not None and cell.size(2) != size:
        size, projected = cell.size(2), size
    stride = (4 if biases else 2) + (projected > 0)
    output, state, cell, *_ = operator("_cudnn_rnn")(
        steps, params, stride, params[0].new_empty(0), state, cell, MODES[mode], size,
        projected, layers, False, dropout, train, both_ways, batch_sizes, None,
    )  # fmt: skip
    return (output, state, cell) if mode == "lstm" else (output, state)


def _whole(
    mode: str, data: Tensor, hidden: Any, params: Any, biases: bool, layers: int,
    dropout: float, train: bool, both_ways: bool, batch_first: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    steps = data.transpose(0, 1) if batch_first else data
    more = biases, layers, dropout, train, both_ways
    output, *rest = _run(mode, steps, (), hidden, params, *more)
    return (output.transpose(0, 1) if batch_first else output, *rest)


def _packed(
    mode: str, data: Tensor, batch_sizes: Tensor, hidden: Any, params: Any, *more: Any
) -> tuple[Tensor, ...]:
    return _run(mode, data, batch_sizes.tolist(), hidden, params, *more)


def _backward(input: Tensor, weight: list[Tensor], *more: Any) -> Any:
    """Gradients have the shapes of what they are of."""
    state, cell, output_mask = more[2], more[3], more[-1]
    empty = torch.empty_like
    return (
        empty(input) if output_mask[0] else None,
        empty(state) if output_mask[1] else None,
        empty(cell) if output_mask[2] and cell is not None else None,
        [empty(each) for each in weight] if output_mask[3] else [],
    )


def _half(casts: Casts) -> Callable[..., Any]:
    """Return the autocast kernel: always to float16, and the weights into new memory as
    cuDNN wants it, once for each call."""
    run = operator("_cudnn_rnn")

    def kernel(data: Tensor, weight: list[Tensor], stride: int, *more: Any) -> Any:
        buffer, state, cell, *rest = more
        with casts.off():
            if eligible(weight[0]) and weight[0].dtype is not torch.float16:
                weight, buffer = _flat(weight, torch.float16)
            data, state, cell = casts.cast((data, state, cell), torch.float16)
            return run(data, weight, stride, buffer, state, cell, *rest)

    return kernel


def _flat(weights: list[Tensor], dtype: torch.dtype) -> tuple[list[Tensor], Tensor]:
    """Return copies of weights in one piece of memory, and that."""
    size = sum(each.numel() for each in weights)
    buffer = torch.zeros(size, dtype=dtype, device=weights[0].device)
    copies, at = [], 0
    for each in weights:
        with torch.no_grad():
            piece = buffer[at : at + each.numel()].view(each.shape).detach()
        copies.append(piece.copy_(each))
        at += each.numel()
    return copies, buffer


def _flatten(module: nn.RNNBase) -> None:
    """Move a layer's weights into one piece of memory, as cuDNN wants it.

    It is what `nn.RNNBase.flatten_parameters` does on a GPU.
    """
    weights = module._flat_weights
    if (
        len(weights) != len(module._flat_weights_names)
        or not all(map(is_here, weights))
        or len({each.dtype for each in weights}) > 1
        or len({id(each) for each in weights}) != len(weights)
        or not torch.backends.cudnn.enabled
    ):
        return
    with torch.no_grad():
        copies, _ = _flat(weights, weights[0].dtype)
    for weight, copy in zip(weights, copies, strict=True):
        weight.data = copy


def _lstm_cell(
    data: Tensor, hidden: list[Tensor], w_ih: Tensor, w_hh: Tensor,
    b_ih: Tensor | None = None, b_hh: Tensor | None = None,
) -> Any:  # fmt: skip
    linear = nn.functional.linear
    gates = linear(data, w_ih), linear(hidden[0], w_hh)
    return operator("_thnn_fused_lstm_cell")(*gates, hidden[1], b_ih, b_hh)[:2]


def _gru_cell(
    data: Tensor, hidden: Tensor, w_ih: Tensor, w_hh: Tensor,
    b_ih: Tensor | None = None, b_hh: Tensor | None = None,
) -> Any:  # fmt: skip
    linear = nn.functional.linear
    gates = linear(data, w_ih), linear(hidden, w_hh)
    return operator("_thnn_fused_gru_cell")(*gates, hidden, b_ih, b_hh)[0]


def _fused_gru(gates: Tensor, _: Tensor, hidden: Tensor, *biases: Any) -> Any:
    rows, size = hidden.shape
    return torch.empty_like(hidden), gates.new_empty(rows, 5 * size)


def _fused_gru_backward(grad: Tensor, workspace: Tensor, has_bias: bool) -> Any:
    rows, size = workspace.size(0), workspace.size(1) // 5
    new = workspace.new_empty
    bias = [new(3 * size) if has_bias else None for _ in range(2)]
    return new(rows, 3 * size), new(rows, 3 * size), torch.empty_like(grad), *bias


@contextmanager
def installed(casts: Casts) -> Iterator[None]:
    """Let recurrent layers on the device run as cuDNN's; ``casts`` as of autocast."""
    kernels: dict[tuple[str, str], Callable[..., Any]] = {
        ("_cudnn_rnn_backward", "Meta"): _backward,
        ("_cudnn_rnn", KEY): _half(casts),
        ("lstm_cell", "AutogradMeta"): _lstm_cell,
        ("gru_cell", "AutogradMeta"): _gru_cell,
        ("_thnn_fused_gru_cell", "Meta"): _fused_gru,
        ("_thnn_fused_gru_cell_backward", "Meta"): _fused_gru_backward,
    }
    for mode in MODES:
        kernels[f"{mode}.input", "AutogradMeta"] = partial(_whole, mode)
        kernels[f"{mode}.data", "AutogradMeta"] = partial(_packed, mode)
    with replaced(kernels), Replacements() as attributes:
        flatten = below_functions(_flatten)  # "meta" is meant as such
        attributes.set(nn.RNNBase, "flatten_parameters", flatten)
        yield
