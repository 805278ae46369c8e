# SPDX-License-Identifier: BSD-3-Clause
"""test_profile_hosts.py: profiles inside other libraries, processes and compilers.

Most are marked `verify`: they are slow to start, and seldom what a change breaks.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import torchtraceap

torch = pytest.importorskip("torch")
from .small_work import SEVERAL_CYCLES  # noqa: E402
from .torch_forks import TorchForks  # noqa: E402

pytestmark = SEVERAL_CYCLES


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


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
        "report-2.json",
        "report-3.json",
        "report-4.json",
        "report.json",
    ]


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
