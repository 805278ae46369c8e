# SPDX-License-Identifier: BSD-3-Clause
"""test_integrations_lightning.py: what a callback and Lightning's own profiler take for
a step, and what becomes of a profiler that Lightning's own has ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from .torch_forks import TorchForks, sound

pytest.importorskip("torch")

FITTED = """
import warnings
import torch, torchtraceap
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.profilers import PyTorchProfiler
from torchtraceap.integrations.lightning import ProfileCallback

class Model(LightningModule):
    def __init__(self, fails=-1):
        super().__init__()
        self.layer, self.fails = torch.nn.Linear(4, 1), fails
    def training_step(self, batch, index):
        if index == self.fails:
            raise ValueError("bad batch")
        return self.layer(batch).sum()
    def validation_step(self, batch):
        self.layer(batch)
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)

def fit(model=None, **options):
    loader = torch.utils.data.DataLoader(torch.ones(40, 4))
    trainer = Trainer(logger=False, accelerator="cpu", enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
        **{"max_steps": 6, **options})
    trainer.fit(model or Model(), loader, loader)

def theirs(*folder):
    plan = torch.profiler.schedule(wait=1, warmup=1, active=2)
    return PyTorchProfiler(dirpath=".", filename="x", schedule=plan,
        on_trace_ready=torchtraceap.Analyzer(*folder, verbosity=0))

def told(run):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run()
    return [str(one.message) for one in found if "torchtraceap:" in str(one.message)]
"""


def test_lightning_callback_leaves_sanity_validation_out_and_takes_whole_steps(
    trainers: TorchForks, tmp_path: Path
) -> None:
    code = f"""{FITTED}
callback = ProfileCallback(quiet=True)
print(told(lambda: fit(accumulate_grad_batches=2, callbacks=[callback])))
trace = callback.report.loaded
names = [trace.strings[i] for i in trace.columns["name"]]
print([step.number for step in callback.report.steps],
      sum(name.startswith("Optimizer.step#") for name in names),
      sum(name.endswith("__next__") and "enumerate" in name for name in names))

callback = ProfileCallback(quiet=True)
try:
    fit(Model(fails=3), callbacks=[callback])
except ValueError as error:
    print(error, callback.session.is_running, len(callback.report.steps))
"""
    out = sound(trainers.run(code, cwd=tmp_path)).splitlines()
    assert out == ["[]", "[2, 3, 4] 3 6", "bad batch False 2"]


def test_lightning_profiler_of_its_own(trainers: TorchForks, tmp_path: Path) -> None:
    """The source of its steps is reported only where it misleads."""
    code = f"""{FITTED}
print(told(lambda: fit(profiler=theirs())))
print(told(lambda: fit(
    profiler=theirs(), num_sanity_val_steps=0, accumulate_grad_batches=2)))
print(told(lambda: fit(profiler=theirs("out"), num_sanity_val_steps=0)))
callback = ProfileCallback(quiet=True)
print(told(lambda: fit(profiler=theirs(), num_sanity_val_steps=0,
                       callbacks=[callback])), callback.report)
"""
    repeats, micro, nothing, two = sound(trainers.run(code, cwd=tmp_path)).splitlines()
    assert "step numbers repeat (#2): Lightning's PyTorchProfiler counts" in repeats
    assert "each micro-batch is a step; with accumulate_grad_batches=2" in micro
    assert nothing == "[]"
    assert len([*(tmp_path / "out").glob("report-*.json")]) == 1
    assert "not profiled: the Trainer has a PyTorchProfiler" in two
    assert two.endswith(" None")


@pytest.mark.parametrize(
    "profiler",
    ["torch.profiler.profile(on_trace_ready=torchtraceap.analyze)",
     "torchtraceap.profile(wait=0, warmup=0)"],
)  # fmt: skip
def test_lightning_profiler_inside_another_one(
    trainers: TorchForks, profiler: str, tmp_path: Path
) -> None:
    """It ends any that runs, which is left with nothing."""
    code = f"""{FITTED}
def run():
    with {profiler}:
        fit(profiler=theirs(), num_sanity_val_steps=0)
print(told(run))
"""
    out = sound(trainers.run(code, cwd=tmp_path))
    assert "the profiler was ended by another one that started inside it" in out
    assert "Lightning's Trainer(profiler=PyTorchProfiler(...)) is another one" in out
