# SPDX-License-Identifier: BSD-3-Clause
"""checkpoint.py: a training that was stopped, in a file, and which training that is."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torchtraceap.base.errors import TrainingError, WeightsError
from torchtraceap.base.files import read_file, replacing
from torchtraceap_train.draws import DrawSettings
from torchtraceap_train.traces import LearningTrace


@dataclass(frozen=True)
class Phase:
    """Steps that learn from the same losses."""

    steps: int
    losses: dict[str, float]  # Fields of ``_torch.LossWeights``.
    draws: DrawSettings = field(default_factory=DrawSettings)
    rate: float = 2e-3  # The highest learning rate.


class Checkpoint:
    """The file of a training, which only the same training goes on from."""

    def __init__(self, path: Path, training: dict[str, str]) -> None:
        self.path, self.training = path, training

    def load(self, module: Any, device: str) -> Any:
        """Return the network as it was kept, None: there is no file yet.

        Raises TrainingError if the file is none of this training.
        """
        if not self.path.exists():
            return None
        where = os.fspath(self.path)
        again = "Remove it to start over, or name another file."
        try:
            network = module.Network.load(where, device=device)
        except (WeightsError, OSError) as error:
            raise TrainingError(f"the checkpoint {error} {again}") from error
        kept = network.card
        if not self.training.keys() <= kept.keys():
            raise TrainingError(f"{where} holds weights, but no checkpoint. {again}")
        for name, ours in self.training.items():
            if kept.get(name) != ours:
                raise TrainingError(
                    f"{where} is the checkpoint of another training: its {name} "
                    f"{'are' if name.endswith('s') else 'is'} {kept.get(name)}, not "
                    f"{ours}. {again}"
                )
        return network

    def keep(self, network: Any) -> None:
        """Write the file; the old one stays until the new one is whole.

        Raises TrainingError if it cannot be written.
        """
        try:
            with replacing(self.path) as new:
                network.save(new, training=True, card=self.training)
        except (WeightsError, OSError) as error:
            why = getattr(error, "strerror", None) or "there may be no room"
            raise TrainingError(
                f"the checkpoint {self.path} cannot be written: {why}. Check the "
                "folder and the space on the disk."
            ) from error


def describe_training(
    traces: Sequence[LearningTrace],
    phases: Sequence[Phase],
    config: dict[str, Any] | None,
    seed: int,
    begin: Path | None,
) -> dict[str, str]:
    """Return all that decides what is learned but the device, as short texts."""
    return {
        "seed": str(seed),
        "steps": " + ".join(str(phase.steps) for phase in phases),
        "recipe": _digest([repr([asdict(phase) for phase in phases]).encode()]),
        "network": repr(sorted((config or {}).items())) if begin is None else "",
        "first weights": "nothing" if begin is None else _digest([read_file(begin)]),
        "traces": f"{len(traces)} ({_digest(_bytes_of(traces))})",
    }


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.blake2b(digest_size=6)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _bytes_of(traces: Sequence[LearningTrace]) -> Iterator[bytes]:
    for trace in traces:
        about = (trace.name, trace.group, trace.source, trace.bad, trace.twin)
        yield repr(about).encode()
        for array in (trace.windows, trace.any, trace.types, trace.recoverable):
            yield array.tobytes()
