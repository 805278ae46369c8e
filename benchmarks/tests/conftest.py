# SPDX-License-Identifier: BSD-3-Clause
"""conftest.py: the benchmarks' own tests, all marked for `make verify`."""

from __future__ import annotations

import os

# As of tests/python/conftest.py.
os.environ["TORCHTRACEAP_DETECTOR"] = "off"
os.environ.setdefault("OMP_NUM_THREADS", "1")
