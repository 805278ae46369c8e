#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""benchmarks/corpus/gold.py: source G: what record_cuda.py recorded, as runs.

    python benchmarks/corpus/gold.py RECORDED --out DIR

Labels come from the fixed twin's trace, work by work; of a pair whose measured saving
is a negative (see measure.py) nothing counts as saved. Only for tests: no part of
a corpus that is trained on holds runs of source G.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tarfile
from pathlib import Path
from typing import Any

import runs
from matched_work import twin_moments
from tqdm import tqdm
from workloads.families import FAMILIES

import torchtraceap


def members(folder: Path) -> dict[str, bytes]:
    """Return the traces of all archives, not compressed, by name."""
    found = {}
    for path in sorted(folder.glob("traces-*.tar")):
        with tarfile.open(path) as tar:
            for info in tar:
                file = tar.extractfile(info)
                if file is not None:
                    found[info.name] = gzip.decompress(file.read())
    return found


def add(
    out: Path, name: str, case: dict[str, Any], told: dict[str, Any], traces: Any
) -> None:
    """Write both twins of a case.

    Raises:
        ValueError: Their steps do not match.
    """
    sides = {side: traces[case[side]["trace"]["member"]] for side in ("slow", "fixed")}
    loaded = {side: torchtraceap.load(text) for side, text in sides.items()}
    pair, family = told["pairs"][case["pair"]], FAMILIES[case["family"]]
    cause = runs.Cause(
        pair["pattern"],
        pair.get("mechanism") or case["pair"],
        1.0,
        null=case["label"] == "negative",
        saved=case["saving"],
        line=":".join(str(pair["cause"][0][k]) for k in ("file", "line"))
        if pair["cause"]
        else "",
    )
    for side, text in sides.items():
        other = loaded["fixed" if side == "slow" else side]
        if cause.null:
            other = loaded[side]
        moments = twin_moments(loaded[side], other)
        slow = side == "slow"
        run = runs.Run(
            name=f"G.{name}.{side}",
            source="G",
            group=name,
            role="fixed" if not slow else "null" if cause.null else "slow",
            task=family.task,
            family=family.name,
            trains=family.trains,
            seed=told["identity"]["seed"],
            twin=f"G.{name}.{'fixed' if slow else 'slow'}",
            gpu=told["identity"].get("gpu") or "",
            # One pattern was taken out; what else costs time nobody measured.
            complete=False,
            recording={"with_stack": True, "record_shapes": True, "steps": True},
            causes=(cause,) if slow else (),
        )
        truth = {
            (pattern, device): found
            for device, found in moments.items()
            for pattern in (pair["pattern"], runs.ALL)
        }
        runs.write(out, run, text, truth)


def main() -> int:
    """Write what is missing."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("recorded", type=Path, help="what record_cuda.py wrote")
    options.add_argument("--out", type=Path, required=True, metavar="DIR")
    given = options.parse_args()
    path = given.recorded / "manifest.json"
    if not path.exists():
        options.error(f"{path} is missing: is this what record_cuda.py --out wrote?")
    told = json.loads(path.read_text("utf-8"))
    traces = members(given.recorded)
    chosen = {n: c for n, c in told["cases"].items() if c["status"] == "recorded"}
    left_out = []
    for name, case in tqdm(chosen.items(), "matched", unit="pair", disable=None):
        if not runs.exists(given.out, f"G.{name}.fixed"):
            try:
                add(given.out, name, case, told, traces)
            except ValueError as error:
                left_out.append(f"{name}: {error}")
    print(f"{2 * (len(chosen) - len(left_out))} runs of source G in {given.out}")
    print("".join(f"left out: {line}\n" for line in left_out), end="")
    return 1 if left_out else 0


if __name__ == "__main__":
    sys.exit(main())
