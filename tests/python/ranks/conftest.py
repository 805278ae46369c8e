# SPDX-License-Identifier: BSD-3-Clause
"""conftest.py: a job that ran here, for the tests of this folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def slow_job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the traces of four gloo ranks, of which rank 2 loads 11 ms longer a
    step, in ``slow_read``."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("job") / "runs"
    folder.mkdir()
    script = Path(__file__).with_name("train_ranks.py")
    command = [sys.executable, str(script), str(folder), "4", "2", "11"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return folder
