# SPDX-License-Identifier: BSD-3-Clause
"""balance_image.py: the page's bars of the balance as pixels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from torchtraceap.base.units import share_text, time_text
from torchtraceap.report_data import ReportData
from torchtraceap.views.html.balance_bars import Bar, balance_bars
from torchtraceap.views.html.colors import BACKGROUNDS, FAMILIES, NEUTRAL, TEXT

_COLORS = FAMILIES | NEUTRAL
# So narrow that the text can be read on a card of TensorBoard's, some 350 wide.
_WIDTH, _MARGIN, _LINE, _BAR, _SWATCH, _FONT = 480, 14, 24, 28, 14, 17
_LEAST = 0.1  # Percent: what is less is drawn, but has no name below.


def balance_image(report: ReportData) -> npt.NDArray[np.uint8] | None:
    """Return bars with their legends as height x width x RGB; None if the trace has no
    balance, such as an unusable one."""
    from PIL import Image, ImageDraw, ImageFont

    bars = balance_bars(report)
    if not bars:
        return None
    legends = [[part for part in bar.parts if part.width >= _LEAST] for bar in bars]
    lines = sum(2 + len(legend) for legend in legends)
    height = _MARGIN + lines * _LINE + len(bars) * _BAR
    image = Image.new("RGB", (_WIDTH, height), BACKGROUNDS[0].light)
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(_FONT)
    scale = (_WIDTH - 2 * _MARGIN) / 100
    y = _MARGIN
    for bar, legend in zip(bars, legends, strict=True):
        draw.text((_MARGIN, y), _title(bar), TEXT.light, font)
        y += _LINE
        for part in bar.parts:
            left = _MARGIN + part.x * scale
            box = (left, y, left + part.width * scale, y + _BAR)
            draw.rectangle(box, _COLORS[part.color].light)
        y += _BAR + _LINE // 3
        for part in legend:
            box = (_MARGIN, y + 4, _MARGIN + _SWATCH, y + 4 + _SWATCH)
            draw.rectangle(box, _COLORS[part.color].light)
            text = f"{share_text(part.us, bar.span_us)} {part.name}"
            draw.text((_MARGIN + _SWATCH + 8, y), text, TEXT.light, font)
            y += _LINE
        y += _LINE - _LINE // 3
    return np.asarray(image)


def _title(bar: Bar) -> str:
    busy = share_text(bar.busy_us, bar.span_us)
    return f"{bar.title}: busy {busy} of {time_text(bar.span_us)}"
