# SPDX-License-Identifier: BSD-3-Clause
"""compiling.py: a forward pass that torch.compile made, whole or in pieces."""

from __future__ import annotations

import random
from contextlib import ExitStack

from benchmarks.lab.blame import faults, sharding
from benchmarks.lab.blame.case import Case
from benchmarks.lab.blame.pieces import Piece
from benchmarks.lab.blame.script import Script

_DISPATCH = 0.35  # Of what an operator costs the host, what a compiled call does.
_GUARDS_US = 45.0


def forward(s: Script, case: Case, layers: list[Piece], i: int) -> None:
    """Call the graph, or one graph after another: a break calls the rest of the
    function from inside, as its own region."""
    share = s.has("graph_break")
    rng = random.Random(f"{case.seed}breaks")
    number = rng.choice((1, 2, 3, 4)) if share else 0
    at = {round((k + 1) * len(layers) / (number + 1)): k + 1 for k in range(number)}
    before, s.slow = s.slow, s.slow * _DISPATCH
    with ExitStack() as regions:
        _enter(s, regions, 0)
        graph = ExitStack()
        graph.enter_context(s.op("## Call CompiledFxGraph fkq3 ##"))
        for n, piece in enumerate(layers):
            if n in at:
                graph.close()
                with s.part(f"break{n}"):
                    _break(s, share * case.step_us / number)
                _enter(s, regions, at[n])
                graph.enter_context(s.op(f"## Call CompiledFxGraph fkq3{n} ##"))
            sharding.before_layer(s, case, "forward", n, len(layers))
            with s.part(f"layer{n}"):
                for names, kernels in piece.ops:
                    with s.op(names[-1]):
                        for kernel in kernels:
                            s.launch(kernel)
            faults.write_between(s, case, i, n, len(layers))
        graph.close()
    s.slow = before


def _enter(s: Script, regions: ExitStack, number: int) -> None:
    if number:
        regions.enter_context(
            s.frame(f"train.py(58): torch_dynamo_resume_in_forward_at_{57 + number}")
        )
    else:
        regions.enter_context(s.frame("train.py(57): forward"))
    with s.part(f"guards{number}"), s.uncaptured(), s.op("TorchDynamo Cache Lookup"):
        s.host(_GUARDS_US)
    regions.enter_context(s.op(f"Torch-Compiled Region: {number}/0"))


def _break(s: Script, us: float) -> None:
    """What cannot be compiled runs as it stands."""
    with (
        s.uncaptured(),
        s.frame("train.py(58): show"),
        s.frame("<built-in function print>"),
    ):
        s.host(us)
