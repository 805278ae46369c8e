# SPDX-License-Identifier: BSD-3-Clause
"""detector_training.py: a training step with all losses, to be timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# Windows of a training step, each of two twins.
STEP_WINDOWS = 32


def training(
    module: Any, arrays: Any, model: Any, threads: int, device: str
) -> tuple[Callable[[], Any], int]:
    """Return a training step on part of a trace, as if it were twins, and how many
    windows each twin has. The network is as large as the model's, its weights are
    random: speed does not depend on them."""
    windows = min(len(arrays), STEP_WINDOWS)
    random = np.random.default_rng(1)
    examples = [
        module.Example(
            arrays,
            0,
            windows,
            any=(random.random((windows, 2)) < 0.2).astype(np.int8),
            recoverable=random.random(windows).astype(np.float32),
            bad=bad,
            pair=0,
        )
        for bad in (True, False)
    ]
    network = module.Network(model.network.config, device=device)
    network.fit_columns([arrays])
    weights = module.LossWeights(bags=1, pairs=1, masked=1)
    settings = module.Training(steps=1_000_000, weights=weights, threads=threads)
    return (lambda: network.train_step(examples, settings)), windows
