# SPDX-License-Identifier: BSD-3-Clause
"""training_profile.py: the profile that a trainer's callback begins, steps and ends."""

from __future__ import annotations

from typing import Any

from torchtraceap.profiling.notices import guarded
from torchtraceap.profiling.profile import profile
from torchtraceap.report import Report

# What makes a step with every trainer here, for messages.
STEP_CALL = "the optimizer's step()"


class TrainingProfile:
    """What callbacks of trainers have in common; a step is one of the optimizer.

    Attributes:
        session: What ``torchtraceap.profile`` returns.
    """

    def __init__(self, **options: Any) -> None:
        self.session = profile(**options)
        self.session.step_call = STEP_CALL

    @property
    def reports(self) -> list[Report]:
        """The reports so far, the latest last: one for each recorded cycle."""
        return self.session.reports

    @property
    def report(self) -> Report | None:
        """The latest report; None before the first cycle is over."""
        return self.session.report

    def begin(self) -> None:
        """Begins; a training that cannot be profiled goes on, with a RuntimeWarning."""
        self.end()  # What a training left that ended by an exception.
        guarded("this training is not profiled", self.session.start)

    def step(self) -> None:
        """Tells that the optimizer's step, and all before it, is over."""
        if self.session.torch_profiler is not None:  # It could be started.
            self.session.step()

    def end(self) -> None:
        """Ends, if it runs, and reports what was not reported yet. Never raises."""
        self.session.stop()

    def __del__(self) -> None:
        # The session itself is held until it ends.
        if session := vars(self).get("session"):
            session.stop()
