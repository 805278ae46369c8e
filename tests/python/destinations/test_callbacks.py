# SPDX-License-Identifier: BSD-3-Clause
"""test_callbacks.py: destinations as callbacks, and the programs of their pages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.integrations.mlflow import MLflow
from torchtraceap.integrations.prometheus import Prometheus
from torchtraceap.integrations.tensorboard import TensorBoard
from torchtraceap.integrations.wandb import WandB

from ..pages import blocks, page, section
from ..small_work import CPU, SEVERAL_CYCLES, work
from .reading import OLD_PANDAS, events_of, records_of, rows_of, samples


@OLD_PANDAS
@SEVERAL_CYCLES
def test_all_of_them_as_callbacks(wandb: Any, mlflow: Any, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    with TensorBoard(runs) as tensorboard, WandB() as wandb_run:
        callbacks = [
            tensorboard,
            wandb_run,
            MLflow(),
            Prometheus(tmp_path / "x.prom"),
        ]
        with torchtraceap.profile(
            quiet=True,
            wait=0,
            repeat=2,
            callbacks=callbacks,
            activities=CPU,
        ) as prof:
            for _ in range(8):
                work()
                prof.step()
        last = [report.steps[-1].number for report in prof.reports]
        assert last == [3, 7]
    scalars = events_of(runs).Scalars("torchtraceap/step_seconds")
    assert [scalar.step for scalar in scalars] == last
    rows = rows_of(records_of(tmp_path))
    assert [row["torchtraceap/step"] for row in rows] == last
    assert samples(tmp_path / "x.prom")["torchtraceap_step"][0].value == 7


def test_a_failure_is_told_and_ends_nothing(
    slow_loader: torchtraceap.Report, tmp_path: Path
) -> None:
    pytest.importorskip("prometheus_client")
    folder = tmp_path / "there"
    folder.mkdir()
    handler = torchtraceap.Analyzer(
        callbacks=Prometheus(folder / "x.prom"), verbosity=0
    )
    folder.rmdir()
    with pytest.warns(RuntimeWarning, match=r"callback Prometheus: .*x\.prom"):
        handler.deliver(slow_loader, None)


@pytest.mark.parametrize(
    ("make", "package", "extra"),
    [
        (TensorBoard, "tensorboard", "tensorboard"),
        (WandB, "wandb", "wandb"),
        (MLflow, "mlflow", "mlflow"),
        (MLflow, "pandas", "mlflow"),
        (Prometheus, "prometheus_client", "prometheus"),
    ],
)
def test_an_absent_package_is_named(
    make: Callable[[str], object],
    package: str,
    extra: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"pip install 'torchtraceap\[{extra}\]'"):
        make("x")


# --- The pages ------------------------------------------------------------------------


@OLD_PANDAS
@SEVERAL_CYCLES
@pytest.mark.parametrize(
    "destination", ["TensorBoard", "Weights & Biases", "MLflow", "Prometheus"]
)
def test_the_code_of_a_destination(
    destination: str,
    wandb: Any,
    mlflow: Any,
    here: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = section(page("integrations"), "Where results go")
    train = blocks(text, "python")[0]
    (code,) = blocks(section(text, destination), "python")
    exec(compile(train + code, f"{destination}.py", "exec"), {})
    assert "dataloader_bound (single_process)" in capsys.readouterr().out
    name = "torchtraceap_wasted_seconds/dataloader_bound"
    if destination == "TensorBoard":
        scalars = events_of(here / "runs" / "example").Scalars(name)
        assert [scalar.step for scalar in scalars] == [4, 9]
    elif destination == "Weights & Biases":
        rows = [row for row in rows_of(records_of(here)) if name in row]
        assert [row["torchtraceap/step"] for row in rows] == [4, 9]
        assert all("loss" in row for row in rows)  # It has no rows of its own.
    elif destination == "MLflow":
        (run,) = mlflow.MlflowClient().search_runs(["0"])
        history = mlflow.MlflowClient().get_metric_history(run.info.run_id, name)
        assert [metric.step for metric in history] == [4, 9]
    else:
        (step,) = samples(here / "torchtraceap.prom")["torchtraceap_step"]
        assert step.value == 9
