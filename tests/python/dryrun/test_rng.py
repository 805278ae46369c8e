# SPDX-License-Identifier: BSD-3-Clause
"""test_rng.py: the random number generators of the GPU of a dry run."""

from __future__ import annotations

import torch
from torch import Generator  # bound before any run

from .told import Told


def test_generator_of_the_gpu(told: Told) -> None:
    for kind in (Generator, torch.Generator):
        made = kind("cuda")
        assert str(made.device) == "cuda:0" and isinstance(made, kind)
        assert str(kind().device) == "cpu" and isinstance(kind(), kind)
    made.manual_seed(3)
    first = torch.rand(4, generator=made)
    assert torch.equal(first, torch.rand(4, generator=made.manual_seed(3)))


def test_state_of_random_numbers_is_kept_and_put_back(told: Told) -> None:
    torch.manual_seed(5)  # seeds all devices
    assert torch.cuda.initial_seed() == 5
    torch.cuda.manual_seed_all(6)
    generator = torch.cuda.default_generators[0]
    state = torch.cuda.get_rng_state()
    first = torch.rand(4, generator=generator)
    torch.cuda.set_rng_state(state)
    assert torch.equal(first, torch.rand(4, generator=generator))
    of_a_gpu = torch.tensor([9, *[0] * 15], dtype=torch.uint8)  # seed 9, offset 0
    torch.cuda.set_rng_state_all([of_a_gpu])
    assert torch.cuda.initial_seed() == 9
    with torch.random.fork_rng(devices=[0]):
        torch.cuda.manual_seed(7)
    assert torch.cuda.initial_seed() == 9
