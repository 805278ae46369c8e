# SPDX-License-Identifier: BSD-3-Clause
"""conftest.py: a job that ran here, for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..conftest import python


@pytest.fixture(scope="session")
def slow_job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the traces of four gloo ranks, of which rank 2 loads 11 ms longer a
    step, in ``slow_read``."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("job") / "runs"
    folder.mkdir()
    script = Path(__file__).with_name("train_ranks.py")
    ran = python(script, folder, 4, 2, 11)
    assert ran.returncode == 0, ran.stderr
    return folder
