# SPDX-License-Identifier: BSD-3-Clause
"""measure.py: times load and analysis; run.py calls it with the package under test.

    python measure.py ROUNDS SCALE [--trace RAW GZIP]... [--pair ONE FOUR]...

One processor, so that loading takes one thread; every call in a process of its own, in
turns. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path

from benchmarks.loader import hostile, scaling
from benchmarks.loader.hostile import CPU, Text, launched, x

LAUNCHER = '"pid":1,"tid":2'


def marks_and_devices(n: int) -> Text:
    """Loader ranges and devices, as many of each: no pair of them may be tried."""
    for i in range(n):
        yield from launched(100 * i, i + 1, i)
        name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
        yield x("user_annotation", name, CPU, 100 * i + 20, 60)


def deep_stacks(n: int) -> Text:
    """Launches with gaps between them under a thousand Python frames."""
    depth = 1_000
    for i in range(depth):
        args = f'"Python id":{i + 1},"Python parent id":{i}'
        name = f"program.py({i + 1}): level"
        yield x("python_function", name, CPU, i, 100 * n + 4 * depth - 2 * i, args)
    for i in range(n):
        yield from launched(depth + 100 * i, i + 1)


def annotated_gaps(n: int) -> Text:
    """A gap after every kernel, each in an annotation with a name of its own."""
    for i in range(n):
        yield x("user_annotation", f"part {i}", CPU, 100 * i, 90)
        yield from launched(100 * i + 1, i + 1)


def collectives(n: int) -> Text:
    """Collectives that overlap one another and half of the compute beside them."""
    for i in range(n):
        about = (
            f'"Collective name":"allreduce","In msg nelems":{i % 4096 + 1},'
            f'"Out msg nelems":{i % 4096 + 1},"dtype":"Float","Group size":8,'
            f'"Process Group Name":"{i % 16}","Seq":{i}'
        )
        yield x("cpu_op", "record_param_comms", CPU, 40 * i, 4, about)
        yield x(
            *("cuda_runtime", "cudaLaunchKernel", CPU, 40 * i + 1, 2),
            f'"correlation":{2 * i + 1}',
        )
        args = f'"correlation":{2 * i + 1},"device":0,"stream":{20 + i % 4},{about}'
        place = f'"pid":0,"tid":{20 + i % 4}'
        yield x("kernel", "ncclDevKernel_AllReduce", place, 40 * i + 6, 60, args)
        yield x(
            *("cuda_runtime", "cudaLaunchKernel", LAUNCHER, 40 * i, 2),
            f'"correlation":{2 * i + 2}',
        )
        args = f'"correlation":{2 * i + 2},"device":0,"stream":7'
        yield x("kernel", "gemm", '"pid":0,"tid":7', 40 * i + 4, 20, args)


def waits_and_copies(n: int) -> Text:
    """Scalars read back after every kernel: copies, waits, operators around them."""
    for i in range(n):
        at = 100 * i
        yield from launched(at, 2 * i + 1)
        yield x("cpu_op", "aten::_local_scalar_dense", CPU, at + 10, 60)
        link = f'"correlation":{2 * i + 2}'
        yield x("cuda_runtime", "cudaMemcpyAsync", CPU, at + 11, 4, link)
        yield x("cuda_runtime", "cudaStreamSynchronize", CPU, at + 16, 50)
        args = f'{link},"device":0,"stream":7,"bytes":4'
        name = "Memcpy DtoH (Device -> Pageable)"
        yield x("gpu_memcpy", name, '"pid":0,"tid":7', at + 20, 2, args)


def indexed_loops(n: int) -> Text:
    """One loop of selections, each with the same few operators after it."""
    yield x("user_annotation", "loop", CPU, 0, 40 * n)
    for i in range(n):
        for k, name in enumerate(("aten::select", "aten::mul", "aten::sum")):
            yield x("cpu_op", name, CPU, 40 * i + 10 * k, 8, '"Input Dims":[[64],[64]]')
        yield from launched(40 * i + 11, i + 1)


def devices_of_one_process(n: int) -> Text:
    """As many devices as launches, each idle while the others are launched for."""
    for i in range(n):
        yield x("cpu_op", "aten::mul", CPU, 300 * i, 60)
        yield from launched(300 * i + 5, i + 1, i)
        name = f"program.py({i % 50}): work"
        yield x("python_function", name, CPU, 300 * i + 65, 230)


def collections(n: int) -> Text:
    """Garbage collections in turn on many threads, while another one launches."""
    for i in range(n):
        thread = f'"pid":1,"tid":{1000 + i % 500}'
        yield x("python_function", "Python GC", thread, 100 * i + 20, 70)
        yield from launched(100 * i, i + 1)


def overlapping_marks(n: int) -> Text:
    """Loader ranges that all reach to the end, each on a thread of its own."""
    for i in range(n):
        thread = f'"pid":1,"tid":{1000 + i}'
        name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
        yield x("user_annotation", name, thread, 100 * i + 20, 100 * (n - i))
        yield from launched(100 * i, i + 1)


def waits_of_threads(n: int) -> Text:
    """A wait on each of many threads for the same device."""
    for i in range(n):
        thread = f'"pid":1,"tid":{1000 + i}'
        yield x("cuda_runtime", "cudaDeviceSynchronize", thread, 50 * i, 40 * n)
        yield from launched(50 * i, i + 1)


def processes(n: int) -> Text:
    """A step, an operator and a launch in each of many processes."""
    for i in range(n):
        host = f'"pid":{10 + i},"tid":{10 + i}'
        link = f'"correlation":{i + 1}'
        yield x("user_annotation", f"ProfilerStep#{i % 3}", host, 100 * i, 90)
        yield x("cpu_op", "aten::mul", host, 100 * i + 1, 40)
        yield x("cuda_runtime", "cudaLaunchKernel", host, 100 * i + 2, 5, link)
        args = f'{link},"device":{i % 8},"stream":7'
        place = f'"pid":{i % 8},"tid":7'
        yield x("kernel", "gemm", place, 100 * i + 20, 30, args)


def data_parallel(n: int) -> Text:
    """Replicas gathered and scattered again and again among eight devices."""
    for i in range(n):
        at = 400 * i
        yield x("user_annotation", "DataParallel.forward", CPU, at, 390)
        for k in range(8):
            link = f'"correlation":{8 * i + k + 1}'
            yield x("cpu_op", "Broadcast", CPU, at + 45 * k, 40)
            yield x("cuda_runtime", "cudaMemcpyAsync", CPU, at + 45 * k + 1, 5, link)
            args = f'{link},"device":{k},"stream":7,"bytes":1048576'
            place = f'"pid":{k},"tid":7'
            name = "Memcpy PtoP (Device -> Device)"
            yield x("gpu_memcpy", name, place, at + 45 * k + 10, 20, args)


def nested_steps(n: int) -> Text:
    """Steps each inside the one before, with a launch in each."""
    for i in range(n):
        name = f"ProfilerStep#{i}"
        yield x("user_annotation", name, CPU, 50 * i, 100 * (n - i))
        yield from launched(50 * i + 1, i + 1)


def graph_breaks(n: int) -> Text:
    """Compiled regions in turn, with the program's own Python between them."""
    for i in range(n):
        at = 400 * i
        name = f"Torch-Compiled Region: {i % 40}/0"
        yield x("cpu_op", name, CPU, at, 150)
        yield from launched(at + 20, i + 1)
        yield x("python_function", f"program.py({i % 50}): rest", CPU, at + 155, 240)


KINDS: dict[str, tuple[Callable[[int], Text], int]] = {
    "loader marks, devices": (marks_and_devices, 1_000),
    "launches under deep stacks": (deep_stacks, 15_000),
    "annotated gaps": (annotated_gaps, 25_000),
    "overlapping collectives": (collectives, 15_000),
    "waits and copies": (waits_and_copies, 15_000),
    "loop of selections": (indexed_loops, 20_000),
    "devices of one process": (devices_of_one_process, 2_000),
    "collections on threads": (collections, 20_000),
    "overlapping marks": (overlapping_marks, 6_000),
    "waits of threads": (waits_of_threads, 6_000),
    "processes": (processes, 10_000),
    "data parallel": (data_parallel, 3_000),
    "nested steps": (nested_steps, 10_000),
    "graph breaks": (graph_breaks, 20_000),
}


FORMS = ("raw", "gzip")


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rounds", type=int)
    parser.add_argument("scale", type=float)
    parser.add_argument("--trace", nargs=2, action="append", default=[], type=Path)
    parser.add_argument("--pair", nargs=2, action="append", default=[], type=Path)
    options = parser.parse_args()
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    traces: dict[str, dict[str, dict[str, list[float]]]] = {}
    for _ in range(options.rounds):
        for paths in options.trace:
            rows = traces.setdefault(paths[0].name.removesuffix(".json"), {})
            for form, path in zip(FORMS, paths, strict=True):
                row = rows.setdefault(form, {part: [] for part in scaling.PARTS})
                for part, spent in zip(scaling.PARTS, scaling.once(path), strict=True):
                    row[part].append(spent)
    rounds = max(2, options.rounds // 2)
    pairs = [
        {
            "kind": small.name.removesuffix(".1.json"),
            **scaling.pair(small, large, rounds),
        }
        for small, large in options.pair
    ]
    hostile.KINDS.update(KINDS)
    pairs += scaling.hostile(options.scale, rounds)
    print(json.dumps({"traces": traces, "scaling": pairs}))


if __name__ == "__main__":
    main()
