# SPDX-License-Identifier: BSD-3-Clause
"""document.py: a template as one HTML file that needs nothing else.

The browser is told by the page (Content-Security-Policy) to run our script and apply
our style, by their hashes, and to load nothing: should a name from a trace ever get out
of its quotes, it could still do nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from torchtraceap import _core
from torchtraceap.views.html import colors
from torchtraceap.views.html.templates import asset, render

#: Rows of a table.
MOST_ROWS = 100


def document(
    template: str, values: Mapping[str, Any], scripts: Sequence[str], timeline: str
) -> str:
    """Return a page: a template, with the scripts of these names and the JSON of its
    timeline."""
    light, dark = colors.variables("light"), colors.variables("dark")
    sheet = style(
        f":root{{{light}}}",
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}",
    )
    sheet += "\n" + asset("page.css")  # Last, as it has the last word.
    script = "".join(map(asset, scripts))
    policy = (
        "default-src 'none'",
        f"script-src {_source(script)}",
        f"style-src {_source(sheet)}",
        "base-uri 'none'",
        "form-action 'none'",
    )
    raw = {
        "style": sheet,
        "script": script,
        "policy": "; ".join(policy),
        "timeline": timeline,
    }
    shared = {"version": _core.__version__, "most_rows": MOST_ROWS}
    return render(template, {**shared, **values}, raw)


def style(*rules: str) -> str:
    """Return the style of what page and notebook show alike, behind some rules."""
    return "\n".join((*rules, colors.classes(), asset("parts.css")))


def script_json(data: object) -> str:
    """Return data as JSON that may stand in a ``script`` element."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    # Neither "</script>" nor "<!--" may stand in a script element, whatever its type.
    return text.replace("<", "\\u003c").replace("&", "\\u0026")


def _source(text: str) -> str:
    """Return what allows one inline script or style by its hash."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
