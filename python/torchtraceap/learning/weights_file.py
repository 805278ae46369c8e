# SPDX-License-Identifier: BSD-3-Clause
"""weights_file.py: what a file of weights says of itself, in its safetensors header.

Only for files that ``_torch`` has read or written: their headers are sound.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_metadata(path: Path) -> dict[str, str]:
    """Return the metadata of a file."""
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    metadata: dict[str, str] = header["__metadata__"]
    return metadata


def write_with(source: Path, target: Path, more: dict[str, str]) -> None:
    """Write a file again, with other or further metadata; ``target`` may be it."""
    data = source.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header: dict[str, Any] = json.loads(data[8:end])
    header["__metadata__"] |= more
    text = json.dumps(header, ensure_ascii=False).encode()
    target.write_bytes(len(text).to_bytes(8, "little") + text + data[end:])
