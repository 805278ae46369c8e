# SPDX-License-Identifier: BSD-3-Clause
"""check_sarif.py: what breaks a budget as SARIF, on the lines that do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torchtraceap.gate.sarif import sarif_log, sarif_run

if TYPE_CHECKING:
    from torchtraceap.gate.checked import Checked


def check_sarif(checks: Sequence[Checked], root: str | None = None) -> dict[str, Any]:
    """Return checks as a SARIF log: the findings that break a limit are its results,
    what each broken limit says is a notification of its run."""
    runs = []
    for checked in checks:
        said = [v for line in checked.broken for v in line.violations]
        findings = {f.id: f for violation in said for f in violation.findings}
        notes = [violation.message for violation in said]
        runs.append(sarif_run(checked.report, findings.values(), notes, root))
    return sarif_log(runs)
