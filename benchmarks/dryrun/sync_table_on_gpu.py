# SPDX-License-Identifier: BSD-3-Clause
"""sync_table_on_gpu.py [--out FILE] [NAME ...]: the table of probes against a real GPU.

Each probe of tests/python/dryrun/probes.py runs three times: to warm up, under
torch.cuda.set_sync_debug_mode("warn"), and under torch.profiler, whose trace has the
calls of the CUDA runtime that wait. Prints where the table differs from what was found;
FILE gets all of it as JSON. Exit code: 0 the table is right, 1 it differs, 2 no GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "python"))

from dryrun.probe import Probe, names
from dryrun.probes import PROBES

RIGHT, DIFFERS, NO_GPU = 0, 1, 2
RANGE = "the probe"
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


def traced(probe: Probe) -> list[str]:
    """Return the waits in a trace of the probe, by the names of calls and copies."""
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
        run(probe, lambda: record_function(RANGE))
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        prof.export_chrome_trace(str(file))
        return waits_of(json.loads(file.read_text("utf-8"))["traceEvents"])


def waits_of(events: Iterable[dict[str, Any]]) -> list[str]:
    """Return the waits that began within the probe, in order."""
    complete = [event for event in events if event.get("ph") == "X"]
    probe = next(e for e in complete if e["name"] == RANGE and "gpu" not in e["cat"])
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


def compare(probe: Probe) -> dict[str, Any]:
    """Return what was said and what was found of a probe."""
    raised = run(probe)  # loads kernels and libraries, and lets the allocator grow
    told = 0 if raised else warned(probe)
    waits = [] if raised else traced(probe)
    return {
        "name": probe.name,
        "code": probe.code,
        "said": probe.waits,
        "raised": raised,
        "warnings": told,
        "waits": waits,
        "difference": difference(probe, raised, told, waits),
    }


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="probes to run; default: all")
    parser.add_argument("--out", type=Path, help="a file for the results as JSON")
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
    rows = [compare(probe) for probe in wanted]
    different = [row for row in rows if row["difference"]]
    for row in different:
        print(f"{row['name']}: {row['code']}\n  {row['difference']}")
    print(f"{len(rows) - len(different)} of {len(rows)} as the table says")
    if chosen.out is not None:
        result = {
            "gpu": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "probes": len(rows),
            "differences": different,
            "rows": rows,
        }
        chosen.out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    return DIFFERS if different else RIGHT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
