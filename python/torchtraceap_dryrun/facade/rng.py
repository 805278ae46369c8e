# SPDX-License-Identifier: BSD-3-Clause
"""rng.py: the random number generators of a GPU that is not there. Loads torch."""

from __future__ import annotations

from typing import Any

import torch

_OF_A_GPU = 16  # Bytes of the state of a real CUDA generator: seed, then offset.


class Generator(torch.Generator):  # type: ignore[misc]
    """Stands for torch.Generator("cuda"): one of the CPU that calls itself cuda:0.

    Its numbers are the CPU's. So is its state, which is longer than that of a GPU's;
    of a state that a GPU gave, the seed is taken.
    """

    @property
    def device(self) -> Any:
        """The GPU."""
        return torch.device("cuda", 0)

    def set_state(self, new_state: Any) -> Any:
        """Go on from a state, this one's or that of a real GPU's generator."""
        if new_state.numel() == _OF_A_GPU:
            seed = int.from_bytes(bytes(new_state.tolist()[:8]), "little")
            return self.manual_seed(seed)
        return super().set_state(new_state)

    def clone_state(self) -> Generator:
        """Return another one in the same state."""
        clone = Generator()
        clone.set_state(self.get_state())
        return clone

    def get_offset(self) -> int:
        """Return 0: how many numbers were drawn is not counted."""
        return 0

    def set_offset(self, offset: int) -> None:
        """Take any offset for that of the seed."""
