# SPDX-License-Identifier: BSD-3-Clause
"""One delayed rank of a real training is found; benchmarks/stragglers has more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..real_traces import ROOT

pytest.importorskip("torch")

_HIDDEN = """
import sys, json
from pathlib import Path
from benchmarks.stragglers.hidden import record, score
from benchmarks.stragglers.hidden_program import Case

if __name__ == "__main__":
    case = Case(
        seed=1, ranks=2, slow_rank=1, place="host work", delay_ms=25, width=64,
        depth=3, bucket_mb=0.05, accumulation=1, broadcast_buffers=True,
    )
    folder = Path(sys.argv[1])
    record(case, folder)
    print(json.dumps(score(case, folder)))
"""


@pytest.mark.verify  # half a minute on a busy machine
@pytest.mark.skipif(sys.platform != "linux", reason="gloo over the loopback of Linux")
def test_a_delayed_rank_is_found(tmp_path: Path) -> None:
    script = tmp_path / "hidden_once.py"
    script.write_text(_HIDDEN)
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "job")],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout.splitlines()[-1])
    assert row["found_at"] in (1, 2), row["told"]
    assert row["apart"] == 0
