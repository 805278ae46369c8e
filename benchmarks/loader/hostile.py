# SPDX-License-Identifier: BSD-3-Clause
"""hostile.py: traces with one property driven far, of any size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

Text = Iterator[str]
CPU = '"pid":1,"tid":1'
GPU = '"pid":0,"tid":7'


def x(cat: str, name: str, place: str, ts: int, dur: int, args: str = "") -> str:
    """Return one event of phase X; times in microseconds."""
    tail = f',"args":{{{args}}}' if args else ""
    return (
        f'{{"ph":"X","cat":"{cat}","name":"{name}",{place},'
        f'"ts":{ts},"dur":{dur}{tail}}}'
    )


def launched(ts: int, correlation: int, device: int = 0) -> Text:
    """Yield a launch and its kernel."""
    link = f'"correlation":{correlation}'
    yield x("cuda_runtime", "cudaLaunchKernel", CPU, ts, 2, link)
    args = f'{link},"device":{device},"stream":7'
    yield x("kernel", "k", f'"pid":{device},"tid":7', ts + 4, 5, args)


def repeated_correlations(n: int) -> Text:
    """All launches and kernels have one correlation id, all arrows one id."""
    for i in range(n):
        yield from launched(10 * i, 5)
        yield f'{{"ph":"s","cat":"ac2g","name":"ac2g","id":5,{CPU},"ts":{10 * i}}}'
        yield f'{{"ph":"f","cat":"ac2g","name":"ac2g","id":5,{GPU},"ts":{10 * i + 4}}}'


def args_in_one_event(n: int) -> Text:
    """One event has n args."""
    yield from launched(0, 1)
    yield x("cpu_op", "op", CPU, 0, 9, ",".join(f'"a{i}":{i}' for i in range(n)))


def repeated_args(n: int) -> Text:
    """One event has one argument n times."""
    yield from launched(0, 1)
    yield x("cpu_op", "op", CPU, 0, 9, ",".join('"correlation":1' for _ in range(n)))


def unique_names(n: int) -> Text:
    """No name occurs twice."""
    for i in range(n):
        yield x("cpu_op", f"operator number {i}", CPU, 10 * i, 5)
        yield from launched(10 * i, i + 1)


def nested_operators(n: int) -> Text:
    """Operators that contain one another, n deep."""
    for i in range(n):
        yield x("cpu_op", "op", CPU, i, 2 * (n - i))
    yield from launched(n, 1)


def nested_args(n: int) -> Text:
    """Arguments that are lists in lists, 200 deep."""
    for i in range(n):
        deep = "[" * 200 + "]" * 200
        yield x("cpu_op", "op", CPU, 10 * i, 5, f'"Input Dims":{deep}')
        yield from launched(10 * i, i + 1)


def long_strings(n: int) -> Text:
    """Names of 100,000 characters, with escapes."""
    for i in range(n):
        yield x("cpu_op", f"{i}" + "\\u00e9\\n..." * 10_000, CPU, 10 * i, 5)
        yield from launched(10 * i, i + 1)


def tiny_events(n: int) -> Text:
    """The least that is an event."""
    yield from launched(0, 1)
    for i in range(n):
        yield f'{{"ph":"X","ts":{i},"dur":1}}'


def same_time(n: int) -> Text:
    """Everything begins and ends at the same time."""
    for i in range(n):
        yield x("cpu_op", "op", CPU, 10, 5)
        yield x("cuda_runtime", "cudaLaunchKernel", CPU, 10, 5, f'"correlation":{i}')
        args = f'"correlation":{i},"device":0,"stream":7'
        yield x("kernel", "k", GPU, 10, 5, args)


def many_threads(n: int) -> Text:
    """Every event has a thread of its own."""
    for i in range(n):
        yield x("cpu_op", "op", f'"pid":1,"tid":{i}', 10 * i, 5)
    yield from launched(0, 1)


def many_devices(n: int) -> Text:
    """Every kernel has a device of its own."""
    for i in range(n):
        yield from launched(10 * i, i + 1, i)


def idle_gaps(n: int) -> Text:
    """A synchronization and a gap after every kernel, under one long operator."""
    yield x("cpu_op", "op", CPU, 0, 100 * n)
    for i in range(n):
        yield from launched(100 * i, i + 1)
        yield x("cuda_runtime", "cudaDeviceSynchronize", CPU, 100 * i + 5, 40)


KINDS: dict[str, tuple[Callable[[int], Text], int]] = {
    "repeated correlations": (repeated_correlations, 20_000),
    "args in one event": (args_in_one_event, 200_000),
    "one argument repeated": (repeated_args, 200_000),
    "unique names": (unique_names, 30_000),
    "nested operators": (nested_operators, 80_000),
    "nested args": (nested_args, 16_000),
    "long strings": (long_strings, 120),
    "tiny events": (tiny_events, 200_000),
    "same time": (same_time, 30_000),
    "a thread an event": (many_threads, 30_000),
    "a device a kernel": (many_devices, 1_000),
    "idle gaps": (idle_gaps, 30_000),
}


def write_kind(path: Path, kind: str, n: int) -> None:
    """Write a trace of one kind."""
    events = KINDS[kind][0](n)
    path.write_text('{"traceEvents":[' + ",\n".join(events) + "]}")
