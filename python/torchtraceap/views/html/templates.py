# SPDX-License-Identifier: BSD-3-Clause
"""templates.py: fills the templates; no text from a trace gets out of here as markup.

Everything that a template writes is first made printable (safe_text.py) and then
escaped; what it may write as it is, is wrapped in ``Markup`` here and nowhere else.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchtraceap.base.safe_text import printable
from torchtraceap.base.units import share_text, time_text
from torchtraceap.views.html.colors import family

if TYPE_CHECKING:
    import jinja2

_FOLDER = Path(__file__).parent
_MOST_TEXT = 400  # Names of kernels have hundreds of characters, hostile ones more.


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
        "family": family,
        "place": lambda number: f"{number:.3f}".rstrip("0").rstrip("."),
        "share": share_text,
        "short": printable,
        "time": time_text,
    }
    return environment


def _written(value: object) -> object:
    """Make what a template writes printable, if it is not markup of our own."""
    if value is None:
        return ""
    return value if hasattr(value, "__html__") else printable(str(value), _MOST_TEXT)
