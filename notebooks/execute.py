# SPDX-License-Identifier: BSD-3-Clause
"""execute.py: runs the notebooks here and keeps their outputs.

    python notebooks/execute.py                # all of them, written anew
    python notebooks/execute.py quickstart     # one
    python notebooks/execute.py --check        # none written; exits with 1 on a change

Outputs must say nothing of the machine and be the same in each run. Those of cells with
the tag ``varies`` hold times measured here, and are compared by their kind alone.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import Any

import nbclient
import nbformat

FOLDER = Path(__file__).resolve().parent
TIMEOUT_S = 60  # For each cell.
# What is kept must not hang on which weights there are, or whether torch is; kernels
# inherit it.
os.environ["TORCHTRACEAP_DETECTOR"] = "off"

# The file of a cell is named by the process and a hash of its text.
_CELL_FILE = re.compile(r"(?:[^\s\"'(&;]*ipykernel_\d+/\d+|\b\d{6,})\.py")

# A place in a file of this folder, cut short to fit a table.
_CUT = re.compile(rf"…/(?:[^/\s\"'<>]+/)*?(?={FOLDER.name}/)")


def notebooks() -> list[Path]:
    """The notebooks of this folder."""
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> Any:
    """A notebook as it is on disk."""
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def execute(path: Path) -> Any:
    """A notebook with the outputs of a run from top to bottom.

    Raises nbclient's CellExecutionError if a cell fails, RuntimeError if one warns.
    """
    notebook = read(path)
    resources = {"metadata": {"path": str(FOLDER)}}
    client = nbclient.NotebookClient(
        notebook, timeout=TIMEOUT_S, resources=resources, record_timing=False
    )
    client.execute()
    # Which Python it was.
    notebook.metadata.language_info = {"name": "python"}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [_clean(out) for out in _merged(cell.outputs)]
    return notebook


def stable(notebook: Any) -> list[Any]:
    """What must not change from run to run: outputs, or their kinds where they vary."""
    return [
        [
            _kind(out) if "varies" in cell.metadata.get("tags", ()) else _content(out)
            for out in cell.outputs
        ]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _merged(outputs: list[Any]) -> list[Any]:
    """Output printed in one piece or in several is the same."""
    merged: list[Any] = []
    for out in outputs:
        if out.get("name") == "stderr":
            # Kineto announces itself there.
            if "Warning" in out.text:
                raise RuntimeError(out.text)
        elif merged and out.get("name") == "stdout" == merged[-1].get("name"):
            merged[-1].text += out.text
        else:
            merged.append(out)
    return merged


def _clean(out: Any) -> Any:
    if "text" in out:
        out.text = _without_places(out.text)
    for kind, text in out.get("data", {}).items():
        if isinstance(text, str):
            out.data[kind] = _without_places(text)
    return out


def _without_places(text: str) -> str:
    named = _CELL_FILE.sub("cell.py", text).replace(f"{FOLDER.parent}/", "")
    return _CUT.sub("", named)


def _kind(out: Any) -> Any:
    return sorted(out.get("data", [out.get("name", "")]))


def _content(out: Any) -> Any:
    return dict(out.data) if "data" in out else out.get("text", "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", nargs="*", help="all notebooks if none is named")
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    options = parser.parse_args()
    names = options.name or [path.stem for path in notebooks()]
    changed = 0
    for name in names:
        path = FOLDER / f"{name}.ipynb"
        notebook = execute(path)
        if not options.check:
            nbformat.write(notebook, path)
            print(f"{path.name}: written, {path.stat().st_size / 1024:.0f} KiB")
        elif stable(notebook) != stable(read(path)):
            changed = 1
            print(f"{path.name}: its outputs changed; run {sys.argv[0]} {name}")
    return changed


if __name__ == "__main__":
    sys.exit(main())
