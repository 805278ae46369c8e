# SPDX-License-Identifier: BSD-3-Clause
"""document.py: fills the templates; a page is one HTML file that needs nothing else.

Everything that a template writes is first made printable (safe_text.py) and then
escaped; text that needs no escaping is wrapped in ``Markup`` here and nowhere else. The
page's Content-Security-Policy lets the browser run our script and apply our style, by
their hashes, and load nothing: a name from a trace that escaped its quotes could still
do nothing.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchtraceap import _core
from torchtraceap.base.safe_text import printable
from torchtraceap.base.units import share_text, time_text
from torchtraceap.views.html import colors

if TYPE_CHECKING:
    import jinja2

MOST_ROWS = 100  #: Of a table.
_IN_NOTEBOOK = 20  # Rows of a table.
# Where a notebook, or a site that shows one, says that it is light or dark. The classic
# notebook is always light.
_LIGHT = (
    *('[data-jp-theme-light="true"]', ".vscode-light", 'html[theme="light"]'),
    *('[data-theme="light"]', ".rendered_html"),
)
_DARK = (
    *('[data-jp-theme-light="false"]', ".vscode-dark", 'html[theme="dark"]'),
    '[data-theme="dark"]',
)
_FOLDER = Path(__file__).parent
_MOST_TEXT = 400  # Names of kernels have hundreds of characters, hostile ones more.


def document(
    template: str,
    values: Mapping[str, Any],
    scripts: Sequence[str],
    timeline: str,
    shows: Sequence[Sequence[str]] = (),
) -> str:
    """Return a page: a template, with the scripts of these names and the JSON of its
    timeline.

    ``shows``: the scripts of each kind of page that it frames. Only such a page may ask
    its server for anything.
    """
    light, dark = colors.variables("light"), colors.variables("dark")
    sheet = style(
        f":root{{{light}}}",
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}",
    )
    sheet += "\n" + asset("page.css")  # Last, as it has the last word.
    script = "".join(map(asset, scripts))
    # A framed page without an address has the policy of the page around it, too.
    framed = (_source("".join(map(asset, names))) for names in shows)
    policy = (
        "default-src 'none'",
        f"script-src {' '.join((_source(script), *framed))}",
        *(["connect-src 'self'"] if shows else []),
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


def notebook(template: str, values: Mapping[str, Any]) -> str:
    """Return what a notebook shows: no script, and one that strips styles still shows
    table and text."""
    # The scheme is that of scroll bars.
    light, dark = (
        f"color-scheme:{theme};{colors.variables(theme)}" for theme in ("light", "dark")
    )
    # Themed by the notebook if it says how, else by the system.
    sheet = style(
        f".torchtraceap{{{light}}}",
        f"@media (prefers-color-scheme:dark){{.torchtraceap{{{dark}}}}}",
        *(f"{where} .torchtraceap{{{light}}}" for where in _LIGHT),
        *(f"{where} .torchtraceap{{{dark}}}" for where in _DARK),
    )
    sheet += "\n" + asset("notebook.css")
    return render(template, {"most_rows": _IN_NOTEBOOK, **values}, {"style": sheet})


def style(*rules: str) -> str:
    """Return the style of what page and notebook show alike, behind some rules."""
    return "\n".join((*rules, colors.classes(), asset("parts.css")))


def script_json(data: object) -> str:
    """Return data as JSON that may stand in a ``script`` element."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    # Neither "</script>" nor "<!--" may stand in a script element, whatever its type.
    return text.replace("<", "\\u003c").replace("&", "\\u0026")


class Names:
    """Texts of a timeline by their numbers: each is stored once, as it is shown, cut
    to ``most`` characters (0: whole)."""

    def __init__(self, most: int = 0) -> None:
        self.texts: list[str] = []
        self._most = most
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of a text."""
        text = printable(text, self._most)
        if text not in self._numbers:
            self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return self._numbers[text]


def differences(numbers: Sequence[int]) -> list[int]:
    """Return by how much each number exceeds the one before, the first exceeds 0."""
    return [b - a for a, b in zip([0, *numbers], numbers, strict=False)]


def _source(text: str) -> str:
    """Return what allows one inline script or style by its hash."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def render(template: str, values: Mapping[str, Any], raw: Mapping[str, str]) -> str:
    """Return a template filled with values.

    ``raw`` holds style, script and JSON that are ours or escaped for their place.
    """
    from markupsafe import Markup

    ours = {name: Markup(text) for name, text in raw.items()}
    return _templates().get_template(template).render({**values, **ours})


@functools.cache
def asset(name: str) -> str:
    """Return the text of a file of this folder."""
    return (_FOLDER / name).read_text(encoding="utf-8")


@functools.cache
def _templates() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_written,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "family": colors.family,
        "whole": _whole,
        "place": lambda number: f"{number:.3f}".rstrip("0").rstrip("."),
        "share": share_text,
        "short": printable,
        "time": time_text,
    }
    return environment


def _whole(text: str) -> object:
    """Escape a text of our own that must not be cut."""
    from markupsafe import escape

    return escape(text)


def _written(value: object) -> object:
    """Make what a template writes printable, if it is not markup of our own."""
    if value is None:
        return ""
    return value if hasattr(value, "__html__") else printable(str(value), _MOST_TEXT)
