# SPDX-License-Identifier: BSD-3-Clause
"""origins.py: who recorded the public traces, and which of them no
model is ever trained on.

An origin is one recording session as far as the files tell: the same people, program
and machine. A repository may hold several. A third of the origins, by a seed, is kept
out of training, pre-training, perturbation for training, and of what the simulator is
calibrated on; those that gold pairs come from (gold.py) are among them.
"""

from __future__ import annotations

import csv
import functools
import hashlib
from pathlib import Path

#: Of the draw below: the first, from 0 on, that holds out two of the seven large
#: origins with NVIDIA devices, and one or two of the five large ones with AMD's, beside
#: the gold.
SEED = 1

#: What gold.py takes: never drawn, always held out.
GOLD = frozenset({"kineto-resnet50"})

# What profilers call a device, by its beginning: a key of dryrun's GPUS.
_GPUS = {
    "Tesla T4": "T4", "Tesla V100": "V100", "NVIDIA T4": "T4", "NVIDIA V100": "V100",
    "RTX A6000": "RTX A6000", "NVIDIA RTX A6000": "RTX A6000",
    "GeForce RTX 4090": "RTX 4090", "NVIDIA GeForce RTX 4090": "RTX 4090",
    "A100": "A100", "NVIDIA A100": "A100", "H100": "H100 SXM",
    "NVIDIA H100": "H100 SXM", "H200": "H200", "NVIDIA H200": "H200",
}  # fmt: skip
# Of other rates than those in the table.
_OTHER_FORMS = ("PCIe", "NVL")

# Repository and beginning of the path there: the origin. The longest that fits counts.
_HTA = "facebookresearch/HolisticTraceAnalysis"
_LENS = "AMD-AGI/TraceLens"
_ORIGINS = {
    f"{_HTA}:tests/data/df_index_resolver": "hta-allreduce-heavy",
    f"{_HTA}:tests/data/trace_diff": "hta-trace-diff",
    f"{_HTA}:tests/data/ns_resolution_trace": "hta-ns-resolution",
    f"{_HTA}:tests/data/nccl_parser_config": "hta-process-groups",
    f"{_HTA}:tests/data/trace_filter": "hta-128-ranks",
    f"{_HTA}:tests/data/mtia": "hta-mtia",
    f"{_HTA}:tests/data/cpu_only": "hta-cpu-only",
    f"{_HTA}:tests/data/critical_path": "hta-a100-benchmarks",
    f"{_HTA}:tests/data/cupti_profiler": "hta-a100-benchmarks",
    f"{_HTA}:tests/data/triton_example": "hta-a100-benchmarks",
    f"{_HTA}:tests/data/with_gpu_user_annotation": "hta-gp100",
    f"{_HTA}:tests/data/amd_trace": "hta-mi250",
    f"{_HTA}:": "hta-small",
    "pytorch/kineto:tb_plugin/samples": "kineto-resnet50",
    "pytorch/kineto:tb_plugin/test": "kineto-gpu-metrics",
    "pytorch/kineto:docs/traces": "kineto-event-sync",
    f"{_LENS}:tests/traces/h100": "tracelens-models",
    f"{_LENS}:tests/traces/mi300/": "tracelens-models",
    f"{_LENS}:tests/traces/mi300/resnet_act_checkpoint": "tracelens-resnet-ddp",
    f"{_LENS}:tests/traces/b200": "tracelens-vllm-b200",
    f"{_LENS}:tests/traces/inference/sglang": "tracelens-sglang-mi300",
    f"{_LENS}:tests/traces/inference/vllm": "tracelens-vllm-amd",
    f"{_LENS}:tests/traces/inference/xdit": "tracelens-xdit",
    f"{_LENS}:tests/traces/mi210": "tracelens-mi210",
    f"{_LENS}:tests/traces/torch_compile_triton": "tracelens-triton",
    f"{_LENS}:tests/traces/perf_model": "tracelens-normalization",
    f"{_LENS}:agent_evals/Analysis/partial_tests": "tracelens-sglang-b300",
    f"{_LENS}:agent_evals/Analysis/analysis_tests": "tracelens-unit-tests",
    f"{_LENS}:evals": "tracelens-moe-b300",
}

#: Origins of all public traces, including those without an available manifest.
ORIGINS = tuple(
    sorted(
        {
            *_ORIGINS.values(),
            "SkafteNicki/dtu_mlops",
            "AugustHoeg/dtu_mlops",
            "DaniSchober/dtu_mlops",
            "RasmusJuul/dtu_mlops",
        }
    )
)


def origin_of(repository: str, path: str) -> str:
    """Return the origin of a file of a repository; of one that the table does not
    know, the repository."""
    place = f"{repository}:{path}"
    known = [start for start in _ORIGINS if place.startswith(start)]
    return _ORIGINS[max(known, key=len)] if known else repository


def gpu_name(recorded: str) -> str:
    """Return what a device is called in all sources; one that simulations do not know
    as it was recorded. A count ("x8") and the rest after it are left out."""
    name = recorded.split(" x")[0].strip(" -")
    known = [start for start in _GPUS if name.startswith(start)]
    h100 = name.removeprefix("NVIDIA ").startswith("H100")
    if not known or (h100 and any(form in name for form in _OTHER_FORMS)):
        return name
    return _GPUS[max(known, key=len)]


def held_out(origin: str) -> bool:
    """Tell whether nothing is ever trained, pre-trained or calibrated on an origin.

    Of one that is not in ORIGINS a third is, too, whatever others there are.
    """
    if origin in ORIGINS:
        return origin in _held_out()
    return int.from_bytes(_draw(origin)[:4], "big") % 3 == 0


def held_out_origins() -> tuple[str, ...]:
    """Return the third of ORIGINS that is held out, by name."""
    return tuple(sorted(_held_out()))


def read_manifest(folder: Path) -> dict[str, dict[str, str]]:
    """Read FOLDER/manifest.tsv: its columns by the name of the file, and "origin".

    Raises:
        FileNotFoundError: There is none.
    """
    with (folder / "manifest.tsv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return {
        row["file"]: {**row, "origin": origin_of(row["origin_repo"], row["path"])}
        for row in rows
    }


@functools.cache
def _held_out() -> frozenset[str]:
    drawn = sorted(set(ORIGINS) - GOLD, key=_draw)
    return GOLD | frozenset(drawn[: len(ORIGINS) // 3 - len(GOLD)])


def _draw(origin: str) -> bytes:
    return hashlib.sha256(f"{SEED}:{origin}".encode()).digest()
