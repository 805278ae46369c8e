# SPDX-License-Identifier: BSD-3-Clause
"""wandb.py: reports in a run of Weights & Biases: scalars, a table, an artifact."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from torchtraceap.integrations.destination import (
    PREFIX,
    Destination,
    is_first_process,
    tag,
)
from torchtraceap.integrations.extra import of_extra
from torchtraceap.integrations.metrics import STEP, Value, findings_table
from torchtraceap.report import Report

_STEP = f"{PREFIX}/{STEP}"


class WandB(Destination):
    """Logs reports to a run of Weights & Biases: numbers, a table of the findings and,
    as an artifact, the HTML page and the JSON report::

        torchtraceap.profile(callbacks=WandB())

    It logs to your run where one is given or active (``wandb.run``), and leaves its
    step counter alone: what it logs goes out with your next ``log``, and the charts
    have an axis of their own, ``torchtraceap/step``. Else it opens a run of its own,
    beside any that you open later, with the first report; of several ranks, the first
    one does, and the others log nothing.

    Args:
        run: Your run; None: the active one, else one of its own.
        files: Attach the page and the JSON report.
        step: Returns the step that a report is shown at, such as
            ``lambda: trainer.global_step``. None: the last one that was recorded.
        **init: For its own run, as in ``wandb.init``: ``project``, ``dir``,
            ``mode="offline"``.

    Raises:
        ImportError: wandb is not installed; the message names the extra.
    """

    def __init__(
        self,
        run: Any = None,
        *,
        files: bool = True,
        step: Callable[[], int] | None = None,
        **init: Any,
    ) -> None:
        super().__init__(step)
        with of_extra("wandb"):
            import wandb
        self._wandb = wandb
        self._given = run
        self._files = files
        self._init = init
        self._own: Any = None
        self._has_axis: set[str] = set()  # ids of runs

    def close(self) -> None:
        """Finish the run that this has opened; yours goes on."""
        if self._own is not None:
            self._own.finish()
            self._own = None

    def _write(self, report: Report, values: Sequence[Value], step: int) -> None:
        run = next((r for r in (self._given, self._wandb.run) if r is not None), None)
        if run is None and (run := self._opened()) is None:
            return
        if run.id not in self._has_axis:
            self._has_axis.add(run.id)
            run.define_metric(_STEP, hidden=True)
            run.define_metric(f"{PREFIX}*", step_metric=_STEP)
        findings = findings_table(report)
        table = self._wandb.Table(
            columns=[*findings],
            data=[list(row) for row in zip(*findings.values(), strict=True)],
            allow_mixed_types=True,
        )
        numbers = {tag(value): value.value for value in values}
        row = numbers | {_STEP: step, f"{PREFIX}/findings_table": table}
        # A row of yours is not to end here: its other numbers may still be to come.
        run.log(row, commit=run is self._own)
        if self._files:
            self._attach(run, report, step)

    def _opened(self) -> Any:
        if self._own is None and is_first_process():
            init = {"project": PREFIX, "reinit": "create_new"} | self._init
            self._own = self._wandb.init(**init)
        return self._own

    def _attach(self, run: Any, report: Report, step: int) -> None:
        artifact = self._wandb.Artifact(
            f"{PREFIX}-{run.id}", type="profile", metadata={"step": step}
        )
        with tempfile.TemporaryDirectory() as folder:
            for name, write in (
                ("report.html", report.to_html),
                ("report.json", report.to_json),
            ):
                path = os.path.join(folder, name)
                write(path)
                artifact.add_file(path, policy="mutable")
        run.log_artifact(artifact, aliases=["latest", f"step-{step}"])
