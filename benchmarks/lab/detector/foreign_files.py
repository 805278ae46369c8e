# SPDX-License-Identifier: BSD-3-Clause
"""foreign_files.py: reads `.npz` and `.csv` of the form that foreign_scores.py says."""

from __future__ import annotations

import zipfile
import zlib
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
    if not zipfile.is_zipfile(path):
        raise ScoresError(
            f"{path}: no .npz, or cut short; write it again with numpy.savez, "
            "or name it .csv if it is one"
        )
    try:
        with np.load(path, allow_pickle=False) as file:
            if "fingerprint" not in file.files:
                raise ScoresError(f"{path}: no array fingerprint")
            columns = {
                name: _array(path, file, name) for name in known if name in file.files
            }
            said = {
                name: _one(path, file, name)
                for name in ("fingerprint", "probable")
                if name in file.files
            }
    except ScoresError:
        raise
    except (ValueError, TypeError, OSError, zipfile.BadZipFile):
        raise ScoresError(f"{path}: no .npz; write it with numpy.savez") from None
    for name, values in columns.items():
        if values.ndim != 1:
            raise ScoresError(
                f"{path}: {name} is of shape {values.shape}, not (N,); "
                f"save {name}.ravel(), a value for each window"
            )
    if len({len(values) for values in columns.values()}) > 1:
        raise ScoresError(f"{path}: its arrays are of different lengths")
    return said, pd.DataFrame(columns)


def _array(path: Path, file: np.lib.npyio.NpzFile, name: str) -> np.ndarray:
    try:
        return np.asarray(file[name])
    except (ValueError, TypeError) as error:
        # What numpy says here advises to allow pickles, which run what they hold.
        what = "is of dtype object" if "Object" in str(error) else "is unreadable"
        kind = "float: .astype(float)"
        if name in ("run", "type", "fold", "fingerprint"):
            kind = "str: .astype('U')"
        elif name == "window":
            kind = "int: .astype(int)"
        raise ScoresError(f"{path}: {name} {what}; save it as {kind}") from None
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile):
        raise ScoresError(
            f"{path}: {name} is cut short or damaged; write the file again"
        ) from None


def _one(path: Path, file: np.lib.npyio.NpzFile, name: str) -> str:
    value = _array(path, file, name)
    if value.size != 1:
        raise ScoresError(f"{path}: {name} holds {value.size} values; save one")
    return str(value.item())


def _read_csv(path: Path) -> tuple[dict[str, str], pd.DataFrame]:
    said: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8") as file:
            for line in file:
                if not line.startswith("#"):
                    break
                name, _, value = (part.strip() for part in line[1:].partition(":"))
                if name in said:
                    raise ScoresError(f"{path}: two lines '# {name}: ...'; keep one")
                said[name] = value
    except UnicodeDecodeError:
        raise ScoresError(
            f"{path}: no text in UTF-8; write it as UTF-8, or name it .npz if it is one"
        ) from None
    except OSError as error:
        raise ScoresError(f"{path}: {error}; make it readable") from None
    if "fingerprint" not in said:
        raise ScoresError(f"{path}: its first line is not '# fingerprint: ...'")
    words = dict.fromkeys(("run", "fold", "type"), str)
    try:
        return said, pd.read_csv(path, dtype=words, skiprows=len(said))
    except (ValueError, TypeError, OSError) as error:
        raise ScoresError(f"{path}: {error}") from None
