# SPDX-License-Identifier: BSD-3-Clause
"""path_reasons.py: why our critical path and HTA's differ at a moment.

Each reason is one rule of HTA's. `launch`, `graph` and `rows` are read from the raw
events: the call that launched the kernel which HTA calls delayed, what else that call
launched. The others follow from where the two paths are. What none explains is `other`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from path_raw import DEVICE, Raw
from path_windows import CALL, GAP, OUTSIDE, RETURN, Stretch
from raw import MTIA

HOST = ("host", "runtime_calls", "hand_over", "before_the_trace")
ON_DEVICE = (*DEVICE, "device_delay")

REASONS = {
    "operators": (
        "The time between two operators of a thread, Python for the most, has no "
        "weight in HTA's graph. It passes: ours has it as `host`."
    ),
    "call": (
        "The whole of a call that may wait (`cudaMemcpyAsync` and `cudaEventQuery` "
        "among them) has no weight in HTA's graph, waited or not."
    ),
    "waits": (
        "HTA knows that a call waited for the device from a `cuda_sync` row and from "
        "nothing else; they are off by default, and AMD has none. Its path stays on "
        "the host, and the wait is no weight (CUDA) or work of the host (HIP). Ours "
        "goes over the device work that the call waited for."
    ),
    "launch": (
        "HTA calls the time between two kernels a delay of the device unless the "
        "queue was empty when the second was launched *and* nothing more was launched"
        " before it began. Here the second was launched only after the first had "
        "ended: the device waited for the host. Ours follows the host."
    ),
    "graph": (
        "Of a CUDA or HIP graph HTA sees one kernel: all others share the correlation"
        " of its launch. They are a delay between kernels to it, work to us."
    ),
    "streams": (
        "Both are on the device, on different streams. HTA knows that one waited for "
        "the other from a `Stream Wait Event` row only, and has the time as a delay "
        "between two kernels of one stream. Ours goes over the work of the other. In "
        "`mi300x8-resnet-ddp-rccl-rank0of8` and `v100x2-nccl-rank1of2-test` each such "
        "delay over 0.5 ms ends within 50 us after work of another stream."
    ),
    "earlier": (
        "Work from before the recording held the device up. Ours says so "
        "(`before_the_trace`); HTA has the call that waited as work of the host, or "
        "begins later."
    ),
    "rows": (
        "On MTIA, rows of what a stream waits for (`event_wait`, `event_record`) are "
        "device work to HTA, with delays between them."
    ),
    "before": (
        "HTA's path begins where the largest sum of weights begins: with a first "
        "operator, or a kernel that it ties to nothing before. Ours is what the end "
        "waited for, back to the begin of the window."
    ),
    "after": (
        "HTA's path ends with the last operator, call or kernel of a thread; ours "
        "with the window."
    ),
    "threads": (
        "HTA's threads are tied to each other by nothing. Ours hand over: main waits "
        "for autograd's thread, and the other way round."
    ),
    "sum": (
        "Both chains run at that time. HTA takes that of the largest sum of weights; "
        "ours is the one that the end waited for."
    ),
    "other": "None of these.",
}


class Reasons:
    """Reasons for the differences of one window."""

    def __init__(self, raw: Raw, ours: list[Stretch], theirs: list[Stretch]) -> None:
        self.raw, self.theirs = raw, theirs
        self.ours_back = self._left_by(ours, lambda s: s.what.startswith("sync"))
        self.late = self._left_by(theirs, self._launched_late)
        self.hidden = self._left_by(theirs, self._of_a_graph)

    def _left_by(self, path: list[Stretch], test: Any) -> set[int]:
        """Return begins of device stretches from where a path meets `test` before it
        comes to the host again, or as it does."""
        out, met = set(), False
        for s in reversed(path):
            if s.label not in ON_DEVICE:
                met = False
                continue
            met = met or test(s)
            if met:
                out.add(s.begin)
        return out

    def _launched_late(self, s: Stretch) -> bool:
        if not s.what.startswith("kernel_delay"):
            return False
        launch = self.raw.launch(s.row)
        return launch is not None and self.raw.begin(launch) > s.begin

    def of(self, x: Stretch | None, y: Stretch | None, begin: int) -> str:
        """Return the reason why one path is in x and the other in y."""
        if y is None:
            early = begin < self.theirs[0].begin
            return "before" if early else "after"
        if x is None:
            return "after"
        if x.label == "before_the_trace":
            return "earlier"
        if y.row >= 0 and self.raw.events[y.row].get("cat") == MTIA:
            return "rows"
        if y.label == "device_delay":
            return self._delay(x, y)
        if x.label in ON_DEVICE and y.label not in ON_DEVICE:
            return "waits" if x.begin in self.ours_back else "sum"
        if y.label == GAP:
            return "threads" if x.label == "hand_over" else "operators"
        if y.label in (CALL, RETURN):
            return "call"
        if x.label == "hand_over" or (x.label in HOST and y.label in HOST):
            return "threads"
        if x.label in HOST:
            return self._chain(y)
        return "streams" if x.label in ON_DEVICE else "other"

    def _of_a_graph(self, s: Stretch) -> bool:
        if not s.what.startswith("kernel_delay"):
            return False
        name = str(self.raw.events[s.row]["name"])
        return self.raw.shares_launch((name, self.raw.begin(s.row)))

    def _chain(self, y: Stretch) -> str:
        """Return why HTA's path stays on a stream and ours on the host."""
        if y.begin in self.late:
            return "launch"
        return "graph" if y.begin in self.hidden else "sum"

    def _delay(self, x: Stretch, y: Stretch) -> str:
        if x.label in HOST:
            return self._chain(y)
        if x.label in DEVICE and x.work is not None:
            if self.raw.shares_launch(x.work):
                return "graph"
            return "streams"
        return "launch" if y.begin in self.late else "other"


def explained(
    reasons: Reasons, moments: list[tuple[Stretch | None, Stretch | None, int, int]]
) -> tuple[float, dict[str, float], dict[str, dict[str, float]]]:
    """Return microseconds of agreement, by reason, and by reason and categories."""
    same = 0
    out: Counter[str] = Counter()
    cells: dict[str, Counter[str]] = defaultdict(Counter)
    for x, y, begin, ns in moments:
        if x is None and y is None:
            continue
        if x is not None and y is not None and x.label == y.label:
            same += ns
            continue
        why = reasons.of(x, y, begin)
        out[why] += ns
        mine, their = (s.label if s else OUTSIDE for s in (x, y))
        cells[why][f"{mine} / {their}"] += ns
    return (
        same / 1e3,
        {why: ns / 1e3 for why, ns in out.most_common()},
        {
            why: {c: ns / 1e3 for c, ns in of.most_common(3)}
            for why, of in cells.items()
        },
    )
