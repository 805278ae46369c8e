# SPDX-License-Identifier: BSD-3-Clause
"""reasons.py: what went wrong with a trace, as the program says it."""

from __future__ import annotations

from torchtraceap.errors import RuleError

# What loading and analysing a trace may raise.
FAILURES = (ValueError, OSError, MemoryError, RuntimeError)


def reason(path: str, error: BaseException) -> str:
    """Return what is wrong with a trace; the core's messages name it themselves."""
    if isinstance(error, MemoryError):
        return f"{path}: does not fit into memory. Record fewer steps, or free some."
    if isinstance(error, FileNotFoundError) and not str(error).endswith("."):
        return f"{error}. Check the path and whether the file may be read."
    if isinstance(error, RuleError):
        return f"{path}: {error}"
    if isinstance(error, RuntimeError):  # What the core checks of itself failed.
        return (
            f"{path}: the analysis failed, not by a fault of the trace: {error}. "
            "Please report it, with the trace if you can."
        )
    return str(error)
