# SPDX-License-Identifier: BSD-3-Clause
"""record.py: the command ``record``: how to record a serving engine, and whether a
trace has what that asks for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from torchtraceap.analysis import analyze
from torchtraceap.cli.options import Options
from torchtraceap.cli.output import (
    BAD_INPUT,
    BUDGET_BROKEN,
    OK,
    Commands,
    Refused,
    about,
    complain,
    say,
)
from torchtraceap.data.source import RankPaths, source_of
from torchtraceap.ranks.rank_files import trace_paths

EXAMPLES = (
    ("torchtraceap record vllm", "how to start vLLM, and what to send"),
    ("torchtraceap record sglang", "the same for SGLang"),
    ("torchtraceap record sglang --check t.json.gz", "whether a trace can be judged"),
    ("torchtraceap record vllm --check traces/", "the same for each rank, a line each"),
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
        "--check TRACE",
        "hold traces against it, files or folders; exit code 1 if something is missing",
        nargs="+",
    )


def run(options: argparse.Namespace) -> int:
    if options.check is None:
        say(_HOW[options.engine].rstrip())
        return OK
    paths, code = _traces(options.check), OK
    for path in paths:
        try:
            with about(path):
                checks = analyze(path).core.check_serving(options.engine)
        except Refused as error:
            if not paths[1:]:
                raise
            complain(str(error))
            code = BAD_INPUT
            continue
        missing = [check.name for check in checks if not check.passed]
        if paths[1:]:
            _say(not missing, path, ", ".join(missing))
        for check in () if paths[1:] else checks:
            _say(check.passed, check.name, check.detail)
        code = max(code, BUDGET_BROKEN if missing else OK)
    return code


def _traces(given: Sequence[str]) -> list[str]:
    """Return the files, and those of folders and patterns. Raises Refused for one
    without any; files that are not traces are listed."""
    paths: list[str] = []
    for path in given:
        with about(path):
            source = source_of(path)
            if not isinstance(source, RankPaths):
                paths.append(path)
                continue
            found, skipped = trace_paths(source)
        paths += found
        for one in skipped:
            complain(f"{one.path}: {one.why}. It is left out.")
    return paths


def _say(passed: bool, what: str, detail: str) -> None:
    say(
        f"{'ok     ' if passed else 'missing'}  {what}"
        + (f": {detail}" if detail else "")
    )
