# SPDX-License-Identifier: BSD-3-Clause
"""test_tensorboard.py: reports in TensorBoard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.integrations.balance_image import balance_image
from torchtraceap.integrations.prometheus import Prometheus
from torchtraceap.integrations.tensorboard import TensorBoard

from .reading import events_of, samples, told


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
    assert "Nothing can be said of this trace." in shown[2]
    images = events.Images("torchtraceap/balance")
    assert [image.step for image in images] == [0, 1, 3]  # none of the unusable one
    assert images[0].encoded_image_string.startswith(b"\x89PNG")


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


def test_the_image_has_the_colors_of_the_page(
    slow_loader: torchtraceap.Report, unusable: torchtraceap.Report
) -> None:
    pytest.importorskip("PIL")
    image = balance_image(slow_loader)
    assert image is not None and image.shape[1:] == (480, 3)
    found = {tuple(int(v) for v in color) for row in image for color in row}
    assert {(0xB7, 0x47, 0x04), (0x25, 0x46, 0xC8)} <= found  # input and launch
    assert balance_image(unusable) is None
