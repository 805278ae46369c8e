#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# benchmarks/device/run.sh [--minutes 8] [--out DIR] ...: builds, tests and measures on a
# machine with a GPU that can install nothing (README.md). `run.sh --help` lists the rest.
root=$(cd "$(dirname "$0")/../.." && pwd)
PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH} exec python3 -m benchmarks.device.run_steps "$@"
