# SPDX-License-Identifier: BSD-3-Clause
"""A detector's loop, full of waits: the same lines whatever is worked out, and with
everything worked out the same boxes as on the CPU."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import torch
from torch import Tensor

import torchtraceap


def overlap(box: Tensor, boxes: Tensor) -> Tensor:
    """Return how much of their union a box shares with each of others."""
    low, high = torch.max(box[:2], boxes[:, :2]), torch.min(box[2:], boxes[:, 2:])
    shared = (high - low).clamp(min=0).prod(1)
    sizes = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    return shared / (sizes + (box[2:] - box[:2]).prod() - shared)


def suppress(boxes: Tensor, scores: Tensor) -> list[int]:
    """Keep the best of those that overlap, one after the other, as nobody should."""
    kept: list[int] = []
    for index in scores.argsort(descending=True).tolist():
        others = boxes[torch.tensor(kept, dtype=torch.long, device=boxes.device)]
        if not kept or (overlap(boxes[index], others) < 0.3).all():
            kept.append(index)
    return kept


def detect(boxes: Tensor, scores: Tensor, classes: Tensor) -> tuple[Any, ...]:
    """Return the kept boxes of each class, and how confident they are on average."""
    sure = scores > 0.4
    boxes, scores, classes = boxes[sure], scores[sure], classes[sure]
    found = []
    for label in classes.unique().tolist():
        mine = torch.nonzero(classes == label).flatten()
        kept = suppress(boxes[mine], scores[mine])
        found.append((label, [mine[index].item() for index in kept]))
    return found, scores.mean().item()


def inputs() -> tuple[Tensor, ...]:
    """Return boxes, scores and classes on the host."""
    torch.manual_seed(0)
    corners = torch.rand(60, 2)
    boxes = torch.cat([corners, corners + 0.1 + 0.2 * torch.rand(60, 2)], 1)
    return boxes, torch.rand(60), torch.randint(0, 3, (60,))


@cache
def dry(dial: Any, big: int = 1) -> tuple[Any, Any]:
    """Return what `detect` gives in a dry run, and the run."""
    with torchtraceap.dry_run(values=dial) as run:
        boxes, scores, classes = inputs()
        scores = scores / min(big, 2)  # Of many fewer are sure, or it takes seconds.
        repeated = boxes.repeat(big, 1), scores.repeat(big), classes.repeat(big)
        moved = [t.to("cuda") for t in repeated]
        before = len(run.syncs)
        result = detect(*moved)
    del run.syncs[:before]
    return result, run


def test_with_all_values_the_boxes_are_those_of_the_cpu() -> None:
    result, run = dry("all")
    assert result == detect(*inputs())
    assert {sync.value for sync in run.syncs} <= {"known", "none"}


def test_small_values_are_enough_for_small_inputs() -> None:
    assert dry("small")[0] == dry("all")[0]


def test_the_waits_are_those_that_the_code_makes() -> None:
    (found, _), run = dry("all")
    tried = sum(sync.api == "torch.tensor" for sync in run.syncs)
    kept = sum(len(boxes) for _, boxes in found)
    counts = Counter(sync.api for sync in run.syncs)
    assert counts["aten::index"] == 3  # the three masks of the first lines
    assert counts["aten::nonzero"] == len(found)
    assert counts["aten::_unique2"] == 1
    # One a box that is tried against others, one a box that is kept, and the mean.
    assert counts["aten::_local_scalar_dense"] == tried + kept + 1


def test_the_lines_are_the_same_without_values() -> None:
    def lines(dial: Any, big: int = 1) -> set[tuple[str, int]]:
        return {(s.api, s.line.line) for s in dry(dial, big)[1].syncs if s.line}

    exact = lines("all")
    assert len(exact) == 9
    assert lines("none") <= exact
    guessed = lines("small", big=18)  # more than is worked out
    assert guessed <= exact
    assert {line for _, line in guessed} == {line for _, line in exact}
