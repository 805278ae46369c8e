# SPDX-License-Identifier: BSD-3-Clause
"""conf.py: builds these pages, and the reference from docstrings, into a site.

    sphinx-build -W --keep-going -b html docs build/docs

Nothing is fetched: the site reads the same without a network. It includes the pages of
benchmarks/results and the notebooks, through the links `results` and `notebooks`; other
links out of this folder lead to copies of the files they name.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import torchtraceap

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "torchtraceap"
author = "torchtraceap contributors"
project_copyright = author
version = release = torchtraceap.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "notebook_page",
]
exclude_patterns = ["extensions"]
source_suffix = {".md": "markdown", ".ipynb": "markdown"}
root_doc = "index"

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

# Single backticks in docstrings are code.
default_role = "literal"
autodoc_default_options = {"members": True}
# Several records have a field `bytes`, which annotations with Python's type fit too.
suppress_warnings = ["ref.python"]
# Trainers that classes here derive from.
autodoc_mock_imports = [
    name
    for name in ("accelerate", "lightning", "transformers")
    if importlib.util.find_spec(name) is None
]
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 72
napoleon_numpy_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"torchtraceap {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"
highlight_language = "default"

linkcheck_timeout = 20
linkcheck_retries = 2


def link_to_files(app: Sphinx, doctree: nodes.document) -> None:
    """Turn links to Markdown outside this folder into links to copies of the files."""
    from sphinx import addnodes

    inside = {
        str((Path(app.srcdir) / name).resolve()): name
        for name in ("results", "notebooks")
    }
    for link in list(doctree.findall(addnodes.pending_xref)):
        target = f"{link.get('reftarget')}.md"
        if link.get("refdomain") != "doc" or not os.path.isabs(target):
            continue
        folder, name = os.path.split(link["reftarget"])
        if folder in inside:
            link["reftarget"] = f"{inside[folder]}/{name}"
        else:  # A document outside the site has no name there, so it goes by its path.
            copy = addnodes.download_reference(
                reftarget="/" + os.path.relpath(target, app.srcdir),
                refdoc=link["refdoc"],
            )
            copy += link.children
            link.replace_self(copy)


def link_to_exports(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.reference | None:
    """Link what an annotation names by its module to where the reference has it."""
    if node.get("refdomain") != "py" or node["reftarget"].count(".") < 2:
        return None
    package, _, path = node["reftarget"].partition(".")
    name = f"{package}.{path.rpartition('.')[2]}"
    return env.domains["py"].resolve_xref(
        env, node["refdoc"], app.builder, "obj", name, node, content
    )


def setup(app: Sphinx) -> None:
    # Before Sphinx collects what is to be copied.
    app.connect("doctree-read", link_to_files, priority=400)
    app.connect("missing-reference", link_to_exports)
