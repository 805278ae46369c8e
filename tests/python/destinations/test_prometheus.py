# SPDX-License-Identifier: BSD-3-Clause
"""test_prometheus.py: reports as a text file for Prometheus."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap.integrations.destination import tag
from torchtraceap.integrations.metrics import OTHER, values_of
from torchtraceap.integrations.prometheus import Prometheus

from .reading import samples


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
