# SPDX-License-Identifier: BSD-3-Clause
"""findings.py: the findings of a report, with lines that only the source has."""

from __future__ import annotations

from torchtraceap import _core
from torchtraceap._core import Finding
from torchtraceap.data.found_lines import FoundLines

#: The pattern of waits for the device, which a dry run lists.
WAITS = "sync_stall"
#: The pattern of windows that the learned detector flags and no rule explains.
UNEXPLAINED = "unexplained"


def read_findings(core: _core.Report) -> tuple[Finding, ...]:
    """Return the rules' findings, in the core's order."""
    return core.findings(FoundLines(core.trace.path).line_of)
