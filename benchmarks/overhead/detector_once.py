# SPDX-License-Identifier: BSD-3-Clause
"""detector_once.py: measures one thing of the detector's speed.

detector_speed.py starts it as a process of its own; MEASURES lists the
measurements. Prints JSON. Seconds are wall-clock time of the best round: other programs
only make one slower.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import torchtraceap
from benchmarks.loader.loaders import resident
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap.detection.detection import EVENTS

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


def timed(call: Callable[[], Any]) -> float:
    """Return the seconds of a call."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def best(call: Callable[[], Any], rounds: int) -> float:
    """Return the seconds of the fastest round, after one that is not counted."""
    call()
    return min(timed(call) for _ in range(rounds))


class Ready:
    """A trace and a model, both in memory."""

    def __init__(self, given: argparse.Namespace) -> None:
        report = torchtraceap.analyze(
            given.trace, detector="off", quiet=True, threads=given.threads
        )
        self.events = report.trace.events
        self.features = report.features()
        module = load_torch_module()
        of = self.features
        self.arrays = module.Arrays(of.windows, of.tokens, of.token_begin)
        self.model = module.Model.load(str(given.weights), device=given.device)
        self.options = {
            "events": EVENTS,
            "threads": given.threads,
            "batch_tokens": given.batch_tokens,
        }

    def say(self, bfloat16: bool = False) -> dict[str, Any]:
        """Ask the model about every window."""
        said: dict[str, Any] = self.model.say(
            self.arrays, **self.options, bfloat16=bfloat16
        )
        return said


def stages(given: argparse.Namespace) -> dict[str, Any]:
    """Time each part of an analysis with the detector, torch being loaded."""
    read = {"quiet": True, "threads": given.threads}

    def without() -> None:
        report = torchtraceap.analyze(given.trace, detector="off", **read)
        _ = report.rule_windows, report.rule_findings

    def whole() -> None:
        report = torchtraceap.analyze(given.trace, detector=given.weights, **read)
        _ = report.windows, report.findings

    ready = Ready(given)
    report = torchtraceap.analyze(given.trace, detector="off", **read)
    return {
        "events": ready.events,
        "windows": len(ready.arrays),
        "tokens": int(ready.features.token_begin[-1]),
        "without": best(without, given.rounds),
        "features": best(report.features, given.rounds),
        "network": best(ready.say, given.rounds),
        "whole": best(whole, given.rounds),
    }


def first(given: argparse.Namespace) -> dict[str, Any]:
    """Time what only the first call of a process takes."""
    torch = timed(load_torch_module)
    load = load_torch_module().Model.load
    weights = timed(partial(load, str(given.weights), device=given.device))
    ready = Ready(given)
    return {
        "torch": torch,
        "weights": weights,
        "network": timed(ready.say),
        "later": min(timed(ready.say) for _ in range(given.rounds)),
    }


def memory(given: argparse.Namespace) -> dict[str, Any]:
    """Return the most memory that scoring takes beside the trace and the weights."""
    ready = Ready(given)
    with contextlib.suppress(OSError, AttributeError):
        # What the analysis is done with would be taken again, and not be counted.
        ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of the analysis
    before = resident("VmRSS")
    ready.say()
    return {
        "windows": len(ready.arrays),
        "before_bytes": before,
        "grown_bytes": resident("VmHWM") - before,
    }


def precision(given: argparse.Namespace) -> dict[str, Any]:
    """Time both precisions on a device, and compare with float32 on the CPU."""
    ready = Ready(given)
    known = ready
    if given.device != "cpu":
        known = Ready(argparse.Namespace(**vars(given) | {"device": "cpu"}))
    wanted = known.say()["probability"]
    out: dict[str, Any] = {"windows": len(ready.arrays)}
    for name, half in (("float32", False), ("bfloat16", True)):
        told = ready.say(half)["probability"]
        out[name] = best(partial(ready.say, half), given.rounds)
        out[f"{name}_off"] = float(np.max(np.abs(told - wanted), initial=0))
    if given.device != "cpu":
        import torch

        out["gpu"] = torch.cuda.get_device_name()
    return out


def learning(given: argparse.Namespace) -> dict[str, Any]:
    """Time training steps of a network of the size of the one that is given."""
    ready = Ready(given)
    step, windows = training(
        load_torch_module(), ready.arrays, ready.model, given.threads, given.device
    )
    learn = best(step, given.rounds)
    tokens = int(ready.features.token_begin[windows])
    return {"seconds": learn, "windows": 2 * windows, "tokens": 2 * tokens}


MEASURES = {
    "stages": stages,
    "first": first,
    "memory": memory,
    "precision": precision,
    "learning": learning,
}


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("measure", choices=MEASURES)
    parser.add_argument("trace", type=Path)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch-tokens", type=int, default=2048)
    given = parser.parse_args()
    print(json.dumps(MEASURES[given.measure](given)))


if __name__ == "__main__":
    main()
