# SPDX-License-Identifier: BSD-3-Clause
"""test_destinations.py: reports in TensorBoard, W&B, MLflow, and for Prometheus."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.integrations.destination import tag
from torchtraceap.integrations.metrics import OTHER, values_of
from torchtraceap.integrations.mlflow import MLflow
from torchtraceap.integrations.prometheus import Prometheus
from torchtraceap.integrations.tensorboard import TensorBoard
from torchtraceap.integrations.wandb import WandB

from ..trace_builder import op, report_of
from .reading import OLD_PANDAS, events_of, records_of, rows_of, samples, told

# --- TensorBoard ----------------------------------------------------------------------


def board(where: Any, **options: Any) -> TensorBoard:
    pytest.importorskip("torch")
    pytest.importorskip("tensorboard")
    return TensorBoard(where, **options)


def test_tensorboard(every: list[torchtraceap.Report], tmp_path: Path) -> None:
    with board(tmp_path) as write:
        for step, report in enumerate(every):
            write(report, step)
    events = events_of(tmp_path)
    expected = told(every[0])
    for name, value in expected.items():
        first = events.Scalars(name)[0]
        assert (first.step, first.value) == (0, pytest.approx(value, rel=1e-6))
    texts = events.Tensors("torchtraceap/findings/text_summary")
    assert [text.step for text in texts] == [0, 1, 2, 3]
    shown = [text.tensor_proto.string_val[0].decode() for text in texts]
    assert "| `resnet50_profiler_api.py:42` |" in shown[0]
    assert "**What helps**" in shown[0] and "details>" not in shown[0]
    assert "This trace cannot be analyzed." in shown[2]


def test_a_writer_of_the_users_stays_open(
    slow_loader: torchtraceap.Report, tmp_path: Path
) -> None:
    pytest.importorskip("tensorboard")
    pytest.importorskip("torch")
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(tmp_path))
    with board(writer, step=lambda: 30) as write:
        write(slow_loader)
    writer.add_scalar("loss", 1.0, 31)
    writer.close()
    assert len(list(tmp_path.iterdir())) == 1
    events = events_of(tmp_path)
    assert events.Scalars("loss")[0].step == 31
    assert events.Scalars("torchtraceap/step_seconds")[0].step == 30


def test_where_must_be_a_place() -> None:
    with pytest.raises(TypeError, match="a folder or a SummaryWriter, but is of type"):
        board(5)


def test_every_rank_is_a_run(data: Path, tmp_path: Path) -> None:
    report = torchtraceap.analyze(data / "nccl-rank000of128-sampled.json.gz")
    with board(tmp_path / "runs") as write:
        write(report)
    Prometheus(tmp_path / "x.prom")(report)
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["rank0"]
    (quality,) = samples(tmp_path / "x-rank0.prom")["torchtraceap_quality_level"]
    assert quality.labels == {"rank": "0"}


def test_a_negative_rank_is_none(tmp_path: Path) -> None:
    report = report_of(op("x", 1, 2), distributedInfo={"rank": -5, "world_size": 2})
    assert report.trace.rank is None
    Prometheus(tmp_path / "x.prom")(report)
    assert os.listdir(tmp_path) == ["x.prom"]


# --- Weights & Biases -----------------------------------------------------------------


def test_wandb(every: list[torchtraceap.Report], wandb: Any, tmp_path: Path) -> None:
    with WandB() as log:
        for step, report in enumerate(every):
            log(report, step)
        assert wandb.run is None, "it never stands where a run of the user's would"
    records = records_of(tmp_path)
    rows = rows_of(records)
    assert [row["torchtraceap/step"] for row in rows] == [0, 1, 2, 3]
    expected = told(every[0])
    assert {name: rows[0][name] for name in expected} == pytest.approx(expected)
    tables = sorted(tmp_path.glob("wandb/*/files/media/table/torchtraceap/*_0_*.json"))
    table = json.loads(tables[0].read_text())
    assert len(table["data"]) == len(every[0].findings)
    assert table["columns"][:2] == ["id", "pattern"]
    sent = [r.request.log_artifact.artifact for r in records if r.HasField("request")]
    sent += [record.artifact for record in records if record.HasField("artifact")]
    artifacts = [one for one in sent if one.type == "profile"]
    assert len(artifacts) == 4
    entries = {entry.path for entry in artifacts[0].manifest.contents}
    assert entries == {"report.html", "report.json"}


def test_a_run_of_the_users_goes_on(
    slow_loader: torchtraceap.Report, wandb: Any, tmp_path: Path
) -> None:
    """And its rows are as they would be without us, except for our additions."""
    run = wandb.init(project="mine")
    try:
        with WandB(files=False) as log:
            run.log({"loss": 1.0}, step=5)
            log(slow_loader)
            run.log({"accuracy": 0.5}, step=5)
            run.log({"loss": 0.9}, step=6)
        assert wandb.run is run
    finally:
        run.finish()
    first, second = rows_of(records_of(tmp_path))
    assert (first["loss"], first["accuracy"], first["_step"]) == (1.0, 0.5, 5)
    assert first["torchtraceap/step"] == slow_loader.steps[-1].number
    assert (second["loss"], second["_step"]) == (0.9, 6)


# --- MLflow ---------------------------------------------------------------------------


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


# --- Prometheus -----------------------------------------------------------------------


def test_prometheus(every: list[torchtraceap.Report], tmp_path: Path) -> None:
    path = tmp_path / "x.prom"
    write = Prometheus(path, lines=2)
    for report in every:
        write(report)
        found = samples(path)
        expected = {tag(v).split("/")[0] for v in values_of(report) if v.value}
        assert expected - {"torchtraceap"} <= {*found}
        assert found["torchtraceap_quality_level"][0].value in (0, 1, 2)
        assert [entry.name for entry in tmp_path.iterdir()] == ["x.prom"]
    # Of the hostile one, last: one line, whose name is whole enough to be found.
    (line,) = [s.labels["line"] for s in found["torchtraceap_line_wasted_seconds"]]
    assert line.startswith('a"b\\c\\x0a{x="1"} 2') and line.endswith(".py in load()")
    assert len(line) == 120
    assert "evil" not in found


def test_prometheus_keeps_few_lines(
    slow_loader: torchtraceap.Report, tmp_path: Path
) -> None:
    path = tmp_path / "x.prom"
    Prometheus(path, lines=2)(slow_loader, 40)
    found = samples(path)
    lines = [s.labels["line"] for s in found["torchtraceap_line_wasted_seconds"]]
    assert len(lines) == 3 and lines[-1] == OTHER
    assert found["torchtraceap_step"][0].value == 40
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_prometheus_says_what_is_wrong(
    slow_loader: torchtraceap.Report, tmp_path: Path
) -> None:
    pytest.importorskip("prometheus_client")
    with pytest.raises(FileNotFoundError, match=r"absent is not there: make it, or"):
        Prometheus(tmp_path / "absent" / "x.prom")
    with pytest.raises(ValueError, match="lines must be at least 0, but is -1"):
        Prometheus(tmp_path / "x.prom", lines=-1)
    folder = tmp_path / "there"
    folder.mkdir()
    write = Prometheus(folder / "x.prom")
    folder.rmdir()
    with pytest.raises(FileNotFoundError, match=str(folder / "x.prom")):
        write(slow_loader)
