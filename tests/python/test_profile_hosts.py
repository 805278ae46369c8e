# SPDX-License-Identifier: BSD-3-Clause
"""test_profile_hosts.py: profiles inside other libraries, processes and compilers.

Most are marked `verify`: they are slow to start, and seldom what a change breaks.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import torchtraceap

torch = pytest.importorskip("torch")
from .small_work import SEVERAL_CYCLES  # noqa: E402
from .torch_forks import TorchForks  # noqa: E402

pytestmark = SEVERAL_CYCLES


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.verify
def test_ranks_write_their_own_and_only_the_first_prints(tmp_path: Path) -> None:
    code = f"""if True:
        import sys, torch, torchtraceap
        import torch.distributed as dist
        rank = int(sys.argv[1])
        dist.init_process_group("gloo", init_method="file://{tmp_path}/store",
                                rank=rank, world_size=2)
        with torchtraceap.profile(folder=r"{tmp_path}/out", formats=["json"]) as prof:
            for _ in range(5):
                dist.all_reduce(torch.ones(4))
                prof.step()
        dist.destroy_process_group()
    """
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(rank)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for rank in range(2)
    ]
    ended = [run.communicate(timeout=60) for run in running]
    assert [run.returncode for run in running] == [0, 0], ended
    outs = [out for out, _ in ended]
    assert "<profiler: steps 2 to 4>" in outs[0]
    assert outs[1] == ""
    assert names(tmp_path / "out") == [
        "report-rank0-step5.json",
        "report-rank1-step5.json",
    ]


def test_workers_of_a_loader_write_their_own(
    torch_forks: TorchForks, tmp_path: Path
) -> None:
    code = f"""if True:
        import torch, torchtraceap
        from torch.profiler import profile

        class Profiled(torch.utils.data.Dataset):
            def __len__(self):
                return 4
            def __getitem__(self, index):
                handler = torchtraceap.Analyzer(
                    r"{tmp_path}", formats=["json"], verbosity=0)
                with profile(on_trace_ready=handler):
                    torch.ones(3).sum().item()
                return index

        print(list(torch.utils.data.DataLoader(Profiled(), num_workers=2)))
    """
    ended = torch_forks.run(code, cwd=tmp_path, warn="error")
    assert ended.code == 0, ended.err
    assert names(tmp_path) == [
        "report-worker0-2.json",
        "report-worker0.json",
        "report-worker1-2.json",
        "report-worker1.json",
    ]


@pytest.mark.verify
def test_lightning(torch_forks: TorchForks, tmp_path: Path) -> None:
    """Its own way of stepping, and its own export after ours."""
    code = f"""if True:
        import torch, torchtraceap, lightning, sys
        from lightning.pytorch.profilers import PyTorchProfiler

        class Model(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 1)
            def training_step(self, batch):
                return self.layer(batch).sum()
            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.01)

        handler = torchtraceap.Analyzer(
            r"{tmp_path}/out", formats=["json", "trace"], verbosity=0)
        profiler = PyTorchProfiler(
            dirpath=r"{tmp_path}", filename="x", on_trace_ready=handler,
            schedule=torch.profiler.schedule(wait=1, warmup=1, active=3))
        trainer = lightning.Trainer(
            max_steps=5, profiler=profiler, logger=False, accelerator="cpu",
            enable_checkpointing=False, enable_progress_bar=False)
        trainer.fit(Model(), torch.utils.data.DataLoader(torch.ones(40, 4)))
        print([len(report.steps) for report in handler.reports])
    """
    pytest.importorskip("lightning")
    ended = torch_forks.run(code, cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[-1] == "[3]"
    assert "torchtraceap:" not in ended.err
    assert len(names(tmp_path / "out")) == 2


def test_a_loader_with_workers() -> None:
    data = torch.utils.data.DataLoader(torch.ones(12, 4), num_workers=2)
    with torchtraceap.profile(quiet=True) as prof:
        for batch in data:
            batch.sum().item()
            prof.step()
    assert [s.number for s in prof.report.steps] == [2, 3, 4]
    assert any("DataLoader" in name for name in prof.report.loaded.strings)


@pytest.mark.verify
def test_a_notebook(tmp_path: Path) -> None:
    """Each run of the cell prints one report, nothing goes to stderr, lines are its."""
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    cell = """
import time, torch, torchtraceap
with torchtraceap.profile() as prof:
    for _ in range(6):
        time.sleep(0.02) or torch.ones(8).sum()
        prof.step()
"""
    cells = [nbformat.v4.new_code_cell(code) for code in (cell, cell, "prof.report")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client.NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    for made in notebook.cells[:2]:
        assert {output.name for output in made.outputs} == {"stdout"}
        text = "".join(output.text for output in made.outputs)
        assert text.count("<profiler: steps 2 to 4>") == 1
        assert "ipykernel" in text or ".py:5" in text
    (shown,) = notebook.cells[2].outputs
    assert "text/html" in shown.data
