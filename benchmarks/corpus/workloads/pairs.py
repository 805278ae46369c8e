# SPDX-License-Identifier: BSD-3-Clause
"""benchmarks/corpus/workloads/pairs.py: the table of pairs, most valuable first.

The order is the order in which they are recorded, as time or space may run out:

1. what only a GPU can show at all and users meet most (waits, copies, the loader,
   launches, graph breaks), then
2. what a GPU shows better than a simulation (allocator, small grids, tensor cores),
   then
3. what rarely costs much today and mostly yields negatives.

A pair runs on its families in turn: first every pair on its first family, then every
pair on its second, so that an early stop still leaves each pattern once.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import workloads.device_twins as device
import workloads.host_twins as host
from workloads.families import FAMILIES, Family
from workloads.training import Lab, Training

FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Pair:
    """A slow and a fixed twin that compute the same.

    Attributes:
        pattern: The anti-pattern that ``slow`` has and ``fixed`` has not.
        also: Patterns whose cost the same fix removes; alternatives, not additions.
        families: Names of the families to record on, the most telling first.
        why: Why the pair stands where it does in the order.
        mechanism: How it comes about; of those that share one, some may be trained on
            and none judged by. Empty: the name of the pair.
        strengths: What ``Lab.strength`` is drawn from.
        tolerance: Largest relative difference allowed, see ``twins_agree``.
        precision: What the tolerance rests on.
        needs: What the pair cannot do without: ``"cuda"``, ``"compiler"`` or nothing.
        reason: Why it needs that.
    """

    name: str
    pattern: str
    slow: Callable[[Lab], Training]
    fixed: Callable[[Lab], Training]
    families: tuple[str, ...]
    why: str
    also: tuple[str, ...] = ()
    mechanism: str = ""
    strengths: tuple[float, ...] = (1.0,)
    tolerance: float = 1e-3
    precision: str = "the same operations in another order"
    needs: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Case:
    """One pair on one family: the unit that is timed, recorded and resumed."""

    pair: Pair
    family: Family

    @property
    def name(self) -> str:
        return f"{self.pair.name}.{self.family.name}"


ALL = ("transformer", "cnn", "recommender")

PAIRS: tuple[Pair, ...] = (
    Pair(
        "item_per_parameter", "sync_stall", host.ClipsOnHost, host.ClipsOnDevice, ALL,
        why="the commonest stall; a CPU trace can name it but not show its cost",
    ),
    Pair(
        "small_copies", "frequent_memcpy", host.CopiesRows, host.CopiesWhole,
        ("cnn", "transformer"),
        why="copies exist on a GPU only",
        also=("sync_stall", "pageable_copy"),
    ),
    Pair(
        "loader_without_workers", "dataloader_bound", host.LoadsInStep, host.LoadsAhead,
        ("cnn", "transformer"),
        why="the commonest reason for an idle GPU; cheap samples give the negative",
    ),
    Pair(
        "loop_over_samples", "loop_indexing", device.ScalesRowByRow,
        device.ScalesTogether, ("cnn", "transformer", "lstm"),
        why="launch-bound regions need real launch costs",
        also=("launch_bound",),
    ),
    Pair(
        "graph_break_per_block", "graph_break", device.CompilesInPieces,
        device.Compiles, ("transformer", "cnn"),
        why="no public trace pairs a broken graph with a whole one",
        also=("launch_bound",),
        needs="compiler", reason="torch.compile has no working compiler here",
    ),
    Pair(
        "single_tensor_optimizer", "unfused_optimizer", device.AdamOneByOne,
        device.AdamTogether, ALL,
        why="one flag, large where parameters are many and small",
        also=("launch_bound",),
        tolerance=1e-2,
        precision="Adam divides by roots of tiny moments, which magnifies rounding",
    ),
    Pair(
        "nonzero_rows", "sync_stall", host.AveragesByIndex, host.AveragesByMask, ALL,
        why="the second way to stall: a shape that depends on data",
    ),
    Pair(
        "pageable_batches", "pageable_copy", host.CopiesPageable, host.CopiesPinned,
        ("cnn", "recommender"),
        why="copy engines and staging are what a simulation knows least",
        also=("exposed_copy",),
        needs="cuda", reason="pinned memory and copies need a GPU",
    ),
    Pair(
        "unrolled_lstm", "small_grid", device.UnrollsLstm, Training, ("lstm",),
        why="grids far below the number of multiprocessors, against one fused layer",
        also=("launch_bound",),
        tolerance=5e-2,
        precision="TF32 on CUDA (10-bit mantissas), rounded anew in every cell",
    ),
    Pair(
        "tensors_made_on_host", "cpu_init_then_copy", host.DecaysFromHost,
        host.DecaysOnDevice, ALL,
        why="many tiny blocking copies with a plain fix",
        also=("sync_stall", "frequent_memcpy", "pageable_copy"),
    ),
    Pair(
        "empty_cache_in_step", "allocator_churn", device.EmptiesCache, Training, ALL,
        why="cudaMalloc and cudaFree take times nobody can guess",
        also=("sync_stall",),
        needs="cuda", reason="the caching allocator is that of a GPU",
    ),
    Pair(
        "fp32_matmul", "tensor_core_unused", device.ForbidsTf32, Training,
        ALL,
        why="the only pair that changes kernels and nothing on the host",
        tolerance=5e-2,
        precision="fp32 against TF32, whose mantissas have 10 bits",
        needs="cuda", reason="TF32 is a mode of a GPU's tensor cores",
    ),
    Pair(
        "zero_grad_fill", "zero_grad_fill", device.FillsGradients, Training, ALL,
        why="seldom costs 5 % by itself: a natural near miss",
    ),
)  # fmt: skip


def cases(pairs: Iterable[Pair]) -> Iterator[Case]:
    """Yield every case: first each pair on its first family, then on its second."""
    chosen = list(pairs)
    for turn in range(max((len(pair.families) for pair in chosen), default=0)):
        for pair in chosen:
            if turn < len(pair.families):
                yield Case(pair, FAMILIES[pair.families[turn]])


def causes(pair: Pair) -> list[dict[str, str | int]]:
    """Find the lines marked ``# cause: NAME``.

    Each is ``{"file", "line", "code", "frame"}``; ``frame`` is the function around it
    as the profiler writes it, ``file(first line): name``. A pair whose cause is a
    global switch has none.
    """
    pattern = rf"^\s*(?P<code>.+?)\s+# cause: {re.escape(pair.name)}$"
    mark = re.compile(pattern, re.MULTILINE)
    found = []
    for path in sorted(FOLDER.rglob("*.py")):
        text = path.read_text("utf-8")
        for match in mark.finditer(text):
            line = text.count("\n", 0, match.start("code")) + 1
            function = function_at(text, line)
            named = path.relative_to(FOLDER.parent)
            frame = f"{named}({function.lineno}): {function.name}"
            found.append(
                {"file": path.name, "line": line, "code": match["code"], "frame": frame}
            )
    return found


def function_at(source: str, line: int) -> ast.FunctionDef:
    """Find the innermost function around ``line``."""
    around = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(around, key=lambda node: node.lineno)
