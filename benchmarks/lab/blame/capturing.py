# SPDX-License-Identifier: BSD-3-Clause
"""capturing.py: a program whose launches are CUDA graphs.

What lies between two things that no graph can hold (waits, batches, memory from the
driver, the other thread, other streams' events, Python for itself) is launched at once.
"""

from __future__ import annotations

import random
from dataclasses import replace

from benchmarks.lab.blame.instructions import (
    Call,
    Close,
    Host,
    Instruction,
    Mark,
    Open,
    Program,
    Work,
)

_LEAST = 5  # Launches that a graph is worth.
_REPLAY_US = 25.0  # `graph.replay()` with what Python does around it.
_NODE_US = 0.02
_LOADS_US = 1000.0  # A launch of so much loads its kernel, graph or not.
_CLOSER = 0.7  # Gaps between kernels of a graph, of those between launches.


def captured(program: Program) -> Program:
    """Return the program with graphs for launches."""
    threads = {tid: _captured(code, program) for tid, code in program.threads.items()}
    return replace(program, threads=threads)


def _captured(code: list[Instruction], program: Program) -> list[Instruction]:
    out: list[Instruction] = []
    run: list[Instruction] = []
    marks = 0
    for it in code:
        if isinstance(it, Mark):
            marks += 1 if it.opens else -1
        scope = isinstance(it, Open | Close)
        free = isinstance(it, Host) or (
            isinstance(it, Call)
            and it.us < _LOADS_US
            and it.waits is None
            and not it.records
            and not it.gates
        )
        if scope or (free and not marks):
            run.append(it)
            continue
        out += _graph(run, program)
        run = []
        out.append(it)
    return out + _graph(run, program)


def _graph(run: list[Instruction], program: Program) -> list[Instruction]:
    works = [work for it in run if isinstance(it, Call) for work in it.works]
    if len(works) < _LEAST:
        return run
    rng = random.Random(str(works[0].key))
    us = (_REPLAY_US + _NODE_US * len(works)) * rng.lognormvariate(0, 0.1)
    inner = tuple(_node(work, us) for work in works)
    scopes = [it for it in run if isinstance(it, Open | Close)]
    return [Call("cudaGraphLaunch", us, inner), *scopes]


def _node(work: Work, us: float) -> Work:
    return replace(work, latency=us + work.latency, gap=work.gap * _CLOSER)
