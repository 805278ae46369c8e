# SPDX-License-Identifier: BSD-3-Clause
"""score_table.py: the scores as text."""

from __future__ import annotations

from typing import Any


def lines(sums: dict[str, Any]) -> list[str]:
    """Return the scores by pattern and over all."""
    head = (
        f"{'pattern':24} {'n':>4} {'found':>5} {'priced':>6} {'median':>7} {'p90':>7}"
    )
    out = [head + f" {'inside':>6} {'windows':>7}"]
    for name, line in [*sums["patterns"].items(), ("all", sums["all"])]:
        out.append(
            f"{name:24} {line['n']:4} {line['found']:5} {line['priced']:6} "
            f"{_text(line['median'], '7.3f')} {_text(line['p90'], '7.3f')} "
            f"{_text(line['inside'], '6.2f')} {_text(line.get('windows'), '7.2f')}"
        )
    out.append(
        f"windows right {_text(sums['windows_right'], '.3f')} of "
        f"{sums['windows_with_cause']}; clean windows labeled "
        f"{_text(sums['clean_labeled'], '.3f')} of {sums['clean_windows']}; "
        f"top finding right {_text(sums['top_right'], '.3f')}"
    )
    out.append(
        f"replay refused {sums['refused']} of {sums['traces']}; several faults in "
        f"{sums['several']}, all fixed: error {_text(sums['together_error'], '.3f')}; "
        f"events {_text(sums['events'], '.0f')}; analysis {sums['seconds']:.1f} s"
    )
    return out


def _text(value: float | None, form: str) -> str:
    width = form.split(".")[0]
    return format("-", f">{width}") if value is None else format(value, form)
