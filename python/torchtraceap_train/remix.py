# SPDX-License-Identifier: BSD-3-Clause
"""remix.py: chooses how the voices of a trained model are read together, and its
thresholds.

    python -m torchtraceap_train.remix WEIGHTS SET... --out FILE

Network, trees, names of patterns and abstention stay as they are. The sets are as
`torchtraceap train` reads them; of those traces the model must not have learned, and
the more sources they come from, the better (mixing.py). Traces that a set holds out for
tests are read as a source of their own, but never those of gold.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from torchtraceap.base.errors import TrainingError, WeightsError
from torchtraceap.base.files import read_file, replacing
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap_train.mixing import Choice
from torchtraceap_train.stacked import mix
from torchtraceap_train.traces import LearningTrace, read_set

#: The source of pairs that are measured once a release.
_GOLD = "G"


def traces_of(folder: Path) -> list[LearningTrace]:
    """Return the traces of a set; those it holds out have a source of their own."""
    learned = read_set(folder)
    rows = json.loads(read_file(folder / "set.json").decode("utf-8"))["traces"]
    held = [r["name"] for r in rows if not r["learn"] and r["source"] != _GOLD]
    others = [
        replace(trace, source=f"{trace.source}, held out")
        for trace in (read_set(folder, held) if held else [])
    ]
    return [trace for trace in learned + others if len(trace)]


def table_of(choices: Sequence[Choice | None]) -> str:
    """Return what each side's choice rests on, as text."""
    out = []
    for side, choice in zip(("CPU", "GPU"), choices, strict=True):
        if choice is None:
            out.append(f"{side}: too little is known; the network speaks alone")
            continue
        network, trees = choice.voices
        weights = ", ".join(f"{weight:.3f}" for weight in choice.weights)
        out.append(
            f"{side}: rules 1, network {network:g}, trees {trees:g}; weights {weights}"
        )
        for one in choice.left_out:
            network, trees = one.voices
            low, high = one.interval
            out.append(
                f"  without {one.source}: network {network:g}, trees {trees:g}; on its "
                f"{one.windows[0]:,} windows with a loss and {one.windows[1]:,} "
                f"without rules {one.rules:.3f}, mixed {one.mixed:.3f} ({low:+.3f} to "
                f"{high:+.3f})"
            )
    return "\n".join(out)


def main(arguments: Sequence[str] | None = None) -> int:
    """Mix as the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m torchtraceap_train.remix", description=__doc__
    )
    parser.add_argument("weights")
    parser.add_argument("sets", nargs="+", type=Path, metavar="SET")
    parser.add_argument("--out", required=True, help="the file to write")
    parser.add_argument("--seed", type=int, default=1, help="divides the traces")
    given = parser.parse_args(arguments)
    try:
        traces = [trace for folder in given.sets for trace in traces_of(folder)]
        model = load_torch_module().Model.load(given.weights)
        mixed, choices = mix(model, traces, given.seed)
        count = Counter(trace.source for trace in traces)
        told = "; ".join(f"{source}: {count[source]}" for source in sorted(count))
        card = dict(mixed.card) | {"mixed on": told}
        mixed = mixed.with_network(mixed.network, card)
        with replacing(given.out) as new:
            mixed.save(new)
    except (TrainingError, WeightsError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(table_of(choices))
    print("thresholds at 1 %:", *(f"{mixed.threshold(s, 0.01):.3f}" for s in (0, 1)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
