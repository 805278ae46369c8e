# SPDX-License-Identifier: BSD-3-Clause
"""balance_image.py: the page's bars of the balance as pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from torchtraceap.base.units import share_text, time_text
from torchtraceap.report_data import ReportData
from torchtraceap.views.html.balance_bars import Bar, balance_bars
from torchtraceap.views.html.colors import BACKGROUNDS, FAMILIES, NEUTRAL, TEXT

_COLORS = FAMILIES | NEUTRAL
_WIDTH, _MARGIN, _LINE, _BAR, _SWATCH = 960, 16, 22, 26, 12
_LEAST = 0.1  # Percent: what is less is drawn, but has no name below.


def balance_image(report: ReportData) -> npt.NDArray[np.uint8] | None:
    """Return bars with their legends as height x width x RGB; None if the trace has no
    balance, as an unusable one has none."""
    from PIL import Image, ImageDraw, ImageFont

    bars = balance_bars(report)
    if not bars:
        return None
    font = ImageFont.load_default(14)
    legends = [_legend(bar, font) for bar in bars]
    lines = sum(legend[-1][0] + 1 for legend in legends)
    height = 2 * _MARGIN + lines * _LINE + len(bars) * (2 * _LINE + _BAR)
    image = Image.new("RGB", (_WIDTH, height), BACKGROUNDS[0].light)
    draw = ImageDraw.Draw(image)
    y = _MARGIN
    for bar, legend in zip(bars, legends, strict=True):
        draw.text((_MARGIN, y), _title(bar), TEXT.light, font)
        y += _LINE
        scale = (_WIDTH - 2 * _MARGIN) / 100
        for part in bar.parts:
            left = _MARGIN + part.x * scale
            box = (left, y, left + part.width * scale, y + _BAR)
            draw.rectangle(box, _COLORS[part.color].light)
        y += _BAR + _LINE // 4
        for line, x, text, color in legend:
            top = y + line * _LINE
            box = (x, top + 3, x + _SWATCH, top + 3 + _SWATCH)
            draw.rectangle(box, _COLORS[color].light)
            draw.text((x + _SWATCH + 6, top), text, TEXT.light, font)
        y += (legend[-1][0] + 1) * _LINE + _LINE - _LINE // 4
    return np.asarray(image)


def _title(bar: Bar) -> str:
    busy = share_text(bar.busy_us, bar.span_us)
    return f"{bar.title}: busy {busy} of {time_text(bar.span_us)}"


def _legend(bar: Bar, font: Any) -> list[tuple[int, int, str, str]]:
    """Return of each part that is large enough its line, where it begins in it, its
    text and its color."""
    placed: list[tuple[int, int, str, str]] = []
    line, x = 0, _MARGIN
    for part in bar.parts:
        if part.width < _LEAST:
            continue
        text = f"{part.name} {share_text(part.us, bar.span_us)}"
        width = _SWATCH + 6 + int(font.getlength(text)) + 18
        if x + width > _WIDTH - _MARGIN and x > _MARGIN:
            line, x = line + 1, _MARGIN
        placed.append((line, x, text, part.color))
        x += width
    return placed or [(0, _MARGIN, "nothing", "rest")]
