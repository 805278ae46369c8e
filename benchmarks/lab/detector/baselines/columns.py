# SPDX-License-Identifier: BSD-3-Clause
"""baselines/columns.py: which columns of a corpus are the rules' own shares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: The table of features calls the share of a pattern so: `cause_sync_stall`.
CAUSE = "cause_"


def by_cause(columns: Sequence[str]) -> np.ndarray:
    """Return bool [F]: the column is what a rule of torchtraceap found, not a count."""
    return np.array([name.startswith(CAUSE) for name in columns], bool)
