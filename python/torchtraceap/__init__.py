# SPDX-License-Identifier: BSD-3-Clause
"""torchtraceap: where a PyTorch profiler trace wastes time, by what, on which line."""

from torchtraceap._core import Trace, TraceError, __version__
from torchtraceap.analysis import analyze, load
from torchtraceap.report import Report

__all__ = ["analyze", "load", "Report", "Trace", "TraceError", "__version__"]
