# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks of torchtraceap, and the lab that trains and judges its detector.

Nothing here is installed: ``python -m benchmarks.loader.run``, from the root of the
repository. A process that one of these starts has `ROOT` as its working directory.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
#: Recorded traces: those of the tests, and more beside the repository.
DATA = ROOT / "tests" / "data"
TRACES = ROOT.parent / "shared" / "traces"
