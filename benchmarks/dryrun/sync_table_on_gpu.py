# SPDX-License-Identifier: BSD-3-Clause
"""sync_table_on_gpu.py [NAME ...]: the table of probes against a real GPU.

Each probe of tests/python/dryrun/probes.py runs three times: to warm up, under
torch.cuda.set_sync_debug_mode("warn"), and under torch.profiler, whose trace has the
calls of the CUDA runtime that wait; a recording holds several probes, as its start and
end take longer than all of them. Prints differences between the table and the results
immediately; the file of --out gets all results as JSON, after each recording. Exit
codes: 0 the table is right, 1 it differs or not all was tried, 2 no GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from tests.python.dryrun.probe import Probe, names
from tests.python.dryrun.probes import PROBES

RIGHT, DIFFERS, NO_GPU = 0, 1, 2
RANGE = "the probe"
TOGETHER = 40  # Probes in a recording.
WARNING = "called a synchronizing CUDA operation"
#: Calls of the CUDA runtime that return when the device has done what they wait for.
WAITING = {
    "cudaStreamSynchronize",
    "cudaDeviceSynchronize",
    "cudaEventSynchronize",
    "cudaMemcpy",
}
# CUDA's "API synchronization behavior": also asynchronous, it returns when it is done.
PAGEABLE_TO_HOST = "Memcpy DtoH (Device -> Pageable)"


def run(probe: Probe, around: Callable[[], Any] = nullcontext) -> str:
    """Run a probe on the GPU with fresh tensors; return the name of its error."""
    import torch

    here = names(probe)
    exec(compile(probe.setup, "<setup>", "exec"), here)
    torch.cuda.synchronize()
    try:
        with around():
            exec(compile(probe.code, "<probe>", "exec"), here)
    except Exception as error:
        return type(error).__name__
    return ""


def warned(probe: Probe) -> int:
    """Return how often torch itself says that the probe waits."""
    import torch

    class Warned:
        def __enter__(self) -> None:
            torch.cuda.set_sync_debug_mode("warn")

        def __exit__(self, *_: object) -> None:
            torch.cuda.set_sync_debug_mode("default")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(probe, Warned)
    return sum(WARNING in str(warning.message) for warning in caught)


def traced(probes: Sequence[Probe]) -> list[list[str]]:
    """Return the waits in a trace of each probe, by the names of calls and copies."""
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function

    ranges = [f"{RANGE} {number}" for number in range(len(probes))]
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
        for probe, name in zip(probes, ranges, strict=True):
            run(probe, partial(record_function, name))
            torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        prof.export_chrome_trace(str(file))
        events = json.loads(file.read_text("utf-8"))["traceEvents"]
    return [waits_of(events, name) for name in ranges]


def waits_of(events: Iterable[dict[str, Any]], name: str) -> list[str]:
    """Return the waits that began within the range of a name, in order."""
    complete = [event for event in events if event.get("ph") == "X"]
    probe = next(e for e in complete if e["name"] == name and "gpu" not in e["cat"])
    begin, end = probe["ts"], probe["ts"] + probe["dur"]
    inside = [
        event
        for event in complete
        if event.get("cat") in ("cuda_runtime", "cuda_driver")
        and begin <= event["ts"] < end
    ]
    launched = {event.get("args", {}).get("correlation") for event in inside}
    copies = {
        event["args"].get("correlation")
        for event in complete
        if event.get("cat") == "gpu_memcpy" and event["name"] == PAGEABLE_TO_HOST
    }
    found = []
    for event in sorted(inside, key=lambda event: event["ts"]):
        if event["name"] in WAITING:
            found.append(event["name"])
        elif event.get("args", {}).get("correlation") in copies & launched:
            found.append(PAGEABLE_TO_HOST)
    return found


def difference(probe: Probe, raised: str, warnings: int, waits: list[str]) -> str:
    """Return in which way the table is wrong about a probe; "" if it is right."""
    if raised != probe.raises:
        return f"{raised or 'no error'} instead of {probe.raises or 'none'}"
    found = bool(warnings or waits)
    if found == bool(probe.waits):
        return ""
    said = f"{warnings} warnings and {', '.join(waits) or 'no wait'} in the trace"
    return f"said to {'wait' if probe.waits else 'not wait'}: {said}"


def compare(probes: Sequence[Probe]) -> list[dict[str, Any]]:
    """Return the expected and the measured result of each probe."""
    # The first run loads kernels and libraries, and lets the allocator grow.
    raised = {probe.name: run(probe) for probe in probes}
    told = {probe.name: warned(probe) for probe in probes if not raised[probe.name]}
    runs = [probe for probe in probes if probe.name in told]
    waits = {p.name: found for p, found in zip(runs, traced(runs), strict=True)}
    return [
        {
            "name": p.name,
            "code": p.code,
            "said": p.waits,
            "raised": raised[p.name],
            "warnings": told.get(p.name, 0),
            "waits": waits.get(p.name, []),
            "difference": difference(
                p, raised[p.name], told.get(p.name, 0), waits.get(p.name, [])
            ),
        }
        for p in probes
    ]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="probes to run; default: all")
    parser.add_argument("--out", type=Path, help="a file for the results as JSON")
    parser.add_argument("--seconds", type=float, default=3600, help="to end within")
    chosen = parser.parse_args(arguments)
    try:
        import torch
    except ImportError:
        print("needs a GPU, and a torch that can use it", file=sys.stderr)
        return NO_GPU
    if not torch.cuda.is_available():
        print("needs a GPU: torch.cuda.is_available() is False", file=sys.stderr)
        return NO_GPU
    wanted = [p for p in PROBES if not chosen.names or p.name in chosen.names]
    until = time.monotonic() + chosen.seconds
    rows: list[dict[str, Any]] = []
    for first in range(0, len(wanted), TOGETHER):
        if time.monotonic() > until:
            break
        some = wanted[first : first + TOGETHER]
        try:
            rows += compare(some)
        except Exception as error:  # The others may do better.
            problem = f"not tried: {type(error).__name__}: {error}"
            rows += [{"name": probe.name, "difference": problem} for probe in some]
        for row in rows[first:]:
            if row["difference"]:
                print(f"{row['name']}: {row['difference']}", flush=True)
        if chosen.out is not None:
            chosen.out.write_text(results(rows, len(wanted)), "utf-8")
    different = [row for row in rows if row["difference"]]
    print(f"{len(rows) - len(different)} of {len(wanted)} as the table says")
    return DIFFERS if different or len(rows) < len(wanted) else RIGHT


def results(rows: list[dict[str, Any]], wanted: int) -> str:
    """Return the results as JSON; `lines` sum them up."""
    import torch

    different = [row for row in rows if row["difference"]]
    lines = [f"{len(rows) - len(different)} of {wanted} probes as the table says"]
    lines += [f"{row['name']}: {row['difference']}" for row in different[:5]]
    form = {
        "lines": lines,
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "probes": wanted,
        "differences": different,
        "rows": rows,
    }
    return json.dumps(form, indent=1) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
