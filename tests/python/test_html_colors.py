# SPDX-License-Identifier: BSD-3-Clause
"""test_html_colors.py: patterns can be told apart, light or dark, by all readers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from torchtraceap import _core
from torchtraceap.views.html import colors

# How linear RGB is seen with a full dichromacy (Machado, Oliveira, Fernandes 2009).
SIGHT = {
    name: np.array(rows.split(), float).reshape(3, 3)
    for name, rows in {
        "normal": "1 0 0  0 1 0  0 0 1",
        "protanopia": "0.152286 1.052583 -0.204868  0.114503 0.786281 0.099216 "
        "-0.003882 -0.048116 1.051998",
        "deuteranopia": "0.367322 0.860646 -0.227968  0.280085 0.672501 0.047413 "
        "-0.011820 0.042940 0.968881",
        "tritanopia": "1.255528 -0.076749 -0.178779  -0.078411 0.930809 0.147602 "
        "0.004733 0.691367 0.303900",
    }.items()
}


def linear(color: str) -> np.ndarray:
    """sRGB to linear light."""
    parts = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    dark, light = parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4
    return np.where(parts <= 0.04045, dark, light)


def contrast(a: str, b: str) -> float:
    """The contrast of WCAG 2."""
    y = [float(linear(color) @ (0.2126, 0.7152, 0.0722)) + 0.05 for color in (a, b)]
    return max(y) / min(y)


def oklab(light: np.ndarray) -> np.ndarray:
    """Linear light to OKLab, in which distances are as they are seen."""
    to_cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    to_lab = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    seen: np.ndarray = np.array(to_lab) @ np.cbrt(np.array(to_cones) @ light)
    return seen


def test_every_pattern_has_one_color() -> None:
    assert {pattern.family for pattern in _core.patterns()} == set(colors.FAMILIES)
    assert colors.family("sync_stall") == "wait"
    assert colors.family("a_rule_of_my_own") == "other"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_losses_stand_out_from_the_background(theme: str) -> None:
    for name, color in colors.FAMILIES.items():
        for background in colors.BACKGROUNDS:
            ratio = contrast(getattr(color, theme), getattr(background, theme))
            assert ratio >= 3, (name, ratio)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read(theme: str) -> None:
    text = getattr(colors.TEXT, theme)
    for ground in (*colors.BACKGROUNDS, *colors.SLICES.values()):
        assert contrast(text, getattr(ground, theme)) >= 4.5, ground
    # Links have the color of a family, on both backgrounds.
    link = getattr(colors.FAMILIES["launch"], theme)
    for ground in colors.BACKGROUNDS:
        assert contrast(link, getattr(ground, theme)) >= 4.5


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "names",
    [
        [*colors.FAMILIES],
        ["busy", "waiting", "communication", "delayed", "wait"],  # In rows of ranks.
    ],
    ids=["families", "ranks"],
)
def test_colors_differ_for_every_sight(
    names: list[str], theme: str, sight: str
) -> None:
    known = colors.FAMILIES | colors.NEUTRAL | colors.RANKS
    seen = {
        name: oklab(np.clip(SIGHT[sight] @ linear(getattr(known[name], theme)), 0, 1))
        for name in names
    }
    for a, b in combinations(seen, 2):
        assert np.linalg.norm(seen[a] - seen[b]) >= 0.06, (a, b)
