# SPDX-License-Identifier: BSD-3-Clause
"""torchtraceap: where a PyTorch profiler trace wastes time, by what, on which line."""

from typing import TYPE_CHECKING

from torchtraceap._core import Trace, __version__
from torchtraceap.analysis import analyze, load
from torchtraceap.errors import TraceError

if TYPE_CHECKING:
    from torchtraceap.report import Report

__all__ = ["analyze", "load", "Report", "Trace", "TraceError", "__version__"]


def __getattr__(name: str) -> object:
    # Every start of pytest imports this package; what only a report needs can wait.
    if name == "Report":
        from torchtraceap.report import Report

        return Report
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
