# SPDX-License-Identifier: BSD-3-Clause
"""record.py: the command ``record``: how to record a serving engine, and whether a
trace has what that asks for."""

from __future__ import annotations

import argparse

from torchtraceap.analysis import analyze
from torchtraceap.cli.options import Options
from torchtraceap.cli.output import BUDGET_BROKEN, OK, Commands, about, say

EXAMPLES = (
    ("torchtraceap record vllm", "how to start vLLM, and what to send"),
    ("torchtraceap record sglang", "the same for SGLang"),
    ("torchtraceap record sglang --check t.json.gz", "whether a trace can be judged"),
)

# Options of vLLM 0.13 and later (older ones read VLLM_TORCH_PROFILER_DIR), and of
# SGLang 0.5.
_VLLM = """\
# 1. Serve as in production: CUDA graphs and asynchronous scheduling on.
vllm serve MODEL \\
  --profiler-config.profiler=torch \\
  --profiler-config.torch_profiler_dir=/absolute/traces \\
  --profiler-config.torch_profiler_with_stack=false \\
  --profiler-config.torch_profiler_record_shapes=true \\
  --profiler-config.ignore_frontend=true \\
  --profiler-config.delay_iterations=20 \\
  --profiler-config.max_iterations=50

# 2. Keep it busy with the load that matters.
vllm bench serve --model MODEL --max-concurrency 32 --num-prompts 256 &

# 3. Record 50 steady iterations, and wait until the file is written.
curl -X POST http://localhost:8000/start_profile
sleep 30
curl -X POST http://localhost:8000/stop_profile

# 4. Look.
torchtraceap record vllm --check /absolute/traces/*rank0*.json.gz
torchtraceap analyze /absolute/traces/*rank0*.json.gz --tables

# Lines of code: once more with torch_profiler_with_stack=true, for places, not times.
# Operators inside CUDA graphs: a recording of their capture (capture_traces/), by
# torchtraceap analyze TRACE --capture FOLDER
"""
_SGLANG = """\
# 1. Serve as in production: CUDA graphs and the overlap schedule on.
SGLANG_TORCH_PROFILER_DIR=/absolute/traces \\
  python -m sglang.launch_server --model-path MODEL

# 2. Keep it busy with the load that matters.
python -m sglang.bench_serving --backend sglang --max-concurrency 32 \\
  --num-prompts 256 &

# 3. Record 50 steady steps; it stops by itself. Prompts and decode steps apart.
curl -X POST http://localhost:30000/start_profile \\
  -H "Content-Type: application/json" \\
  -d '{"num_steps": 50, "activities": ["CPU", "GPU"], "record_shapes": true,
       "with_stack": false, "profile_by_stage": true}'

# 4. Look.
torchtraceap record sglang --check /absolute/traces/*TP-0*DECODE*.json.gz
torchtraceap analyze /absolute/traces/*TP-0*DECODE*.json.gz --tables

# Lines of code: once more with "with_stack": true, for places, not times.
# Operators inside CUDA graphs: a recording of their capture (capture_traces/), by
# torchtraceap analyze TRACE --capture FOLDER
"""
_HOW = {"vllm": _VLLM, "sglang": _SGLANG}


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "record", help="say how to record vLLM or SGLang, or check such a trace"
    )
    command.add_argument("engine", choices=tuple(_HOW), help="the serving engine")
    Options(command)(
        "--check TRACE", "hold a trace against it; exit code 1 if something is missing"
    )


def run(options: argparse.Namespace) -> int:
    if options.check is None:
        say(_HOW[options.engine].rstrip())
        return OK
    with about(options.check):
        checks = analyze(options.check).core.check_serving()
    for check in checks:
        mark = "ok     " if check.passed else "missing"
        say(f"{mark}  {check.name}" + (f": {check.detail}" if check.detail else ""))
    return OK if all(check.passed for check in checks) else BUDGET_BROKEN
