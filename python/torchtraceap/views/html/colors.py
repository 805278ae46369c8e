# SPDX-License-Identifier: BSD-3-Clause
"""colors.py: one color for each pattern, by what the time was lost to.

More than thirty patterns cannot all be told apart by color. So each belongs to one of
nine families, which can: their colors are at least 0.06 apart in OKLab for normal
sight, protanopia, deuteranopia and tritanopia, and have a contrast of 3:1 with the
background, which tests/python/test_html_colors.py checks. Color is never the only
sign: the pattern's name is next to it.
"""

from __future__ import annotations

from typing import NamedTuple

from torchtraceap import _core


class Color(NamedTuple):
    """A color on a light background, and on a dark one."""

    light: str
    dark: str


BACKGROUNDS = (Color("#ffffff", "#15181d"), Color("#f4f5f7", "#1e2229"))

# By family, as the core's table of patterns has it.
FAMILIES: dict[str, Color] = {
    "input": Color("#b74704", "#f0a030"),
    "wait": Color("#d61e5e", "#f14c61"),
    "launch": Color("#2546c8", "#6f8dff"),
    "optimizer": Color("#8577ea", "#b7c3ff"),
    "compile": Color("#7a1f8a", "#a865c8"),
    "copy": Color("#0a93ad", "#8aece4"),
    "communication": Color("#007a35", "#14976c"),
    "kernel": Color("#84901a", "#eedc3a"),
    # Users' own rules come here, too.
    "other": Color("#6e6c6f", "#aba19d"),
}
# Time that is not a loss: quieter, without the contrast of a loss.
NEUTRAL: dict[str, Color] = {
    "busy": Color("#a9b4c2", "#4d5968"),
    "rest": Color("#dfe3e8", "#2f3640"),
}
# Events in the timeline: backgrounds on which their names can be read (4.5:1 with the
# text), by a word that the event's category contains; the first that fits.
SLICES: dict[str, Color] = {
    "mem": Color("#a8dbe2", "#1f5660"),
    "kernel": Color("#b7cbea", "#2f4f80"),
    "ccp": Color("#b7cbea", "#2f4f80"),  # What MTIA's devices run.
    "annotation": Color("#dccfec", "#4a3b61"),
    "python": Color("#d8e3c2", "#3c4a29"),
    "op": Color("#cdd6e1", "#39434f"),
    "runtime": Color("#ecd6bd", "#5a452d"),
    "driver": Color("#ecd6bd", "#5a452d"),
    "": Color("#dfe3e8", "#2f3640"),
}
# In rows of ranks, paler than what they lead to: waiting, than the transfer after it;
# being late because of another rank, than being late.
RANKS: dict[str, Color] = {
    "waiting": Color("#bde3cc", "#143c1f"),
    "delayed": Color("#d9859b", "#a32a48"),
}
TEXT = Color("#16191d", "#e6e9ed")

_FAMILY_OF = {pattern.name: pattern.family for pattern in _core.patterns()}


def family(pattern: str) -> str:
    """Return the family of a pattern or of a user's own rule."""
    return _FAMILY_OF.get(pattern, "other")


def slice_color(category: str) -> str:
    """Return which of the variables ``--s-...`` a category of events has."""
    return next(word for word in SLICES if word in category) or "other"


def variables(theme: str) -> str:
    """Return the CSS variables of a theme, "light" or "dark"."""
    colors = FAMILIES | NEUTRAL
    named = {f"c-{name}": color for name, color in colors.items()}
    named |= {"page": BACKGROUNDS[0], "panel": BACKGROUNDS[1], "text": TEXT}
    named |= {f"s-{name}": color for name, color in RANKS.items()}
    named |= {f"s-{word or 'other'}": color for word, color in SLICES.items()}
    return "".join(f"--{name}:{getattr(c, theme)};" for name, c in named.items())


def classes() -> str:
    """Return a CSS class ``c-<family>`` each, for SVG shapes and for swatches, and for
    swatches ``s-<name>`` of what is in rows of ranks."""
    shapes = "".join(
        f".torchtraceap .c-{name}{{fill:var(--c-{name});background:var(--c-{name})}}"
        for name in (*FAMILIES, *NEUTRAL)
    )
    swatches = (f".torchtraceap .s-{n}{{background:var(--s-{n})}}" for n in RANKS)
    return shapes + "".join(swatches)
