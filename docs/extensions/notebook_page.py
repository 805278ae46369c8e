# SPDX-License-Identifier: BSD-3-Clause
"""notebook_page.py: shows executed notebooks, with their outputs, as pages.

``docs/notebooks`` is a link to the notebooks of the repository. Each becomes Markdown
before it is parsed: text as text, code as code, and the part of an output that a
browser can show. Nothing is executed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx


def show_notebook(app: Sphinx, docname: str, source: list[str]) -> None:
    """Turn the JSON of a notebook into Markdown."""
    path = Path(app.env.doc2path(docname))
    if path.suffix == ".ipynb":
        source[0] = "\n\n".join(_parts(json.loads(source[0])))


def _parts(notebook: dict[str, Any]) -> Iterator[str]:
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield text
        else:
            yield _fenced("python", text)
            yield from map(_output, cell["outputs"])


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
