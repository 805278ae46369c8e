# SPDX-License-Identifier: BSD-3-Clause
"""conditions.py: all random settings of a run besides its causes.

None of it knows whether the run is to be good or bad.
"""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass, replace
from typing import Any

from benchmarks.lab.corpus.simulation.profiles import Profile, draw_name, resolution_of
from torchtraceap_dryrun.estimate.gpus import GPUS, Gpu

GPU_NAMES = ("T4", "V100", "RTX A6000", "RTX 4090", "A100", "H100 SXM", "H200")
# Medians and spreads, of logarithms. Hosts are those of the real traces, as fast as
# there.
_SPEED = (0.0, 0.25)
_DEVICE_SPEED = (0.1, 0.3)
_EVENTS = 9000  #: About as many operators and launches a run has, over all its steps.
_BATCHES = (0.5, 1.0, 1.0)
# Programs that people tune keep their device busy. For this share of the runs
# the ratio of the device's time to the host's is drawn, by its logarithm; the others
# are as they come: three quarters of their windows are launch-bound, as in the real
# traces. Users publish traces of such programs; the programs people run are better, and
# a corpus of nothing but slow windows does not show what is good. With this share a
# third of the windows of S is positive.
_TUNED = 0.86
_AHEAD = (0.7, 0.45)
_TUNED_HOST = 0.7  #: Their hosts take so much of the time: newer, and less to do.
#: How much less and more data a kernel may be given.
_LEAST_DATA, _MOST_DATA = 0.5, 16.0
#: Of recordings that hold frames of Python; their hosts are those of such traces.
_STACKS = 0.4
#: Of programs that compute in fp32 no more than they must.
_TENSOR_CORES = 0.92


@dataclass(frozen=True)
class Recording:
    """The options of the profiler."""

    stacks: bool
    shapes: bool
    steps: bool  #: Whether the program calls ``prof.step()``.
    each: int  #: Steps between the calls: programs gather gradients of several.
    resolution_ns: int  #: What moments are multiples of: old profilers had 1 µs.


@dataclass(frozen=True)
class Conditions:
    """What a run is drawn with.

    Attributes:
        host: The trace of ranges.json whose host this is.
        speed: How many times as long all takes that the host computes.
        batch: How many times its usual batch the program works on.
        device_speed: How many times as long kernels take as estimated.
        ahead: The device's time over the host's, which device_speed is settled by: so
            much more or less data there is in each kernel. 0: as it comes.
        tensor_cores: Matrix products use them.
        seed: The seed of all noise.
        first_step: How many times as long the host takes for the first step.
        pid: The recorded process.
    """

    gpu: str
    host: str
    speed: float
    batch: float
    device_speed: float
    ahead: float
    tensor_cores: bool
    steps: int
    first_step: float
    recording: Recording
    pid: int
    seed: int

    @property
    def device(self) -> Gpu:
        return GPUS[self.gpu]

    def profile(self) -> Profile:
        return Profile(self.host, self.speed, self.seed)

    def told(self) -> dict[str, Any]:
        """Return it as plain data, for Run.recording."""
        return asdict(self)


def draw(rng: random.Random, batches: tuple[float, ...] = _BATCHES) -> Conditions:
    """Draw the conditions of a run; settled later are `steps` and `each`, by
    fitted_steps, and `device_speed`, by fitted_speed."""
    stacks, ahead = rng.random() < _STACKS, _ahead(rng)
    host = draw_name(rng, stacks)
    return Conditions(
        gpu=rng.choice(GPU_NAMES),
        host=host,
        speed=rng.lognormvariate(*_SPEED) * (_TUNED_HOST if ahead else 1.0),
        batch=rng.choice(batches),
        device_speed=rng.lognormvariate(*_DEVICE_SPEED),
        ahead=ahead,
        tensor_cores=rng.random() < _TENSOR_CORES,
        steps=rng.choice((2, 3, 3, 4, 5, 6)),
        first_step=rng.choice((1.0, 1.0, 1.0, 1.5, 2.5)),
        recording=Recording(
            stacks=stacks,
            shapes=rng.random() < 0.5,
            steps=rng.random() < 0.7,
            each=rng.choice((1, 1, 2, 4)),
            resolution_ns=resolution_of(host),
        ),
        pid=rng.randrange(1000, 900_000),
        seed=rng.randrange(1 << 31),
    )


def _ahead(rng: random.Random) -> float:
    drawn = rng.lognormvariate(*_AHEAD)
    return drawn if rng.random() < _TUNED else 0.0


def fitted_steps(conditions: Conditions, operators: int) -> Conditions:
    """Settle how many steps are recorded of a program with `operators` a step, so
    that its trace is not too large."""
    most = max(2, round(_EVENTS / max(operators, 1)))
    each = min(conditions.recording.each, most // 2)
    return replace(
        conditions,
        steps=min(conditions.steps * each, most),
        recording=replace(conditions.recording, each=each),
    )


def fitted_speed(
    conditions: Conditions, device_us: float, least_us: float, host_us: float
) -> float:
    """Return how many times as long kernels take, so that the device is `ahead`.

    Args:
        device_us: What the device works as it is drawn.
        least_us: What it works with next to no data in each kernel.
        host_us: What the run takes with a device that takes no time.
    """
    if not conditions.ahead:
        return conditions.device_speed
    wanted = conditions.ahead * host_us - least_us
    times = wanted / max(device_us - least_us, 1.0)
    return conditions.device_speed * min(max(times, _LEAST_DATA), _MOST_DATA)
