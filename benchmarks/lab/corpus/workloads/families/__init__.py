# SPDX-License-Identifier: BSD-3-Clause
"""workloads/families: the model families the pairs are built on, a module a task.

Small definitions of our own, so that recording needs neither torchvision nor a
download. No model mixes samples (group and layer norms, no batch norm) and none
draws random numbers while it runs: a sample's loss is then the same whether it is
computed alone or in a batch, which is what lets twins be compared at all.

A batch is a flat tuple ``(*inputs, source, target)``. ``source`` says which of
``SOURCES`` data sets a sample came from; losses may be averaged by it. A model that is
a chain calls it ``blocks``.
"""

from __future__ import annotations

from benchmarks.lab.corpus.workloads.families import (
    classification,
    classification_tables,
    classification_tokens,
    depth,
    detection,
    generation_images,
    generation_text,
    named_graphs,
    named_numbers,
    named_text,
    pose,
    segmentation,
)
from benchmarks.lab.corpus.workloads.families.family import (
    SCALES,
    SOURCES,
    TASKS,
    Batch,
    Config,
    Family,
)

__all__ = ["FAMILIES", "SCALES", "SOURCES", "TASKS", "Batch", "Config", "Family"]

_MODULES = (
    classification, classification_tokens, classification_tables, detection,
    segmentation, generation_text, generation_images, depth, pose,
    named_text, named_graphs, named_numbers,
)  # fmt: skip

FAMILIES: dict[str, Family] = {
    family.name: family for module in _MODULES for family in module.FAMILIES
}
