# SPDX-License-Identifier: BSD-3-Clause
"""reading.py: what destinations wrote, read by their own packages if these can."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.integrations.destination import tag
from torchtraceap.integrations.metrics import values_of

# MLflow 3.17 asks pandas 3 for what that deprecates.
OLD_PANDAS = pytest.mark.filterwarnings("ignore:For backward compatibility, 'str'")
Told = dict[str, float]  # By the name of a number.


def told(report: torchtraceap.Report) -> Told:
    """The expected values in a destination for its first report, without the step."""
    return {
        tag(value): value.value
        for value in values_of(report)
        if value.metric.full_name != "step"
        and (value.value or "pattern" not in value.metric.labels)
    }


def events_of(folder: Path) -> Any:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    return EventAccumulator(str(folder)).Reload()


def samples(path: Path) -> dict[str, list[Any]]:
    parser = pytest.importorskip("prometheus_client.parser")
    families = parser.text_string_to_metric_families(path.read_text("utf-8"))
    return {family.name: family.samples for family in families}


def records_of(folder: Path) -> list[Any]:
    """What W&B would send: its files are logs of LevelDB with a head of 7 bytes."""
    import wandb
    from wandb.proto.wandb_internal_pb2 import Record

    wandb.teardown()  # Its service writes the last after the run has finished.
    (path,) = folder.glob("wandb/offline-run-*/*.wandb")
    data = path.read_bytes()
    records, whole, at = [], b"", 7
    while at + 7 <= len(data):
        if (left := 32768 - at % 32768) < 7:
            at += left
            continue
        length, kind = struct.unpack("<HB", data[at + 4 : at + 7])
        whole += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last of its parts
            records.append(Record.FromString(whole))
            whole = b""
    return records


def rows_of(records: list[Any]) -> list[dict[str, Any]]:
    return [
        {
            item.key or "/".join(item.nested_key): json.loads(item.value_json)
            for item in record.history.item
        }
        for record in records
        if record.WhichOneof("record_type") == "history"
    ]
