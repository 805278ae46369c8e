# SPDX-License-Identifier: BSD-3-Clause
"""measure.py: checks that twins agree, then times them.

No profiler runs here. The order matters to the caller too: once CUPTI has been
attached it may slow every later launch of the process by 10-20 %, so all cases are
timed before the first is recorded.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from benchmarks.lab.corpus.workloads.pairs import Pair
from benchmarks.lab.corpus.workloads.training import Lab, Training

POSITIVE_FROM = 0.05  # A pattern counts if removing it saves this share of the time;
GREY_FROM = 0.02  # from here to there neither answer is scored.


@dataclass(frozen=True)
class Protocol:
    """How many steps each part takes.

    Attributes:
        check: Steps from the common start after which twins are compared.
        lead_in: Untimed steps before each timed block and before the profiler: they
            compile, fill caches, let the host run ahead as far as it will, and drain
            what loader workers had prepared (8 workers x 2 batches).
        blocks: Timed blocks of each twin, taken in turn so that drift hits both.
        block: Timed steps a block.
        active: Steps the profiler records, after one it waits and one it warms up.
    """

    check: int
    lead_in: int
    blocks: int
    block: int
    active: int


PROTOCOLS = {
    "cuda": Protocol(check=4, lead_in=18, blocks=3, block=15, active=3),
    "cpu": Protocol(check=3, lead_in=1, blocks=2, block=3, active=2),
}


class TwinsDiffer(Exception):
    """The slow and the fixed twin do not compute the same."""


def measure(pair: Pair, lab: Lab, protocol: Protocol) -> dict[str, Any]:
    """Build both twins, compare them, time them.

    Returns the case's part of the manifest: ``equality``, ``slow`` and ``fixed``
    (milliseconds a step), ``saving`` (share of the slow median, negative if the fixed
    twin is slower), the same block by block, and the ``label`` that follows.

    Raises:
        TwinsDiffer: They start, or end, further apart than ``pair.tolerance``.
    """
    with closing(pair.slow(lab)) as slow, closing(pair.fixed(lab)) as fixed:
        equality = twins_agree(slow, fixed, protocol.check, pair.tolerance)
        blocks = [
            (time_block(slow, protocol), time_block(fixed, protocol))
            for _ in range(protocol.blocks)
        ]
    slow_ms = [ms for block, _ in blocks for ms in block]
    fixed_ms = [ms for _, block in blocks for ms in block]
    by_block = [saved(*block) for block in blocks]
    return {
        "equality": equality | {"precision": pair.precision},
        "slow": summary(slow_ms),
        "fixed": summary(fixed_ms),
        "saving": saved(slow_ms, fixed_ms),
        "saving_by_block": by_block,
        "label": label(by_block),
    }


def twins_agree(
    slow: Training, fixed: Training, steps: int, tolerance: float
) -> dict[str, Any]:
    """Train both for ``steps`` and compare every sample's loss and all parameters.

    Parameters are compared by how far training moved them, ``|slow - fixed|`` over
    ``|fixed - start|`` as one vector: relative to their size, even a run that learned
    nothing would pass. A NaN never agrees.
    """
    start = parameters(slow)
    if not torch.equal(start, parameters(fixed)):
        raise TwinsDiffer("they start from different parameters")
    slow_losses, fixed_losses = train(slow, steps), train(fixed, steps)
    end = parameters(fixed)
    errors = {
        "loss_error": relative(slow_losses - fixed_losses, fixed_losses),
    }
    if fixed.lab.family.trains:
        errors["update_error"] = relative(parameters(slow) - end, end - start)
    if not all(error <= tolerance for error in errors.values()):
        found = ", ".join(f"{name} {error:.3g}" for name, error in errors.items())
        raise TwinsDiffer(f"after {steps} steps: {found}; allowed {tolerance:g}")
    return {"steps": steps, **errors, "tolerance": tolerance}


def train(run: Training, steps: int) -> Tensor:
    with run.settings():
        return torch.stack([run.step() for _ in range(steps)])


def parameters(run: Training) -> Tensor:
    """Copy all parameters into one vector, in double so that sums lose nothing."""
    return torch.cat([p.detach().flatten().double() for p in run.model.parameters()])


def relative(difference: Tensor, reference: Tensor) -> float:
    """Divide the norms; 0 / 0 is NaN on purpose: nothing was compared."""
    return float(difference.norm() / reference.norm())


def time_block(run: Training, protocol: Protocol) -> list[float]:
    """Time ``protocol.block`` steps after a lead-in; returns milliseconds of each.

    On CUDA the clock is the device's, read by an event after each step: it includes
    the time the device idles for the host, and the host is never made to wait.
    """
    with run.settings():
        for _ in range(protocol.lead_in):
            run.step()
        if run.device.type != "cuda":
            marks = [time.perf_counter()]
            for _ in range(protocol.block):
                run.step()
                marks.append(time.perf_counter())
            return [1e3 * (b - a) for a, b in pairwise(marks)]
        events = [torch.cuda.Event(enable_timing=True)]
        events[0].record()
        for _ in range(protocol.block):
            run.step()
            events.append(torch.cuda.Event(enable_timing=True))
            events[-1].record()
        torch.cuda.synchronize()
        return [a.elapsed_time(b) for a, b in pairwise(events)]


def summary(milliseconds: list[float]) -> dict[str, float]:
    """Describe the steps of all blocks. The mean is what throughput follows."""
    first, median, third = statistics.quantiles(milliseconds, n=4, method="inclusive")
    return {
        "median_ms": round(median, 5),
        "iqr_ms": round(third - first, 5),
        "mean_ms": round(statistics.fmean(milliseconds), 5),
        "steps": len(milliseconds),
    }


def saved(slow_ms: list[float], fixed_ms: list[float]) -> float:
    return round(1 - statistics.median(fixed_ms) / statistics.median(slow_ms), 5)


def label(savings: Sequence[float]) -> str:
    """Name what the slow twin is: a positive by its cost, never by its code.

    Blocks that disagree are as good as a saving between the thresholds: ``grey``,
    which is not scored.
    """
    if min(savings) >= POSITIVE_FROM:
        return "positive"
    return "negative" if max(savings) < GREY_FROM else "grey"


def protocol_facts(protocol: Protocol) -> dict[str, int | float]:
    """State the protocol and the label's thresholds, for the manifest."""
    thresholds = {"positive_from": POSITIVE_FROM, "grey_from": GREY_FROM}
    return asdict(protocol) | thresholds
