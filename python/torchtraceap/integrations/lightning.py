# SPDX-License-Identifier: BSD-3-Clause
"""lightning.py: a callback for Lightning's Trainer (docs/integrations.md)."""

from __future__ import annotations

from typing import Any

from torchtraceap.integrations.extra import of_extra
from torchtraceap.integrations.training_profile import TrainingProfile
from torchtraceap.profiling.notices import warn

with of_extra("lightning"):
    from lightning.pytorch import Callback
    from lightning.pytorch.profilers import PyTorchProfiler


class ProfileCallback(TrainingProfile, Callback):  # type: ignore[misc]
    """Profiles a few steps of a Lightning ``Trainer`` and says what wastes time::

        trainer = Trainer(..., callbacks=[callback := ProfileCallback()])
        trainer.fit(model, loader)
        callback.report

    A step is one of the optimizer, with all its micro-batches and what fetches them.
    Sanity validation comes before the first one; a validation within the training is
    part of the step after it. Each of several ranks has its report, and the first one
    prints.

    Args:
        **options: As for ``torchtraceap.profile``.

    Raises what ``torchtraceap.profile`` raises.
    """

    _updates = 0  # Of the optimizers, as of the last step.

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Begins, after sanity validation."""
        if isinstance(trainer.profiler, PyTorchProfiler):
            warn(
                "this training is not profiled: the Trainer has a PyTorchProfiler, and "
                "torch can run only one profiler at a time. Take one of the two out, "
                "or give that one on_trace_ready=torchtraceap.analyze."
            )
            return
        self._updates = trainer.global_step
        self.begin()

    def on_train_batch_end(self, trainer: Any, *args: Any, **kwargs: Any) -> None:
        """Ends a step, if the optimizer made one with this batch."""
        if trainer.global_step != self._updates:
            self._updates = trainer.global_step
            self.step()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Ends, and reports what was not reported yet."""
        self.end()

    def on_exception(self, *args: Any, **kwargs: Any) -> None:
        """Ends with a training that raised."""
        self.end()
