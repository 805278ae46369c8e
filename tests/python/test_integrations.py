# SPDX-License-Identifier: BSD-3-Clause
"""test_integrations.py: trainers are profiled by one line, on the CPU, the pages' own
code in two ranks; each pitfall of theirs is reported, or harmless."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap.integrations.deepspeed import profile_engine

from .pages import blocks, page, section
from .torch_forks import TorchForks, sound

pytest.importorskip("torch")

TRAINERS = ("accelerate", "transformers", "lightning", "deepspeed")
HEADINGS = {
    "accelerate": "Accelerate",
    "transformers": "Transformers",
    "lightning": "Lightning",
    "deepspeed": "DeepSpeed",
    "torchtitan": "torchtitan",
    "megatron": "Megatron-LM",
}


def code_of(trainer: str) -> str:
    """The code that the page shows for a trainer; it fits on a screen."""
    code = blocks(section(page("integrations"), HEADINGS[trainer]), "python")[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
    return code


# --- The pages --------------------------------------------------------------------

# Steps, and what is in them: updates, and batches that were fetched.
COUNTED = """
made = globals().get("callback") or prof
trace = made.report.loaded
names = [trace.strings[i] for i in trace.columns["name"]]
updates = sum(name.startswith("Optimizer.step#") for name in names)
batches = sum("DataLoader" in name and "__next__" in name and ".py" not in name
              for name in names)
reduced = sum(name.startswith("gloo:all_reduce") for name in names)
print([step.number for step in made.report.steps], updates, batches, reduced >= 3)
"""
HELD = {
    "accelerate": (3, 3),
    "transformers": (3, 6),
    "lightning": (3, 3),
    "deepspeed": (3, 0),
}


@pytest.mark.parametrize(
    "trainer",
    # DeepSpeed's first run builds an extension, for minutes on a busy machine.
    [pytest.param(one, marks=(pytest.mark.verify, pytest.mark.timeout(600))
                  if one == "deepspeed" else ())
     for one in TRAINERS],
)  # fmt: skip
def test_the_code_of_a_page(trainers: TorchForks, trainer: str, tmp_path: Path) -> None:
    pytest.importorskip(trainer)
    code = code_of(trainer) + COUNTED
    environment = {"DS_ACCELERATOR": "cpu", "DS_BUILD_OPS": "0"}
    limit_s = 540 if trainer == "deepspeed" else 160
    ranks = trainers.run_ranks(2, code, cwd=tmp_path, env=environment, limit_s=limit_s)
    updates, batches = HELD[trainer]
    for rank, ended in enumerate(ranks):
        out = sound(ended)
        assert out.splitlines()[-1] == f"[2, 3, 4] {updates} {batches} True"
        assert out.count("<profiler: steps 2 to 4>") == (rank == 0)
        assert "torchtraceap:" not in ended.err
        assert (tmp_path / f"reports/report-rank{rank}-step5.json").stat().st_size


RANK_OF_A_JOB = """
import sys
import torch
torch.distributed.init_process_group("gloo")
rank = torch.distributed.get_rank()
with torch.profiler.profile(with_stack=True) as prof:
    for _ in range(3):
        torch.distributed.all_reduce(torch.ones(256, 256) @ torch.ones(256, 256))
prof.export_chrome_trace(sys.argv[1].format(rank))
torch.distributed.destroy_process_group()
"""
LAYOUTS = {
    "torchtitan": "profiling/traces/iteration_10/rank{}_trace.json.gz",
    "megatron": "pytorch_profile/rank-{}.json.gz",
}


@pytest.mark.parametrize("trainer", LAYOUTS)
def test_the_code_of_a_page_that_reads_a_folder(
    torch_forks: TorchForks, trainer: str, tmp_path: Path
) -> None:
    (tmp_path / LAYOUTS[trainer]).parent.mkdir(parents=True)
    for ended in torch_forks.run_ranks(
        2, RANK_OF_A_JOB, LAYOUTS[trainer], cwd=tmp_path
    ):
        sound(ended)
    out = sound(torch_forks.run(code_of(trainer), cwd=tmp_path))
    assert "2 of 2 ranks" in out


@pytest.mark.parametrize("trainer", TRAINERS[:3])
def test_a_trainer_that_is_not_installed(
    trainer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"torchtraceap.integrations.{trainer}"
    monkeypatch.delitem(sys.modules, module, raising=False)
    for name in [*sys.modules]:
        if name == trainer or name.startswith(f"{trainer}."):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, trainer, None)
    with pytest.raises(ImportError, match=rf"pip install 'torchtraceap\[{trainer}\]'"):
        importlib.import_module(module)


# --- Accelerate -------------------------------------------------------------------

ACCELERATED = """
import sys
import accelerate, torch, torchtraceap
from torchtraceap.integrations.accelerate import ProfileKwargs

SCHEDULE = {"wait": 1, "warmup": 1, "active": 2, "repeat": 1, "skip_first": 0}

def train(kwargs, steps=4, calls=True):
    accelerator = accelerate.Accelerator(cpu=True, kwargs_handlers=[kwargs])
    weight = torch.ones(8, 8)
    with accelerator.profile() as prof:
        for _ in range(steps):
            weight @ weight
            if calls:
                prof.step()
    return prof
"""


def test_accelerate_with_a_handler_that_exports_and_a_folder_for_traces(
    trainers: TorchForks, tmp_path: Path
) -> None:
    """With Accelerate's own, the rank raises after the loop, and others wait for it."""
    code = f"""{ACCELERATED}
prof = train(ProfileKwargs(
    quiet=True, schedule_option=SCHEDULE, activities=["cpu"], output_trace_dir="out",
    on_trace_ready=torch.profiler.tensorboard_trace_handler("log")))
print(len(prof.reports), [step.number for step in prof.report.steps])
"""
    for ended in trainers.run_ranks(2, code, cwd=tmp_path):
        assert sound(ended) == "1 [2, 3]\n"
    out = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert out == ["profile_0.json", "profile_1.json"]
    assert len([*(tmp_path / "log").iterdir()]) == 2
    assert torchtraceap.analyze(tmp_path / "out" / out[0]).steps


def test_accelerate_when_the_step_is_forgotten(
    trainers: TorchForks, tmp_path: Path
) -> None:
    code = f"""{ACCELERATED}
prof = train(ProfileKwargs(output_trace_dir="none"), calls=False)
print(len(prof.reports))
prof = train(ProfileKwargs(output_trace_dir="out", wait=0, warmup=0), calls=False)
print(len(prof.reports))
"""
    ended = trainers.run(code, cwd=tmp_path)
    out = sound(ended)
    assert re.findall(r"^\d$", out, re.MULTILINE) == ["0", "1"]
    assert (tmp_path / "out/profile_0.json").stat().st_size
    assert "step() was never called, but the schedule" in ended.err
    assert "nothing was recorded, so there is no trace to write to none/" in ended.err


def test_accelerate_passes_on_what_its_own_lacks(
    trainers: TorchForks, tmp_path: Path
) -> None:
    """And its own does with our handler, as far as it goes."""
    code = f"""{ACCELERATED}
config = torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True)
kwargs = ProfileKwargs(experimental_config=config, quiet=True)
prof = train(kwargs, 5)
print(prof.experimental_config is config, kwargs.session is prof, len(prof.reports))
their = accelerate.ProfileKwargs(
    schedule_option=SCHEDULE, on_trace_ready=torchtraceap.analyze,
    output_trace_dir="out")
print(len(train(their).torchtraceap_reports))
try:
    ProfileKwargs(experimental=config)
except TypeError as error:
    print(error)
"""
    out = sound(trainers.run(code, cwd=tmp_path)).splitlines()
    assert out[0] == "True True 1"
    assert out[-2] == "1"
    assert "unexpected option 'experimental'" in out[-1]
    assert (tmp_path / "out/profile_0.json").stat().st_size


# --- Transformers -----------------------------------------------------------------

FAILING = """
import torch
from transformers import Trainer, TrainingArguments
from torchtraceap.integrations.transformers import ProfileCallback

class Model(torch.nn.Linear):
    fails = True
    def forward(self, x):
        if self.fails:
            raise ValueError("bad batch")
        return {"loss": super().forward(x).mean()}

def trainer(*callbacks):
    arguments = TrainingArguments("out", max_steps=6, report_to="none", use_cpu=True,
        save_strategy="no", disable_tqdm=True)
    data = [{"x": torch.ones(8)} for _ in range(64)]
    return Trainer(Model(8, 8), arguments, train_dataset=data,
        callbacks=[*callbacks])

def fail(made):
    try:
        made.train()
    except ValueError as error:
        return error  # which keeps all frames

def recorded():
    with torch.profiler.profile() as prof:
        torch.ones(3).sum()
    return sum(event.key == "aten::sum" for event in prof.key_averages())
"""


def test_transformers_after_a_training_that_raised(
    trainers: TorchForks, tmp_path: Path
) -> None:
    code = f"""{FAILING}
callback = ProfileCallback(quiet=True)
made = trainer(callback)
kept = fail(made)
print(torch.autograd._profiler_enabled(), recorded())
made.model.fails = False
made.train()
print([len(report.steps) for report in callback.reports][-1])
"""
    ended = trainers.run(code, cwd=tmp_path)
    assert re.findall(r"^False \d|^\d$", sound(ended), re.M) == ["False 1", "3"]


def test_transformers_with_a_callback_that_came_later(
    trainers: TorchForks, tmp_path: Path
) -> None:
    """It did not see the Trainer being made, so it ends with the next training, or when
    it goes."""
    code = f"""{FAILING}
callback = ProfileCallback(quiet=True)
made = trainer()
made.add_callback(callback)
kept = fail(made)
print(callback.session.is_running)
made.model.fails = False
made.train()
print([len(report.steps) for report in callback.reports][-1])
made.model.fails = True
kept = fail(made)
print(callback.session.is_running)
del made, callback, kept
print(recorded())
"""
    out = sound(trainers.run(code, cwd=tmp_path))
    assert re.findall(r"^True|False|\d$", out, re.MULTILINE) == [
        "True",
        "3",
        "True",
        "1",
    ]


# --- DeepSpeed --------------------------------------------------------------------


def test_deepspeed_wants_an_engine() -> None:
    with (
        pytest.raises(TypeError, match=r"engine that deepspeed\.initialize"),
        profile_engine(object()),
    ):
        pass
