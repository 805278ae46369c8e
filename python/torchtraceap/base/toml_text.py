# SPDX-License-Identifier: BSD-3-Clause
"""toml_text.py: the reader of TOML, whichever Python runs."""

from __future__ import annotations

import sys
from typing import Any


def read_toml(text: str) -> dict[str, Any]:
    """Return the contents of a document. Raises ValueError if it is not TOML."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)
