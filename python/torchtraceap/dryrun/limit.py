# SPDX-License-Identifier: BSD-3-Clause
"""limit.py: ends a run that takes too long, as a loop that hangs on a guess does."""

from __future__ import annotations

import time
from collections.abc import Callable

from torchtraceap.errors import DryRunLimit


class Limit:
    """Counts operators, from now on.

    Args:
        most: So many are let pass.
        seconds: For so long.
    """

    def __init__(self, most: int, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._ops = 0
        self._until = time.monotonic() + seconds

    def count(self, ending: Callable[[], None]) -> None:
        """Count an operator; ``ending`` is called if it is one too many.

        Raises:
            DryRunLimit: It is.
        """
        self._ops += 1
        if self._ops > self._most:
            ending()
            raise DryRunLimit(
                f"the dry run was ended after {self._most:,} operators: a loop may "
                "depend on a value that was guessed. Look at run.record, run fewer "
                'steps, take values="all" on a small input, or raise max_ops'
            )
        if self._ops % 64 == 0 and time.monotonic() > self._until:
            ending()
            raise DryRunLimit(
                f"the dry run was ended after {self._seconds:g} s, in which it "
                f"made {self._ops:,} operators. Run fewer steps, or raise max_seconds"
            )
