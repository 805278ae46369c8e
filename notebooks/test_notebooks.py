# SPDX-License-Identifier: BSD-3-Clause
"""test_notebooks.py: every notebook runs and gives the outputs it is kept with."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("torch")

pytestmark = pytest.mark.verify

FOLDER = Path(__file__).resolve().parent
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MOST_BYTES = 200_000

# Of a machine: absolute paths, but for those of one's own GPU cluster in a trace.
MACHINE = re.compile(r"/(home|root|tmp|Users|work|usr|opt|var)/|ipykernel_\d")
TRACED = re.compile(r"/(usr|opt|home)/\S*(site-packages|dist-packages)/")


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    """The program that writes the outputs."""
    spec = importlib.util.spec_from_file_location("execute", FOLDER / "execute.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


def test_there_are_the_four() -> None:
    assert {path.stem for path in NOTEBOOKS} == {
        "quickstart",
        "live_training",
        "dynamic_shapes",
        "thresholds_and_rules",
    }


def test_is_kept_with_outputs_of_no_machine(path: Path, runner: ModuleType) -> None:
    text = path.read_text("utf-8")
    assert len(text.encode()) <= MOST_BYTES
    notebook = runner.read(path)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata.language_info == {"name": "python"}
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    outputs = json.dumps([cell.outputs for cell in code])
    assert not MACHINE.search(TRACED.sub("", outputs))
    shown = [out for cell in code for out in cell.outputs]
    assert any("text/html" in out.get("data", {}) for out in shown)
    assert not any(out.output_type == "error" for out in shown)
    assert not any(out.get("name") == "stderr" for out in shown)


def test_links_lead_somewhere(path: Path, runner: ModuleType) -> None:
    for cell in runner.read(path).cells:
        if cell.cell_type == "markdown":
            for target in re.findall(r"\]\(([^)#]+)\)", cell.source):
                assert "://" in target or (FOLDER / target).exists(), target


# What Jupyter's own packages warn of is not ours to mend.
@pytest.mark.filterwarnings("default")
def test_gives_its_outputs_again(path: Path, runner: ModuleType) -> None:
    again = runner.stable(runner.execute(path))
    kept = runner.stable(runner.read(path))
    for number, (ours, theirs) in enumerate(zip(again, kept, strict=True), 1):
        hint = f"cell {number}: python notebooks/execute.py {path.stem} writes it anew"
        assert ours == theirs, hint


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["quickstart", "thresholds_and_rules"])
def test_copied_elsewhere_it_says_where_its_traces_are(
    name: str, runner: ModuleType, tmp_path: Path
) -> None:
    shutil.copy(FOLDER / f"{name}.ipynb", tmp_path)
    notebook = runner.read(tmp_path / f"{name}.ipynb")
    here = {"metadata": {"path": str(tmp_path)}}
    with pytest.raises(nbclient.exceptions.CellExecutionError) as raised:
        nbclient.NotebookClient(notebook, timeout=60, resources=here).execute()
    assert raised.value.ename == "FileNotFoundError"
    assert "repository of torchtraceap, tests/data" in raised.value.evalue


class TestWhatIsCompared:
    """A change must be seen, and a time that varies must not be one."""

    @staticmethod
    def notebook(text: str, tags: tuple[str, ...] = ()) -> Any:
        cell = nbformat.v4.new_code_cell("pass", metadata={"tags": list(tags)})
        cell.outputs = [nbformat.v4.new_output("stream", text=text)]
        return nbformat.v4.new_notebook(cells=[cell])

    def test_text(self, runner: ModuleType) -> None:
        one, other = self.notebook("1 ms"), self.notebook("2 ms")
        assert runner.stable(one) != runner.stable(other)

    def test_not_where_it_varies(self, runner: ModuleType) -> None:
        one, other = (self.notebook(t, ("varies",)) for t in ("1 ms", "2 ms"))
        assert runner.stable(one) == runner.stable(other)
        other.cells[0].outputs = []
        assert runner.stable(one) != runner.stable(other)

    def test_names_of_cells_and_folders_go(self, runner: ModuleType) -> None:
        text = f"/tmp/ipykernel_12/3456.py:7 and {FOLDER}/sampler.py, ['1234567.py:7']"
        assert runner._without_places(text) == (
            "cell.py:7 and notebooks/sampler.py, ['cell.py:7']"
        )
        for cut in ("…/mine/notebooks/sampler.py:7", "…/notebooks/sampler.py:7"):
            assert runner._without_places(cut) == "notebooks/sampler.py:7"
