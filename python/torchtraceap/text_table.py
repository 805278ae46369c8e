# SPDX-License-Identifier: BSD-3-Clause
"""text_table.py: columns of plain text."""

from collections.abc import Sequence


def align(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Return a line for each row, its cells in columns two blanks apart.

    ``right`` names the columns that are set flush right. The last column is not
    padded, so that a long one costs the others nothing.
    """
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
