# SPDX-License-Identifier: BSD-3-Clause
"""toml_text.py: the reader of TOML, whichever Python runs."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 11):
    from tomllib import TOMLDecodeError, loads
else:
    from tomli import TOMLDecodeError, loads

__all__ = ["TOMLDecodeError", "loads"]
