# SPDX-License-Identifier: BSD-3-Clause
"""making.py: operators that no dry run saw, as causes put them in."""

from __future__ import annotations

from benchmarks.lab.corpus.simulation.items import Item
from benchmarks.lab.corpus.simulation.operator_rows import shapes_text
from torchtraceap_dryrun.estimate.launch import Launch, blocks


def kernel_item(
    key: str,
    name: str,
    work: str,
    elements: int,
    *,
    us: float | None = None,
    reads: int = 2,
    outer: tuple[str, ...] = (),
    phase: str = "forward",
    grid: int | None = None,
    captured: bool = True,
    frames: tuple[str, ...] = (),
    line: str = "",
) -> Item:
    """Make an operator with one kernel over so many floats.

    Args:
        us: What the kernel takes; None: 1.5 µs and what its memory takes on an A100.
        reads: How often each element is read or written.
        grid: Blocks; None: as many as such kernels have.
    """
    moved = 4.0 * elements * reads
    took = us if us is not None else 1.5 + moved / 1.4e6
    count = blocks(elements) if grid is None else grid
    launch = Launch(name, work, "float32", 0.0, moved, count)
    args = shapes_text([[elements]] * max(1, reads - 1))
    return Item(key, "op", name, phase, outer, args, launches=((launch, took),),
                captured=captured, frames=frames, line=line, grows=False)  # fmt: skip
