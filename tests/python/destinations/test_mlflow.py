# SPDX-License-Identifier: BSD-3-Clause
"""test_mlflow.py: reports in a run of MLflow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.integrations.mlflow import MLflow

from .reading import OLD_PANDAS, told


@OLD_PANDAS
def test_mlflow(every: list[torchtraceap.Report], mlflow: Any, tmp_path: Path) -> None:
    uri = f"file:{tmp_path}/own"
    log = MLflow(uri=uri)
    for step, report in enumerate(every):
        log(report, step)
    assert mlflow.active_run() is None
    client = mlflow.MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("torchtraceap")
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    expected = told(every[0])
    for name, value in expected.items():
        first = client.get_metric_history(run.info.run_id, name)[0]
        assert (first.step, first.value) == (0, pytest.approx(value))
    files = client.list_artifacts(run.info.run_id, "torchtraceap")
    folders = {f"torchtraceap/step-{step}" for step in range(4)}
    assert {file.path for file in files} == folders | {"torchtraceap/findings.json"}
    mlflow.set_tracking_uri(uri)  # load_table asks there, whatever the client's is.
    table = client.load_table(experiment.experiment_id, "torchtraceap/findings.json")
    assert list(table.pattern) == [f.pattern for r in every for f in r.findings]
    assert set(table.step) == {0, 3}
    page = Path(
        client.download_artifacts(
            run.info.run_id, "torchtraceap/step-0/report.html", str(tmp_path)
        )
    )
    assert page.read_text("utf-8") == every[0].to_html()


@OLD_PANDAS
def test_an_active_run_stays_active(
    slow_loader: torchtraceap.Report, mlflow: Any
) -> None:
    with mlflow.start_run() as run:
        MLflow(files=False)(slow_loader)
        assert mlflow.active_run().info.run_id == run.info.run_id
        mlflow.log_metric("loss", 1.0, step=3)
    given = MLflow(run)
    given(slow_loader, 50)
    client = mlflow.MlflowClient()
    history = client.get_metric_history(run.info.run_id, "torchtraceap/step_seconds")
    assert [one.step for one in history] == [slow_loader.steps[-1].number, 50]
    assert client.get_experiment_by_name("torchtraceap") is None
