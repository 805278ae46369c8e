# SPDX-License-Identifier: BSD-3-Clause
"""hta_path.py FILE [--rounded]: HTA's critical paths of one trace.

Runs in HTA's own environment (environments.py makes it). Asks for the path of each
ProfilerStep and of the whole trace, and writes one line of JSON for each as soon as it
is known, so that what was found is not lost where the next takes too long. Then asks
how long the path is where device work takes no time, the way HTA means to be used for
that: weights of the graph are changed, with its edges from every launch to its kernel.
--rounded leaves times as HTA rounds them by default.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import resource
import sys
import time
import traceback
import warnings
from typing import Any

HERE = os.path.dirname(os.path.realpath(__file__))  # where hta.py would hide HTA
KINDS = {
    "critical_path_operator": "operator",
    "critical_path_dependency": "dependency",
    "critical_path_kernel_launch_delay": "launch_delay",
    "critical_path_kernel_kernel_delay": "kernel_delay",
    "critical_path_sync_dependency": "sync",
}
BYTES = 10 * 2**30  # of address space: HTA keeps a copy of everything per step


def reason(error: BaseException) -> str:
    """Say what went wrong and where, in one line."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(place.filename)}, {place.line}"
    said = str(error).partition("\n")[0]
    return f"{type(error).__name__} {said}: {where}".replace(" :", ":")


def say(**what: Any) -> None:
    """Write one line."""
    print(json.dumps(what, default=float), flush=True)


def instances(analysis: Any) -> dict[int, int]:
    """Return the place of each step among what HTA takes for instances of it.

    HTA matches parts of names, in the order of the file, so a step's row on the GPU is
    an instance too.
    """
    trace = analysis.t.get_trace(0)
    names = analysis.t.symbol_table.get_sym_table()
    rows = [(names[n], s) for n, s in zip(trace.name, trace.stream, strict=True)]
    at = [row for row in rows if "ProfilerStep" in row[0]]
    out: dict[int, int] = {}
    for place, (name, stream) in enumerate(at):
        number = name.partition("#")[2]
        if stream == -1 and number.isdigit():
            out.setdefault(int(number), place)
    return out


def path_of(graph: Any) -> dict[str, Any]:
    """Return the edges on the path in their order: kind, weight, the row it is given
    to, the rows it leads from and to, and whether from and to their begins.

    Rows are numbered as in the file. HTA's own times are shifted, and doubles.
    """
    nodes = graph.critical_path_nodes
    edges = []
    for u, v in itertools.pairwise(nodes):
        e = graph.edges[u, v]["object"]
        begin, end = graph.node_list[u], graph.node_list[v]
        owner = graph.get_event_attribution_for_edge(e)
        owner = -1 if owner is None else int(owner)
        # What is shorter than nothing HTA counts as nothing, but only in its search.
        weight = float(graph.edges[u, v]["weight"])
        edges.append(
            [
                *(KINDS[e.type.value], weight, owner),
                *(int(begin.ev_idx), int(end.ev_idx)),
                *(bool(begin.is_start), bool(end.is_start)),
            ]
        )
    return {"edges": edges}


def simulated(analysis: Any) -> None:
    """Write the length of the whole trace's path, and that without device work."""
    from networkx import dag_longest_path_length

    os.environ["CRITICAL_PATH_ADD_ZERO_WEIGHT_LAUNCH_EDGE"] = "1"
    try:
        graph, _ = analysis.critical_path_analysis(0, "", 0)
        before = float(dag_longest_path_length(graph, weight="weight"))
        work = {
            (graph.event_to_start_node_map[row], graph.event_to_end_node_map[row])
            for row in graph.trace_df.index[graph.trace_df.stream >= 0]
            if row in graph.event_to_start_node_map
        }
        for u, v in work & set(graph.edges):
            graph.edges[u, v]["weight"] = 0
        after = float(dag_longest_path_length(graph, weight="weight"))
        say(simulated={"before_us": before, "after_us": after})
    except Exception as error:
        say(simulated={"fails": reason(error)})


def window(analysis: Any, step: int | None, place: int) -> None:
    """Ask for one path and write what HTA says."""
    begin = time.perf_counter()
    try:
        found = analysis.critical_path_analysis(
            0, "" if step is None else "ProfilerStep", place
        )
        seconds = time.perf_counter() - begin
        if found is None or not found[1]:
            say(step=step, fails="no path", seconds=seconds)
            return
        graph = found[0]
        say(step=step, seconds=seconds, nodes=len(graph), **path_of(graph))
    except Exception as error:
        seconds = time.perf_counter() - begin
        say(step=step, fails=reason(error), seconds=seconds)


def main(path: str) -> None:
    """Load, then ask window by window."""
    sys.path[:] = [p for p in sys.path if os.path.realpath(p) != HERE]
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    begin = time.perf_counter()
    try:
        from hta.trace_analysis import TraceAnalysis

        analysis = TraceAnalysis({0: path}, include_last_profiler_step=True)
        steps = instances(analysis)
    except Exception as error:
        say(load=time.perf_counter() - begin, fails=reason(error))
        return
    say(load=time.perf_counter() - begin, steps=sorted(steps))
    for step, place in sorted(steps.items()):
        window(analysis, step, place)
    window(analysis, None, 0)
    simulated(analysis)


if __name__ == "__main__":
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "0" if "--rounded" in sys.argv else "1"
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    main(sys.argv[1])
