# SPDX-License-Identifier: BSD-3-Clause
"""mlflow.py: reports in a run of MLflow: metrics, a table, artifacts."""

from __future__ import annotations

import time
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

_BATCH = 1000  # Metrics that MLflow takes at once.


class MLflow(Destination):
    """Logs reports to a run of MLflow: metrics, a table of the findings and, as
    artifacts, the HTML page and the JSON report::

        torchtraceap.profile(callbacks=MLflow())

    It logs to your run where one is given or active (``mlflow.active_run()``), which
    stays open. Else it makes a run of its own with the first report, which is never
    the active one; of several ranks, the first one does, and the others log nothing.

    Args:
        run: Your run, or its id; None: the active one, else one of its own.
        uri: The tracking server or store, such as ``"file:./mlruns"`` (for which
            MLflow 3 wants MLFLOW_ALLOW_FILE_STORE=true). With it, and without ``run``,
            the run is its own. None: that which MLflow is set to.
        experiment: That of its own run; made if need be.
        files: Attach the page and the JSON report.
        step: Returns the step that a report is shown at, such as
            ``lambda: trainer.global_step``. None: the last one that was recorded.

    Raises:
        ImportError: mlflow or pandas is not installed; the message names the extra.
    """

    def __init__(
        self,
        run: Any = None,
        *,
        uri: str | None = None,
        experiment: str = PREFIX,
        files: bool = True,
        step: Callable[[], int] | None = None,
    ) -> None:
        super().__init__(step)
        with of_extra("mlflow"):
            import mlflow
            import pandas  # noqa: F401  # of which MLflow makes tables
        self._mlflow = mlflow
        self._run = run
        self._uri = uri
        self._experiment = experiment
        self._files = files
        self._own: str | None = None

    def _write(self, report: Report, values: Sequence[Value], step: int) -> None:
        client = self._mlflow.MlflowClient(tracking_uri=self._uri)
        run = self._run_id(client)
        if run is None:
            return
        now_ms = int(time.time() * 1000)
        metrics = [
            self._mlflow.entities.Metric(tag(value), value.value, now_ms, step)
            for value in values
        ]
        for first in range(0, len(metrics), _BATCH):
            client.log_batch(run, metrics[first : first + _BATCH])
        # MLflow adds the rows to those of before. A file for each report would not do:
        # it keeps the names of all in one tag, which has room for some fifty.
        rows = findings_table(report)
        count = len(next(iter(rows.values())))
        table = {STEP: [step] * count} | rows
        client.log_table(run, table, f"{PREFIX}/findings.json")
        if self._files:
            folder = f"{PREFIX}/step-{step}"
            client.log_text(run, report.to_html(), f"{folder}/report.html")
            client.log_text(run, report.to_json(), f"{folder}/report.json")
        if run == self._own:  # It has no end of which this would hear.
            client.set_terminated(run)

    def _run_id(self, client: Any) -> str | None:
        run = self._run
        if run is None and self._uri is None:
            run = self._mlflow.active_run()
        if run is not None:
            return str(getattr(getattr(run, "info", run), "run_id", run))
        if self._own is None and is_first_process():
            found = client.get_experiment_by_name(self._experiment)
            experiment = (
                found.experiment_id
                if found
                else client.create_experiment(self._experiment)
            )
            self._own = str(client.create_run(experiment).info.run_id)
        return self._own
