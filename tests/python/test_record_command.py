# SPDX-License-Identifier: BSD-3-Clause
"""test_record_command.py: how to record a serving engine, and whether a trace is so."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import torchtraceap

from .conftest import Cli

CHECKS = [
    *("steps", "decode_steps", "engine", "graphs", "graph_work", "in_time"),
    *("complete", "shapes", "no_stacks"),
]


def event(cat: str, name: str, ts: float, dur: float, **more: Any) -> dict[str, Any]:
    on_device = cat == "kernel"
    where = {"pid": 0, "tid": 7} if on_device else {"pid": 1, "tid": 1}
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, **where, **more}


def engine_trace(folder: Path, steps: int = 6, graph: bool = True) -> Path:
    """Decode steps of 5 ms, each with one graph and a kernel of an operator."""
    events = []
    for step in range(steps):
        at = 10_000 + 5_000 * step
        call = "cudaGraphLaunch" if graph else "cudaLaunchKernel"
        shapes = {"Input Dims": [[8, 8], [8, 8]], "Input type": ["float", "float"]}
        events += [
            event("user_annotation", "step[DECODE bs=8]", at, 300),
            event("cpu_op", "aten::mm", at + 10, 30, args=shapes),
            event("cuda_runtime", "cudaLaunchKernel", at + 20, 5,
                  args={"correlation": 2 * step + 1}),
            event("cuda_runtime", call, at + 100, 50,
                  args={"correlation": 2 * step + 2}),
            event("kernel", "gemm", at + 30, 50,
                  args={"correlation": 2 * step + 1, "device": 0, "stream": 7}),
            event("kernel", "fmha", at + 200, 4_000,
                  args={"correlation": 2 * step + 2, "device": 0, "stream": 7}),
        ]  # fmt: skip
    path = folder / f"engine-{steps}-{graph}.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))
    return path


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_how_to_record(engine: str, cli: Cli) -> None:
    text = cli("record", engine).fine()
    assert "start_profile" in text and f"record {engine} --check" in text


def checked(cli: Cli, path: Path) -> tuple[int, dict[str, str]]:
    done = cli("record", "sglang", "--check", path)
    rows = [line.split(maxsplit=1) for line in done.out.splitlines()]
    return done.code, {what.partition(":")[0]: mark for mark, what in rows}


def test_a_trace_is_held_against_it(cli: Cli, tmp_path: Path, data: Path) -> None:
    code, found = checked(cli, engine_trace(tmp_path))
    assert list(found) == CHECKS
    assert (code, set(found.values())) == (0, {"ok"})
    code, found = checked(cli, engine_trace(tmp_path, steps=3, graph=False))
    missing = {name for name, mark in found.items() if mark == "missing"}
    assert (code, missing) == (1, {"decode_steps", "graphs"})
    code, found = checked(cli, data / "mi250-rocm62-tiny.json.gz")
    assert code == 1 and found["steps"] == "missing"
    assert cli("record", "sglang", "--check", tmp_path / "none.json").code == 2


def test_several_traces_have_a_line_each(cli: Cli, tmp_path: Path, data: Path) -> None:
    good, eager = engine_trace(tmp_path), engine_trace(tmp_path, graph=False)
    (tmp_path / "config.json").write_text("{}")
    lines = f"ok       {good}\nmissing  {eager}: graphs\n"
    for given in ([good, eager], [tmp_path], [f"{tmp_path}/*.gz"]):
        ordered = sorted(cli("record", "sglang", "--check", *given).out.splitlines())
        assert ordered == sorted(lines.splitlines())
    shown = cli("record", "sglang", "--check", tmp_path)
    assert shown.code == 1
    assert "config.json: it has no list of events" in shown.err
    assert cli("record", "sglang", "--check", good, good).code == 0
    eager.write_text("[")
    shown = cli("record", "sglang", "--check", good, eager)
    assert (shown.code, shown.out) == (2, f"ok       {good}\n")
    assert eager.name in shown.err
    eager.unlink()
    assert "ok       decode_steps\n" in cli("record", "sglang", "--check", tmp_path).out


def test_a_trace_of_the_other_engine(cli: Cli, tmp_path: Path) -> None:
    shown = cli("record", "vllm", "--check", engine_trace(tmp_path))
    assert shown.code == 1
    assert "missing  engine: The steps are those of SGLang: check with its name.\n" in (
        shown.out
    )


def test_the_figures_of_steps(tmp_path: Path) -> None:
    report = torchtraceap.analyze(engine_trace(tmp_path))
    (kind,) = report.engine_kinds
    assert (kind.kind, kind.count, kind.skipped, kind.batch) == ("decode", 6, 2, 8)
    assert (kind.period_us, kind.host_us) == (5_000, 300)
    # From 30 to 4,200 us of each step, with a pause from 80 to 200.
    assert (kind.device_us, kind.busy_us, kind.gap_us) == (4_170, 4_050, 830)
    assert kind.exposed_us == {"attention": 4_000, "product": 50}
    assert (kind.launches, kind.graph_launches, kind.work) == (2, 1, 2)
    assert report.engine_steps[-1].gap_us is None
    assert "SGLang, decode: 6 steps of 8 requests, one each 5 ms" in str(report)
    assert "exposed" in report.tables()
