# SPDX-License-Identifier: BSD-3-Clause
"""detector_choice.py: the bundled detector, none, or a file of weights."""

from __future__ import annotations

import os
from collections.abc import Mapping

from torchtraceap.base.arguments import of_type

AUTO, OFF = "auto", "off"
#: Selects it by default: tests, CI and child processes switch it off with this.
VARIABLE = "TORCHTRACEAP_DETECTOR"

DetectorChoice = str | os.PathLike[str]


def checked_choice(
    detector: DetectorChoice, environment: Mapping[str, str] = os.environ
) -> str:
    """Return "auto", "off" or the path of a file of weights.

    A value other than "auto" holds; then the environment's.

    Raises TypeError if it is neither text nor a path, ValueError if it is empty.
    """
    if not isinstance(detector, str | os.PathLike):
        raise TypeError(
            "detector must be 'auto', 'off' or the path of a file of weights, but is "
            f"{of_type(detector)}"
        )
    choice = os.fsdecode(detector)
    if not choice:
        raise ValueError("detector must be 'auto', 'off' or a path, but is empty")
    if choice != AUTO:
        return choice
    return environment.get(VARIABLE) or AUTO
