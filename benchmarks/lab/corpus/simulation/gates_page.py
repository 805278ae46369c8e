# SPDX-License-Identifier: BSD-3-Clause
"""gates_page.py: the report of gates.py as a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_HEAD = """# How far simulated timelines are from real ones

Rendered by `python -m benchmarks.lab.corpus.gates CORPUS --page` from
benchmarks/results/gates.json. Compared are {compared} of {runs} simulated runs with
{real} real traces of NVIDIA devices, all of origins that are not held out
(benchmarks/lab/corpus/origins.py). The same traces gave the ranges that host times are
drawn from (benchmarks/lab/corpus/simulation/ranges.json), so a small distance of a host
time says that drawing works, not that an unseen trace would look like this.

## Distances

Of each trace 400 quantiles, so that traces count equally; the statistic is that of
Kolmogorov and Smirnov. Times in µs: 10, 50 and 90 %. Simulated devices are busier than
those of published traces, by design: half of the runs are to be good. So simulated
traces are weighed until each stratum of the busy fraction weighs what it weighs among
the real ones; *unmatched*: all count equally.

"""


_WHY = """
What telling features come from, as far as it is known:

- `share_of_step`, `place_in_step`: the programs are smaller than those of the real
  traces, so that a window of 128 events is a larger part of a step.
- `op_copies`, `backward`, `reductions`, `views`, `op_names`, `memsets`, `matrix`: which
  operators there are. The real traces are of a few recommendation models in training
  and of transformers in inference; the simulated ones of many small models, mostly in
  training.
- `in_python`, `threads_active`: how much Python is recorded beside operators, and what
  other threads do.
- `gaps_per_work`, `gap_median`, `gap_longest`, `delivery`, `idle_tiny`: between two
  kernels of a full queue the simulator leaves a gap drawn from the trace; real ones
  depend on the two kernels.
- `overlap`: real training jobs of several ranks run collectives beside kernels, a fifth
  of the simulated ones.
- `grids_small`, `occupancy`: blocks and registers are those of a class of kernels, not
  of a kernel.
- Not simulated at all: CUDA graphs, kernels by torch.compile, events of memory, work
  that was queued before the recording began, and threads of NCCL and of the profiler.
"""


_COLUMNS = ("", "KS", "unmatched", "goal", "traces", "real", "simulated")


def page(result: Mapping[str, Any]) -> str:
    """Render the results."""
    head = _HEAD.format(
        compared=result["compared"], runs=result["runs"], real=len(result["real"])
    )
    rows = (
        (
            one["name"],
            f"{one['ks']:.3f}",
            f"{one['unmatched']:.3f}",
            "" if one["goal"] is None else f"{one['goal']:.2f}",
            str(one["traces"]),
            ", ".join(f"{x:g}" for x in one["real"]),
            ", ".join(f"{x:g}" for x in one["simulated"]),
        )
        for one in result["distances"]
    )
    parts = [head, _table(_COLUMNS, rows)]
    parts.append(_probe(result["probe"]) + _WHY)
    parts.append(_rest(result))
    return "\n".join(parts)


def _probe(probe: Mapping[str, Any]) -> str:
    names = list(probe["single"])
    rows = (
        (name, f"{probe['single'][name]:.3f}", f"{probe['gain'].get(name, 0):.3f}")
        for name in names
    )
    return (
        "\n## The probe\n\n"
        "Boosted trees tell good windows of simulated runs from good windows of real "
        f"traces with an AUROC of {probe['auroc']:.3f} (goal: at most "
        f"{probe['goal']:.2f}), on origins and programs they were not fitted on: "
        f"{probe['real_windows']} real and {probe['simulated_windows']} simulated "
        "windows, of which the rules say that under 2 % is wasted; sides and traces "
        "weighed equally, strata of the busy fraction alike. The features that tell "
        "most by themselves, and their share of the trees' gain:\n\n"
        + _table(("feature", "AUROC", "gain"), rows)
    )


def _rest(result: Mapping[str, Any]) -> str:
    replays, yields = result["replays"], result["yields"]
    bands = list(next(iter(yields["costs"].values())))
    costs = (
        (kind, *(str(counts[band]) for band in bands))
        for kind, counts in yields["costs"].items()
    )
    rates = ((name, f"{rate:.1%}") for name, rate in yields["window_rate"].items())
    return (
        "\n## Replay\n\n"
        f"{replays['accepted']} of {replays['traces']} simulated traces are accepted "
        "by the replay.\n"
        "\n## What causes cost\n\n"
        "Causes by the share of the run that goes without them, in percent. Natural "
        "are those that nobody put in, and all that is computed for every run.\n\n"
        + _table(("", *bands), costs)
        + "\n## How often\n\n"
        f"Roles: {_counts(yields['roles'])}. Devices: {_counts(yields['gpus'])}. "
        f"{yields['programs']} programs. Of runs that are not slow, "
        f"{yields['good_runs_with_windows']:.0%} have windows with a pattern other "
        "than launch_bound; of all windows "
        f"{yields['window_rate_but_launch_bound']:.0%} have one. Windows of equal "
        "length that a pattern costs 5 % and more:\n\n"
        + _table(("pattern", "windows"), rates)
    )


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{many} {name}" for name, many in counts.items())


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = tuple(head)
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
