# SPDX-License-Identifier: BSD-3-Clause
"""test_wandb.py: reports in a run of Weights & Biases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.integrations.wandb import WandB

from .reading import records_of, rows_of, told


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
    """And its rows are as they would be without us, but for what we add."""
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
