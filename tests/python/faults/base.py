# SPDX-License-Identifier: BSD-3-Clause
"""faults/base.py: the two sound traces over which faults are made.

One is real; its facts are counted with Python's json. One is written here in Kineto's
layout; its facts are the numbers it is written from.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path

from .variant import Base, Facts

DATA = Path(__file__).resolve().parents[2] / "data"
DEVICE_WORK = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}

# Nanoseconds after the three-month floor that torch 2.13 counts from.
BEGIN_NS = 4_372_189_311_950_743

_HEAD = """\
{
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150110011392, "numSms": 132
    }
  ],
  "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2, "pg_count": 0},
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1759276800000000000,
  "traceEvents": [
  """
_TAIL = """
  ],
  "traceName": "/tmp/worker0.pt.trace.json"
}
"""


def spans(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Give where the elements of the list whose '[' is at `start` begin and end."""
    decoder = json.JSONDecoder()
    at = start + 1
    while True:
        while text[at] in " \t\r\n,":
            at += 1
        if text[at] == "]":
            return
        _, end = decoder.raw_decode(text, at)
        yield at, end
        at = end


def list_start(text: str) -> int:
    """Return where the '[' of traceEvents is."""
    return text.index("[", text.index('"traceEvents"'))


def counted(event: dict) -> Facts:
    """Count one sound event as Python's json sees it."""
    is_x = event["ph"] == "X"
    return Facts(
        events=1,
        x=int(is_x),
        sum_dur_ns=int(event["dur"] * 1000) if is_x else 0,
        min_ts_ns=int(event["ts"] * 1000) if is_x else None,
        gpu=int(is_x and event.get("cat") in DEVICE_WORK),
        flow_s=int(event["ph"] == "s"),
        flow_f=int(event["ph"] == "f"),
    )


@cache
def real() -> Base:
    """Three streams of an A100 with event synchronization, 149 events."""
    path = DATA / "a100-event-sync-3streams-tiny.json.gz"
    text = gzip.decompress(path.read_bytes()).decode()
    places = list(spans(text, list_start(text)))
    pieces = tuple(text[begin:end] for begin, end in places)
    facts = tuple(counted(json.loads(p, parse_float=Decimal)) for p in pieces)
    return Base("real", text[: places[0][0]], pieces, facts, text[places[-1][1] :])


def micros(ns: int) -> str:
    """Write nanoseconds as Kineto does: microseconds with three decimals."""
    return f"{ns // 1000}.{ns % 1000:03}"


@cache
def synthetic() -> Base:
    """Two steps on an H200: frames, operators, launches, flows, kernels; 73 events."""
    pieces: list[str] = []
    facts: list[Facts] = []

    def add(text: str, **fact: int) -> None:
        pieces.append(text)
        facts.append(Facts(events=1, **fact))

    def slice_(cat: str, name: str, place: str, ts: int, dur: int, args: str) -> None:
        add(
            f'{{\n    "ph": "X", "cat": "{cat}", "name": "{name}", {place},\n'
            f'    "ts": {micros(ts)}, "dur": {micros(dur)},\n'
            f'    "args": {{\n      {args}\n    }}\n  }}',
            x=1,
            sum_dur_ns=dur,
            min_ts_ns=ts,
            gpu=int(cat in DEVICE_WORK),
        )

    host, device = '"pid": 4242, "tid": 4242', '"pid": 0, "tid": 7'
    for place, label in ((host, "CPU"), (device, "GPU 0")):
        for kind, key in (("process_name", "name"), ("process_labels", "labels")):
            value = "python" if key == "name" else label
            add(
                f'{{\n    "name": "{kind}", "ph": "M", "ts": {micros(BEGIN_NS)}, '
                f'{place},\n    "args": {{\n      "{key}": "{value}"\n    }}\n  }}'
            )
    for step in (0, 1):
        name, begin = f"ProfilerStep#{step + 3}", BEGIN_NS + step * 500_000
        args = f'"External id": {step + 1}'
        slice_("user_annotation", name, host, begin, 450_001, args)
    for i in range(11):
        begin = BEGIN_NS + 1_003 + i * 80_000
        ids = f'"External id": {i + 10}, "correlation": {i + 100}'
        frame = f'"Python id": {i + 1}, "Python parent id": null'
        slice_("python_function", "train.py(12): step", host, begin, 60_007, frame)
        operator = f'"External id": {i + 10}, "Sequence number": {i}'
        slice_("cpu_op", "aten::mm", host, begin + 2_001, 50_003, operator)
        launch = begin + 10_011
        call = f'"cbid": 211, {ids}'
        slice_("cuda_runtime", "cudaLaunchKernel", host, launch, 5_005, call)
        arrow = f'"id": {i + 100}, {{}}, "ts": {micros(launch)}, "cat": "ac2g"'
        ends = '"name": "ac2g", "bp": "e"'
        add(f'{{"ph": "s", {arrow.format(host)}, "name": "ac2g"}}', flow_s=1)
        add(f'{{"ph": "f", {arrow.format(device)}, {ends}}}', flow_f=1)
        if i < 10:
            work, name = "kernel", "void gemm<128, 4>(float*, char const*)"
        else:
            work, name = "gpu_memcpy", "Memcpy DtoH (Device -> Pageable)"
        place = f'"device": 0, "stream": 7, {ids}'
        slice_(work, name, device, launch + 9_013, 40_009 + i, place)
    end = micros(BEGIN_NS + 1_000_000)
    add(
        '{\n    "name": "Record Window End", "ph": "i", "s": "g",\n'
        f'    "pid": "", "tid": "", "ts": {end}\n  }}'
    )
    return Base("synthetic", _HEAD, tuple(pieces), tuple(facts), _TAIL)


BASES = (real, synthetic)
