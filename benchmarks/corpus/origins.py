# SPDX-License-Identifier: BSD-3-Clause
"""origins.py: whose the public traces are, and which are kept out of all training.

Traces of one origin come from one recorder and one kind of program: what is learned of
one is half known of the other. A third of the origins, drawn by a seed among those of
each maker of devices, is never trained on, calibrated on or perturbed for training.
"""

from __future__ import annotations

import csv
import hashlib
import math
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SEED = 19
SHARE = 1 / 3
TRACES = Path(__file__).resolve().parents[3] / "shared" / "traces"

# Of one recorder and one kind of program, wherever in the repository they lie.
_TOGETHER = (
    (
        r"AMD-AGI/TraceLens:tests/traces/(h100|mi300)/[^/]+__\d+",
        "AMD-AGI/TraceLens:hub",
    ),
    (r"AMD-AGI/TraceLens:.*semantic_purity", "AMD-AGI/TraceLens:sglang-b300"),
    (r"AMD-AGI/TraceLens:.*unit_tests", "AMD-AGI/TraceLens:unit_tests"),
    (r"pytorch/kineto:tb_plugin/", "pytorch/kineto:tb_plugin"),
    (r"\w+/dtu_mlops:", "dtu_mlops"),
)


@dataclass(frozen=True)
class Source:
    """A public trace: its file, where it comes from and whose device it shows."""

    file: str
    origin: str
    maker: str  #: "nvidia", "amd", or "other", also if it is not known.


def sources(traces: Path = TRACES) -> list[Source]:
    """Read the manifest of a folder of traces.

    Raises:
        FileNotFoundError: There is none.
    """
    with (traces / "manifest.tsv").open(encoding="utf-8", newline="") as rows:
        return [
            Source(
                row["file"],
                _origin(row["origin_repo"], row["path"]),
                _maker(row["gpu"], row["file"]),
            )
            for row in csv.DictReader(rows, delimiter="\t")
        ]


def origins_kept_out(traces: Path = TRACES) -> frozenset[str]:
    """Return the origins that nothing may be trained, calibrated or tuned on."""
    return _kept_out(traces.resolve())


def held_out(origin: str, traces: Path = TRACES) -> bool:
    """Tell whether an origin is kept out of training.

    Raises:
        ValueError: The manifest names no such origin.
    """
    if origin not in {source.origin for source in sources(traces)}:
        raise ValueError(f"no trace has the origin {origin!r}")
    return origin in origins_kept_out(traces)


@cache
def _kept_out(traces: Path) -> frozenset[str]:
    by_maker: dict[str, set[str]] = {}
    for source in sources(traces):
        by_maker.setdefault(source.maker, set()).add(source.origin)
    seen: set[str] = set()
    out: set[str] = set()
    for maker in ("nvidia", "amd", "other"):
        # An origin with devices of two makers is drawn once, with the first.
        mine = sorted(by_maker.get(maker, set()) - seen, key=_rank)
        seen |= set(mine)
        out |= set(mine[: math.ceil(len(mine) * SHARE)])
    return frozenset(out)


def _rank(origin: str) -> bytes:
    return hashlib.sha256(f"{SEED}:{origin}".encode()).digest()


def _origin(repository: str, path: str) -> str:
    whole = f"{repository}:{path}"
    for pattern, name in _TOGETHER:
        if re.match(pattern, whole):
            return name
    folder = re.sub(r"^tests/(data|traces)/", "", path).split("/")[0]
    if folder == "inference":
        folder = path.split("/inference/")[1].split("_")[0]
    return f"{repository}:{folder}"


def _maker(gpu: str, file: str) -> str:
    if re.search(r"NVIDIA|Tesla|Quadro|GeForce", gpu) or file.startswith(
        ("nccl-", "kineto2021-")
    ):
        return "nvidia"
    return "amd" if re.match(r"amd|mi\d", file) else "other"
