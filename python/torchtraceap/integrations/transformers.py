# SPDX-License-Identifier: BSD-3-Clause
"""transformers.py: a callback for Transformers' Trainer (docs/integrations.md)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from traceback import walk_stack
from typing import Any

from torchtraceap.integrations.extra import of_extra
from torchtraceap.integrations.training_profile import TrainingProfile

with of_extra("transformers"):
    from transformers import Trainer, TrainerCallback


class ProfileCallback(TrainingProfile, TrainerCallback):  # type: ignore[misc]
    """Profiles a few steps of a Transformers ``Trainer`` and says what wastes time::

        trainer = Trainer(..., callbacks=[callback := ProfileCallback()])
        trainer.train()
        callback.report

    A step is one of the optimizer, with all its micro-batches and what fetches them.
    Of several ranks each has its report, and the first one prints.

    A training that raises ends the profile: `Trainer` has no event for that, so a
    callback that it was made with wraps its `train`. One that was added later ends with
    the next training, or when it is dropped.

    Args:
        **options: As for ``torchtraceap.profile``.

    Raises what ``torchtraceap.profile`` raises.
    """

    def on_init_end(self, *args: Any, **kwargs: Any) -> None:
        """Sees to it that a training that raises ends the profile."""
        trainer = _being_made()
        if trainer is not None:
            trainer.train = self._ended_with(trainer.train)

    def on_train_begin(self, *args: Any, **kwargs: Any) -> None:
        """Begins: the loader's work comes before the first `on_step_begin`."""
        self.begin()

    def on_step_end(self, *args: Any, **kwargs: Any) -> None:
        """Ends a step."""
        self.step()

    def on_train_end(self, *args: Any, **kwargs: Any) -> None:
        """Ends, and reports what was not reported yet."""
        self.end()

    def _ended_with(self, train: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(train)
        def ending(*args: Any, **kwargs: Any) -> Any:
            try:
                return train(*args, **kwargs)
            finally:
                self.end()

        return ending


def _being_made() -> Any:
    """Returns the Trainer whose making calls this; None if there is none."""
    for frame, _ in walk_stack(sys._getframe()):
        if isinstance(made := frame.f_locals.get("self"), Trainer):
            return made
    return None
