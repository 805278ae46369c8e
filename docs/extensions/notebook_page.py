# SPDX-License-Identifier: BSD-3-Clause
"""notebook_page.py: shows executed notebooks, with their outputs, as pages.

A page of ``docs/notebooks/`` holds a link to a notebook, for readers of the repository.
In the site the notebook stands in its place: text as text, code as code, of an output
what a browser may show of it. Nothing is executed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")


def show_notebook(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put a notebook in the place of the page that links to it."""
    if not docname.startswith("notebooks/"):
        return
    page = Path(app.env.doc2path(docname))
    (target,) = (t for t in _LINK.findall(source[0]) if t.endswith(".ipynb"))
    path = page.parent / target
    app.env.note_dependency(str(path))
    notebook = json.loads(path.read_text("utf-8"))
    source[0] = "\n\n".join(_parts(notebook, path, page))


def _parts(notebook: dict[str, Any], path: Path, page: Path) -> Iterator[str]:
    for number, cell in enumerate(notebook["cells"]):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield _LINK.sub(lambda m: f"]({_from_page(m[1], path, page)}", text)
        else:
            yield _fenced("python", text)
            yield from map(_output, cell["outputs"])
        if number == 0:
            yield f"This page is [{path.name}]({os.path.relpath(path, page.parent)})."


def _from_page(target: str, path: Path, page: Path) -> str:
    """A link of the notebook's as one of the page's: of a notebook, to its page."""
    beside = page.parent / Path(target).with_suffix(".md").name
    if target.endswith(".ipynb") and beside.exists():
        return beside.name
    return os.path.relpath((path.parent / target).resolve(), page.parent.resolve())


def _output(out: dict[str, Any]) -> str:
    data = out.get("data", {})
    if "text/html" in data:
        inner = _fenced("{raw} html", "".join(data["text/html"]))
    else:
        text = "".join(out.get("text", data.get("text/plain", "")))
        inner = _fenced("text", text.rstrip("\n"))
    return f"::::::{{container}} notebook-output\n{inner}\n::::::"


def _fenced(language: str, text: str) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", show_notebook)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
