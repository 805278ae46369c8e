# SPDX-License-Identifier: BSD-3-Clause
"""foreign_files.py: reads `.npz` and `.csv` of the form that foreign_scores.py says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd


class ScoresError(ValueError):
    """A file of scores cannot be scored; the message says why."""


def read_file(path: Path, known: Sequence[str]) -> tuple[dict[str, str], pd.DataFrame]:
    """Return what a file says of itself, and its columns, of `known` those there are.

    Raises:
        ScoresError: It is not of the form.
    """
    return _read_npz(path, known) if path.suffix == ".npz" else _read_csv(path)


def _read_npz(path: Path, known: Sequence[str]) -> tuple[dict[str, str], pd.DataFrame]:
    with np.load(path) as file:
        if "fingerprint" not in file.files:
            raise ScoresError(f"{path}: no array fingerprint")
        columns = {name: file[name] for name in known if name in file.files}
        said = {
            name: str(file[name].item())
            for name in ("fingerprint", "probable")
            if name in file.files
        }
    if len({len(values) for values in columns.values()}) > 1:
        raise ScoresError(f"{path}: its arrays are of different lengths")
    return said, pd.DataFrame(columns)


def _read_csv(path: Path) -> tuple[dict[str, str], pd.DataFrame]:
    said = {}
    with path.open(encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                break
            name, _, value = line[1:].partition(":")
            said[name.strip()] = value.strip()
    if "fingerprint" not in said:
        raise ScoresError(f"{path}: its first line is not '# fingerprint: ...'")
    words = dict.fromkeys(("run", "fold", "type"), str)
    try:
        return said, pd.read_csv(path, dtype=words, skiprows=len(said))
    except (ValueError, pd.errors.ParserError) as error:
        raise ScoresError(f"{path}: {error}") from None
