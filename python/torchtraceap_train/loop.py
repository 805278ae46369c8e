# SPDX-License-Identifier: BSD-3-Clause
"""loop.py: trains the network, step by step; a run that was stopped goes on."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torchtraceap.base.errors import TrainingError
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap_train.checkpoint import Checkpoint, Phase, describe_training
from torchtraceap_train.draws import Drawn, Draws
from torchtraceap_train.traces import LearningTrace

_KEPT_EVERY = 60.0  # Seconds between two checkpoints.
_NO_LOSS = dict.fromkeys(
    ("any", "types", "recoverable", "bags", "pairs", "masked"), 0.0
)
#: Traces whose columns say what is usual.
_FITTED = 200
#: A step that nothing can be learned from is drawn again, at most so often.
_DRAWN_AGAIN = 1000


@dataclass(frozen=True)
class Progress:
    """Where a training stands."""

    step: int  # Steps that are done, of all phases.
    steps: int  # Of how many.
    losses: dict[str, float]  # Means of the last steps, of what is learned from.
    windows_per_second: float  # Since the training began or went on.


def train_network(
    traces: Sequence[LearningTrace],
    phases: Sequence[Phase],
    *,
    config: dict[str, Any] | None = None,
    seed: int = 0,
    begin: Path | None = None,
    checkpoint: Path | None = None,
    device: str = "cpu",
    told: Callable[[Progress], None] = lambda progress: None,
) -> Any:
    """Train a network and return it, a ``_torch.Network``.

    The same traces, phases, seed and machine give the same weights, whether or not the
    run was stopped in between.

    Args:
        config: Fields of ``_torch.Config`` that are not the defaults.
        begin: Weights to start from instead of drawn ones; then ``config`` is theirs.
            Steps and learning rates start over.
        checkpoint: File to go on from if it is there, and to write once a minute, on
            Ctrl-C and at the end.
        told: Hears of the progress about once a second.

    Raises:
        TrainingError: There is nothing to learn from, a step fails, or the checkpoint
            is of another training or cannot be written.
        WeightsError: ``begin`` is damaged or of another version.
    """
    if not any(len(trace) for trace in traces):
        raise TrainingError("No trace to learn from has a window.")
    module = load_torch_module()
    kept, network = None, None
    if checkpoint is not None:
        training = describe_training(traces, phases, config, seed, begin)
        kept = Checkpoint(checkpoint, training)
        network = kept.load(module, device)
    if network is None:
        network = _begin(module, traces, config, seed, begin, device)
    watch = _Watch(sum(phase.steps for phase in phases), told, network.steps_done)
    try:
        _go(module, network, traces, phases, seed, watch, kept)
    except KeyboardInterrupt:
        if kept is not None:
            kept.keep(network)
        raise
    if kept is not None:
        kept.keep(network)
    return network


def _go(
    module: Any,
    network: Any,
    traces: Sequence[LearningTrace],
    phases: Sequence[Phase],
    seed: int,
    watch: _Watch,
    kept: Checkpoint | None,
) -> None:
    done = 0
    for number, phase in enumerate(phases):
        draws = Draws(traces, phase.draws, seed + 1000 * number)
        settings = module.Training(
            steps=done + phase.steps,
            learning_rate=phase.rate,
            weights=module.LossWeights(**_NO_LOSS | phase.losses),
        )
        while network.steps_done < done + phase.steps:
            drawn = _drawn(draws, network.steps_done, phase)
            examples = [one.trace.example(*one[1:]) for one in drawn]
            try:
                result = network.train_step(examples, settings)
            except RuntimeError as error:
                why = str(error).partition("\n")[0]
                raise TrainingError(
                    f"step {network.steps_done + 1} of the training failed: {why}. "
                    "Try another seed, or other weights to go on from; if the GPU has "
                    "too little memory, the CPU."
                ) from error
            watch.heard(result, phase, sum(one.last - one.first for one in drawn))
            if kept is not None and watch.time_to_keep():
                kept.keep(network)
        done += phase.steps


def _drawn(draws: Draws, number: int, phase: Phase) -> list[Drawn]:
    """Return what a step learns from: of it some loss is, or the step would fail."""
    losses = [name for name, weight in phase.losses.items() if weight > 0]
    for again in range(_DRAWN_AGAIN):
        drawn = draws.windows_of(number, again)
        if any(one.tells(losses) for one in drawn):
            return drawn
    raise TrainingError(
        f"next to nothing is known of these traces that could be learned from: of "
        f"{_DRAWN_AGAIN * len(drawn):,} places that were drawn none tells anything of "
        f"{', '.join(losses) or 'any loss'}. Label more windows."
    )


def _begin(
    module: Any,
    traces: Sequence[LearningTrace],
    config: dict[str, Any] | None,
    seed: int,
    begin: Path | None,
    device: str,
) -> Any:
    if begin is not None:
        network = module.Network.load(os.fspath(begin), device=device)
        # The steps of the training that it comes from are not of this one.
        network.restart(seed)
        return network
    network = module.Network(module.Config(**(config or {})), seed=seed, device=device)
    every = max(1, len(traces) // _FITTED)
    network.fit_columns([trace.arrays for trace in traces[::every]])
    return network


class _Watch:
    """Adds up what steps say, and tells it now and then."""

    def __init__(self, steps: int, told: Callable[[Progress], None], step: int) -> None:
        self.steps, self.told, self.step = steps, told, step
        self.began = self.last_told = self.last_kept = time.monotonic()
        self.windows = 0
        self.sums: dict[str, list[float]] = {}

    def heard(self, result: Any, phase: Phase, windows: int) -> None:
        self.step, self.windows = result.step, self.windows + windows
        for name in phase.losses:
            value = getattr(result, name)
            if not math.isnan(value):
                self.sums.setdefault(name, []).append(value)
        now = time.monotonic()
        if now - self.last_told >= 1 or self.step == self.steps:
            means = {name: sum(v) / len(v) for name, v in self.sums.items()}
            rate = self.windows / max(1e-9, now - self.began)
            self.told(Progress(self.step, self.steps, means, rate))
            self.last_told, self.sums = now, {}

    def time_to_keep(self) -> bool:
        if time.monotonic() - self.last_kept < _KEPT_EVERY:
            return False
        self.last_kept = time.monotonic()
        return True
