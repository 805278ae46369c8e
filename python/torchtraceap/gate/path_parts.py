# SPDX-License-Identifier: BSD-3-Clause
"""path_parts.py: paths of traces, of any system, by the names in them.

Of ``/a/b.py`` the parts are "", "a" and "b.py"; of ``b.py`` that only. A folder is as
many of them as it has: () is the working folder, ("",) the root.
"""

from __future__ import annotations

import re
from itertools import takewhile

Parts = tuple[str, ...]

_ROOTS = ((), ("home",), ("Users",))  # Below that of a disk; no program's own.


def parts_of(path: str) -> Parts:
    """Return the names in a path, with slashes of any system."""
    return tuple(re.split(r"[/\\]", path))


def is_absolute(parts: Parts) -> bool:
    """Tell whether these begin at a disk."""
    return parts[:1] == ("",) or (len(parts) > 0 and parts[0].endswith(":"))


def is_root(folder: Parts) -> bool:
    """Tell whether this is the root of a disk, or where all users have their homes."""
    return is_absolute(folder) and folder[1:] in _ROOTS


def is_in(one: Parts, other: Parts) -> bool:
    """Tell whether one is the other, or lies in it."""
    return one[: len(other)] == other


def common(one: Parts, other: Parts) -> Parts:
    """Return the parts that both begin with."""
    pairs = zip(one, other, strict=False)
    return tuple(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def start_of(name: str, folder: Parts) -> str:
    """Return the folder of a file as its path has it."""
    length = len("/".join(folder))
    is_disk = len(folder) == 1 and is_absolute(folder)  # Of "/" and "C:/" the slash is.
    return name[: length + is_disk]
