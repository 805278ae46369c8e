# SPDX-License-Identifier: BSD-3-Clause
"""test_notebooks.py: every notebook runs from top to bottom, and is kept small."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("torch")

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> Any:
    return nbformat.read(request.param, as_version=nbformat.NO_CONVERT)


def test_is_clean(notebook: Any) -> None:
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    for cell in notebook.cells:
        assert not cell.get("outputs") and cell.get("execution_count") is None


@pytest.mark.slow
# What Jupyter's own packages warn of is not ours to mend.
@pytest.mark.filterwarnings("default")
def test_runs(notebook: Any) -> None:
    client = nbclient.NotebookClient(
        notebook, timeout=60, resources={"metadata": {"path": str(FOLDER)}}
    )
    client.execute()
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    # Kineto announces itself on stderr; warnings would be there too.
    errors = "".join(o.text for o in outputs if o.get("name") == "stderr")
    assert "Warning" not in errors, errors
    printed = "".join(o.text for o in outputs if o.get("name") == "stdout")
    assert len(printed) > 200
