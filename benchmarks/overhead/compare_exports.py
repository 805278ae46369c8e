# SPDX-License-Identifier: BSD-3-Clause
"""compare_exports.py: three ways to read one profiler run, compared event by event.

    python -m benchmarks.overhead.compare_exports

Kineto's JSON, which every user exports, is the measure. Against it are held torch's
repeatable Python export (torch 2.13 and later), before and after Kineto's, and what
`kineto_results.events()` holds, which a reader in memory would see. results/overhead.md
draws the conclusions.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections import Counter
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

Event = dict[str, Any]


def work() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters())
    data = torch.utils.data.TensorDataset(torch.randn(16, 32))
    for (x,) in torch.utils.data.DataLoader(data, batch_size=4):
        with record_function('quoted "name" with a back\\slash and an é'):
            model(x).pow(2).mean().backward()
            optimizer.step()
            optimizer.zero_grad()


def record() -> Any:
    work()
    with profile(
        activities=[ProfilerActivity.CPU],
        record_shapes=True,
        with_stack=True,
        profile_memory=True,
    ) as prof:
        work()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    return prof


def exported(prof: Any, folder: str, **options: Any) -> dict[str, Any]:
    path = os.path.join(folder, "trace.json")
    prof.export_chrome_trace(path, **options)
    with open(path, encoding="utf-8") as file:
        return dict(json.load(file))


def is_real(event: Event) -> bool:
    return event["ph"] in "Xi" and event.get("cat") not in (None, "Trace")


def compare_files(kineto: dict[str, Any], python: dict[str, Any]) -> None:
    for key in kineto.keys() | python.keys():
        if key not in ("traceEvents", "traceName") and kineto.get(key) != python.get(
            key
        ):
            print(f"  {key}: {kineto.get(key)!r}, but {python.get(key)!r}")
    one = [e for e in kineto["traceEvents"] if e["ph"] != "M"]
    two = [e for e in python["traceEvents"] if e["ph"] != "M"]
    print(f"  {len(one)} events, but {len(two)} (without those of phase M)")
    differences: Counter[tuple[str, str]] = Counter()
    examples = {}
    for a, b in zip(one, two, strict=False):
        for field in sorted(a.keys() | b.keys()):
            if a.get(field) != b.get(field):
                kind = (a.get("cat", a["name"]), field)
                differences[kind] += 1
                examples.setdefault(kind, (a.get(field), b.get(field)))
    for kind, count in differences.items():
        mine, other = examples[kind]
        print(f"  {kind[0]} .{kind[1]}: {count} differ; first {mine!r}, but {other!r}")
    for trace, name in ((kineto, "Kineto"), (python, "Python")):
        threads = {
            e["args"]["name"]
            for e in trace["traceEvents"]
            if e["name"] == "thread_name"
        }
        print(f"  threads are called by {name}: {sorted(threads)}")


def compare_memory(kineto: dict[str, Any], events: list[Any]) -> None:
    """The order differs, so events are matched by start, duration and category."""
    base = kineto["baseTimeNanoseconds"]
    found = {(e.start_ns() - base, e.activity_type()): e for e in events}
    matched: Counter[str] = Counter()
    equal: Counter[str] = Counter()
    real = [e for e in kineto["traceEvents"] if is_real(e)]
    for event in real:
        # Microseconds with three decimals and 13 digits before: a double can do that.
        other = found.get((round(event["ts"] * 1000), event["cat"]))
        if other is None:
            continue
        matched[event["cat"]] += 1
        args = dict(event["args"])
        args.pop("External id", None)
        theirs = json.loads("{" + other.metadata_json() + "}")
        equal[event["cat"]] += args == theirs
    print(f"  {len(real)} events, but {len(events)}")
    for category, count in Counter(e["cat"] for e in real).items():
        print(
            f"  {category}: {matched[category]} of {count} found by their start, "
            f"{equal[category]} of these with the args of the JSON"
        )


def main() -> None:
    print(f"torch {torch.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        prof = record()
        before = exported(prof, folder, use_python_export=True)
        kineto = exported(prof, folder)
        after = exported(prof, folder, use_python_export=True)
    print("\nPython export, before and after Kineto's:")
    print(f"  events equal: {before['traceEvents'] == after['traceEvents']}")
    print("\nKineto's JSON, but the Python export:")
    compare_files(kineto, after)
    print("\nKineto's JSON, but kineto_results.events():")
    compare_memory(kineto, prof.profiler.kineto_results.events())


if __name__ == "__main__":
    main()
