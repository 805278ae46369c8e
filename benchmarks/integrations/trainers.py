# SPDX-License-Identifier: BSD-3-Clause
"""trainers.py: the trainers, each with its profiler and without.

All train the same model. It records the times of its calls, so that a step is the time
from one call to the next, including the work of the trainer and its profiler.
"""

from __future__ import annotations

import os
import socket
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import torch

import torchtraceap
from benchmarks.integrations.pair_cost import Case

# Those from `SINCE` on are outside of the cycle.
STEPS = 60
SCHEDULE = {"wait": 10, "warmup": 1, "active": 10, "repeat": 1}
OPTIONS = {**SCHEDULE, "quiet": True}
FIRST = SCHEDULE["wait"] + SCHEDULE["warmup"]
LAST = FIRST + SCHEDULE["active"] - 1
SINCE = 30
WIDTH, BATCH = 256, 32


class Model(torch.nn.Module):
    """A few layers, and the moments of its calls."""

    def __init__(self) -> None:
        super().__init__()
        layers = [torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()] * 4
        self.layers = torch.nn.Sequential(*layers)
        self.calls_ns: list[int] = []

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        self.calls_ns.append(time.perf_counter_ns())
        return {"loss": self.layers(x).pow(2).mean()}

    def phases(self) -> dict[str, float]:
        """Return the milliseconds of a step that is recorded, of one that is not, and
        of the one at whose end the report is made."""
        calls = self.calls_ns
        steps = [(b - a) / 1e6 for a, b in pairwise(calls)]
        assert len(steps) >= STEPS - 1
        return {
            "outside": statistics.median(steps[SINCE : STEPS - 1]),
            "inside": statistics.median(steps[FIRST:LAST]),
            "report": steps[LAST],
        }


def data() -> torch.Tensor:
    return torch.ones(STEPS * BATCH, WIDTH)


def loader() -> Any:
    return torch.utils.data.DataLoader(data(), batch_size=BATCH)


def sgd(model: Any) -> Any:
    return torch.optim.SGD(model.parameters(), lr=0.01)


def schedule() -> Any:
    return torch.profiler.schedule(**SCHEDULE)


def loop(profiled: Callable[[], Any]) -> Callable[[bool], dict[str, float]]:
    """Return what runs a loop of one's own, and steps what `profiled` makes."""

    def run(has_it: bool) -> dict[str, float]:
        model = Model()
        optimizer = sgd(model)
        with profiled() if has_it else nullcontext() as prof:
            for batch in loader():
                model(batch)["loss"].backward()
                optimizer.step()
                optimizer.zero_grad()
                if prof is not None:
                    prof.step()
        return model.phases()

    return run


def torchs() -> Any:
    return torch.profiler.profile(
        schedule=schedule(), with_stack=True, record_shapes=True
    )


def accelerate(has_it: bool) -> dict[str, float]:
    from accelerate import Accelerator

    from torchtraceap.integrations.accelerate import ProfileKwargs

    accelerator = Accelerator(cpu=True)
    model = Model()
    prepared, optimizer, batches = accelerator.prepare(model, sgd(model), loader())
    profiled = accelerator.profile(ProfileKwargs(**OPTIONS)) if has_it else None
    with profiled or nullcontext() as prof:
        for batch in batches:
            accelerator.backward(prepared(batch)["loss"])
            optimizer.step()
            optimizer.zero_grad()
            if prof is not None:
                prof.step()
    return model.phases()


def transformers(has_it: bool) -> dict[str, float]:
    from transformers import Trainer, TrainingArguments

    from torchtraceap.integrations.transformers import ProfileCallback

    model = Model()
    with tempfile.TemporaryDirectory() as folder:
        Trainer(
            model,
            TrainingArguments(
                folder,
                max_steps=STEPS,
                per_device_train_batch_size=BATCH,
                use_cpu=True,
                report_to="none",
                save_strategy="no",
                logging_strategy="no",
                disable_tqdm=True,
            ),
            train_dataset=[{"x": row} for row in data()],
            callbacks=[ProfileCallback(**OPTIONS)] if has_it else None,
        ).train()
    return model.phases()


def fit(**options: Any) -> dict[str, float]:
    from lightning.pytorch import LightningModule, Trainer

    class Fitted(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Model()

        def training_step(self, batch: torch.Tensor) -> torch.Tensor:
            return self.inner(batch)["loss"]

        def configure_optimizers(self) -> Any:
            return sgd(self)

    quiet = dict.fromkeys(
        ("logger", "enable_checkpointing", "enable_progress_bar"), False
    )
    model = Fitted()
    trainer = Trainer(
        accelerator="cpu",
        max_steps=STEPS,
        enable_model_summary=False,
        **quiet,
        **options,
    )
    trainer.fit(model, loader())
    return model.inner.phases()


def lightning(has_it: bool) -> dict[str, float]:
    from torchtraceap.integrations.lightning import ProfileCallback

    return fit(callbacks=[ProfileCallback(**OPTIONS)] if has_it else [])


def lightnings_profiler(has_it: bool) -> dict[str, float]:
    from lightning.pytorch.profilers import PyTorchProfiler

    profiler = PyTorchProfiler(
        schedule=schedule(),
        on_trace_ready=torchtraceap.Analyzer(verbosity=0),
        with_stack=True,
        record_shapes=True,
    )
    return fit(profiler=profiler if has_it else None)


def deepspeed(has_it: bool) -> dict[str, float]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    for name, value in {
        "DS_ACCELERATOR": "cpu",
        "DS_BUILD_OPS": "0",
        "RANK": "0",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
    }.items():
        os.environ.setdefault(name, value)
    import deepspeed

    from torchtraceap.integrations.deepspeed import profile_engine

    deepspeed.init_distributed(dist_backend="gloo")
    model = Model()
    engine, *_ = deepspeed.initialize(
        model=model,
        model_parameters=model.parameters(),
        config={
            "train_micro_batch_size_per_gpu": BATCH,
            "optimizer": {"type": "SGD", "params": {"lr": 0.01}},
        },
    )
    with profile_engine(engine, **OPTIONS) if has_it else nullcontext():
        for batch in loader():
            engine.backward(engine(batch)["loss"])
            engine.step()
    return model.phases()


CASES = (
    Case(
        "torch.profiler", "", "`torch.profiler.profile`, nothing of ours", loop(torchs)
    ),
    Case(
        "torchtraceap.profile",
        "",
        "`with torchtraceap.profile()` in the same loop",
        loop(lambda: torchtraceap.profile(**OPTIONS)),
    ),
    Case("Accelerate", "accelerate", "`accelerator.profile(ProfileKwargs())`",
         accelerate),
    Case("Transformers", "transformers", "`ProfileCallback()`", transformers),
    Case("Lightning", "lightning", "`ProfileCallback()`", lightning),
    Case("Lightning's profiler", "lightning",
         "its `PyTorchProfiler` with an `Analyzer`", lightnings_profiler),
    Case("DeepSpeed", "deepspeed", "`profile_engine(engine)`", deepspeed),
)  # fmt: skip
