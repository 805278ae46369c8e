# SPDX-License-Identifier: BSD-3-Clause
"""wait_heads.py: how texts call a place that waits, on each version of Python."""

from __future__ import annotations

import sys

from torchtraceap.waits.table import head_of

ITEM = "aten::_local_scalar_dense"


def head(written: str, api: str = ITEM) -> str:
    """Return the head of a line for a place in the code: before 3.11, Python
    does not report which expression asks whether something is true."""
    known = sys.version_info >= (3, 11) or not written.startswith("`")
    return f"{written} ({api})" if known else head_of(api)
