# SPDX-License-Identifier: BSD-3-Clause
"""judged_result.py: a dry run, held against what a test asks. Loads no torch."""

from __future__ import annotations

from collections.abc import Iterable

from torchtraceap.dryrun.result import Result


class JudgedResult(Result):
    """A result that raises if there is more in it than there may be."""

    def assert_no_sync(
        self,
        *,
        after_step: int = 0,
        allow: Iterable[str] = (),
        max_count: int | None = None,
        max_per_step: int | None = None,
    ) -> None:
        """Raise SyncStalls, an AssertionError, if the program waits for the GPU.

        Args:
            after_step: Only what follows so many calls of `step()` counts.
            allow: As of `SyncCheck`, and so are the other two.

        Raises:
            ValueError: Nothing follows that step.
        """
        __tracebackhide__ = True
        from torchtraceap.checking.dry_judging import assert_no_sync

        assert_no_sync(
            self,
            after_step,
            allow=allow,
            max_count=max_count,
            max_per_step=max_per_step,
        )

    def assert_launches(self, *, max_per_step: int, after_step: int = 0) -> None:
        """Raise AssertionError if a step would launch more kernels than so many.

        Args:
            max_per_step: Of the step that launches most. What follows the last call of
                `step()` is one too; all is, if there was none.
            after_step: Only what follows so many calls of `step()` counts.

        Raises:
            ValueError: Nothing follows that step.
        """
        __tracebackhide__ = True
        from torchtraceap.checking.dry_judging import assert_launches

        assert_launches(self, after_step, max_per_step)
