# SPDX-License-Identifier: BSD-3-Clause
"""device_twins/loops.py: work in many small pieces that one call could do."""

from __future__ import annotations

import functools

import torch
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.training import Training

EPSILON = 1e-5


class ScalesTogether(Training):
    """Standardises all samples at once."""

    def refine(self, outputs: Tensor) -> Tensor:
        rest = tuple(range(1, outputs.dim()))
        mean, std = outputs.mean(rest, keepdim=True), outputs.std(rest, keepdim=True)
        return (outputs - mean) / (std + EPSILON)


class ScalesRowByRow(ScalesTogether):
    """Standardises samples in a Python loop; its places are the samples."""

    def refine(self, outputs: Tensor) -> Tensor:
        alone = self.lab.share(len(outputs))
        rows = []
        for i in range(alone):
            row = outputs[i]  # cause: loop_over_samples
            rows.append((row - row.mean()) / (row.std() + EPSILON))
        scaled = torch.stack(rows)
        if alone == len(outputs):
            return scaled
        return torch.cat([scaled, super().refine(outputs[alone:])])


class WeighsTogether(Training):
    """Averages the losses weighted by their source, all at once."""

    def reduce(self, losses: Tensor, source: Tensor) -> Tensor:
        return (losses * (1.0 + source)).mean()


class WeighsOneByOne(WeighsTogether):
    """Adds the weighted losses up in a loop; its places are the samples."""

    def reduce(self, losses: Tensor, source: Tensor) -> Tensor:
        alone = self.lab.share(len(losses))
        total = (losses[alone:] * (1.0 + source[alone:])).sum()
        for i in range(alone):
            total = total + losses[i] * (1.0 + source[i])  # cause: loop_over_losses
        return total / len(losses)


class CentersTogether(Training):
    """Takes the mean off each sample's outputs, all at once."""

    def refine(self, outputs: Tensor) -> Tensor:
        rest = tuple(range(1, outputs.dim()))
        return outputs - outputs.mean(rest, keepdim=True)


class CentersInPlace(CentersTogether):
    """Writes sample after sample into the result; its places are the samples."""

    def refine(self, outputs: Tensor) -> Tensor:
        alone = self.lab.share(len(outputs))
        centered = outputs.clone()
        for i in range(alone):
            centered[i] = outputs[i] - outputs[i].mean()  # cause: loop_writes_rows
        if alone < len(outputs):
            centered[alone:] = super().refine(outputs[alone:])
        return centered


class RunsSamplesAlone(Training):
    """Runs the model on one sample at a time; its places are the samples."""

    def forward(self, inputs: list[Tensor]) -> Tensor:
        alone = self.lab.share(len(inputs[0]))
        parts = []
        for i in range(alone):
            parts.append(self.run_one([part[i : i + 1] for part in inputs]))
        if alone < len(inputs[0]):
            parts.append(super().forward([part[alone:] for part in inputs]))
        return torch.cat(parts)

    def run_one(self, one: list[Tensor]) -> Tensor:
        return Training.forward(self, one)  # cause: samples_alone


class MultipliesWhole(Training):
    """Mixes each sample's outputs by a constant matrix, in one product."""

    def make_model(self) -> nn.Module:
        self.mixing: Tensor | None = None
        return super().make_model()

    def refine(self, outputs: Tensor) -> Tensor:
        rows = outputs.flatten(0, -2)
        if self.mixing is None:
            width = rows.shape[1]
            rng = torch.Generator().manual_seed(self.lab.seed)
            mixing = torch.randn(width, width, generator=rng) / width**0.5
            self.mixing = mixing.to(self.device)
        return self.multiply(rows, self.mixing).view_as(outputs)

    def multiply(self, rows: Tensor, mixing: Tensor) -> Tensor:
        return rows @ mixing


class MultipliesInSlices(MultipliesWhole):
    """Does the same product a few columns at a time; its places are the slices."""

    slices = 32

    def multiply(self, rows: Tensor, mixing: Tensor) -> Tensor:
        slices = mixing.chunk(self.slices, dim=1)
        alone = self.lab.share(len(slices))
        parts = []
        for part in slices[:alone]:
            parts.append(rows @ part)  # cause: products_in_slices
        if alone < len(slices):
            parts.append(rows @ torch.cat(slices[alone:], dim=1))
        return torch.cat(parts, dim=1)


def recur(rnn: nn.LSTM, alone: float, x: Tensor) -> Tensor:
    """Run one LSTM layer a cell at a time, in plain tensor operations.

    Equals ``rnn(x)[0]`` except for rounding; ``x`` is (batch, time, width). Only the
    first share ``alone`` of the time goes cell by cell.
    """
    h = c = x.new_zeros(len(x), rnn.hidden_size)
    seen = []
    cells = max(1, round(alone * x.shape[1]))
    for t in range(cells):
        mixed = x[:, t] @ rnn.weight_ih_l0.T + rnn.bias_ih_l0
        gates = mixed + h @ rnn.weight_hh_l0.T + rnn.bias_hh_l0  # cause: unrolled_lstm
        i, f, g, o = gates.chunk(4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        seen.append(h)
    first = torch.stack(seen, dim=1)
    if cells == x.shape[1]:
        return first
    rest, _ = rnn(x[:, cells:], (h.unsqueeze(0), c.unsqueeze(0)))
    return torch.cat([first, rest], dim=1)


class UnrollsLstm(Training):
    """Runs the recurrence cell by cell with grids that fill a fraction of the GPU."""

    def make_model(self) -> nn.Module:
        model = super().make_model()
        model.recur = functools.partial(recur, model.rnn, self.lab.strength)
        return model
