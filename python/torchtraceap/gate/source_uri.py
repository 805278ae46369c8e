# SPDX-License-Identifier: BSD-3-Clause
"""source_uri.py: a Python file of a trace as the URI that review tools look for."""

from __future__ import annotations

import os
import posixpath
import re
from urllib.parse import quote

from torchtraceap.source_lines import resolve


def source_uri(file: str, root: str | None = None) -> tuple[str, bool] | None:
    """Return the URI of a file, and whether it is relative to the root.

    The root is the folder that a checkout has its files in, the working folder by
    default. What lies elsewhere gets a ``file:`` URI. None for what is no file, such as
    ``<string>`` or a cell of a notebook. Files are looked for, never opened.
    """
    path = file.replace("\\", "/")
    if not path.strip("./") or path.startswith("<") or "\0" in path:
        return None
    if drive := re.match(r"/*([A-Za-z]:)/", path):
        rest = posixpath.normpath("/" + path[drive.end() :]).lstrip("/")
        return f"file:///{drive[1]}/{_quoted(rest)}", False
    if path.startswith("//"):  # A share of another machine, which no link may open.
        return None
    folder = os.path.abspath(root or os.getcwd()).replace("\\", "/")
    if not path.startswith("/") and not os.path.isfile(posixpath.join(folder, path)):
        # Of a module, the profiler leaves out the folder of sys.path.
        path = resolve(path).replace("\\", "/")
    whole = posixpath.normpath(posixpath.join(folder, path))
    inside = folder.rstrip("/") + "/"
    if whole.startswith(inside):
        return _quoted(whole[len(inside) :]), True
    return "file://" + _quoted(whole), False


def _quoted(path: str) -> str:
    # A colon is quoted too: before the first slash it would end a scheme.
    return quote(path.encode("utf-8", "replace"), safe="/")
