# SPDX-License-Identifier: BSD-3-Clause
"""hta_figures.py FILE [--defaults]: HTA's figures for one trace, as JSON.

Runs in HTA's own environment (environments.py makes it). --defaults keeps HTA's
defaults: times rounded to microseconds, the last ProfilerStep left out. Without it,
both are switched off by HTA's own options, for the same scope as ours. If HTA fails,
the figure is missing and ``fails`` has the error.
"""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

ALL_KERNELS = {"num_kernels": 10**9, "duration_ratio": 1.0}


def figures(path: str, defaults: bool) -> dict[str, Any]:
    """Return HTA's figures; times in microseconds."""
    from hta.trace_analysis import TraceAnalysis

    fails: dict[str, str] = {}

    def attempt(what: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{os.path.basename(place.filename)}, {place.line}"
            fails[what] = f"{type(error).__name__} {error}: {where}".replace(" :", ":")
            return None

    analysis = attempt(
        "load",
        lambda: TraceAnalysis({0: path}, include_last_profiler_step=not defaults),
    )
    out: dict[str, Any] = {"fails": fails}
    if analysis is None:
        return out
    times = attempt("temporal", lambda: analysis.get_temporal_breakdown(False))
    if times is not None:
        for name in ("idle", "compute", "non_compute", "kernel"):
            out[f"{name}_us"] = float(times[f"{name}_time(us)"].iloc[0])
    both = attempt(
        "kernels",
        lambda: analysis.get_gpu_kernel_breakdown(
            False, include_memory_kernels=True, **ALL_KERNELS
        ),
    )
    if both is not None:
        types, kernels = both
        out["types_us"] = {
            name: float(us)
            for name, us in zip(types["kernel_type"], types["sum"], strict=True)
        }
        out["kernels_us"] = {
            name: float(us)
            for name, us in zip(kernels["name"], kernels["sum (us)"], strict=True)
        }
    overlap = attempt("overlap", lambda: analysis.get_comm_comp_overlap(False))
    if overlap is not None:
        share = float(overlap["comp_comm_overlap_pctg"].iloc[0])
        out["overlap_percent"] = None if math.isnan(share) else share
    return out


if __name__ == "__main__":
    as_shipped = "--defaults" in sys.argv[2:]
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "0" if as_shipped else "1"
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    json.dump(figures(sys.argv[1], as_shipped), sys.stdout)
