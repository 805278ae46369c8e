# SPDX-License-Identifier: BSD-3-Clause
"""probes_streams.py: data loaders, streams and events, questions to the device."""

from __future__ import annotations

from .probe import Probe

_EVENTS = (
    "a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2));"
    " a.record(); x.sum(); b.record()"
)
_STREAM = "s = torch.cuda.Stream()"
_LOADER = (
    "d = torch.utils.data.TensorDataset(h); "
    "l = iter(torch.utils.data.DataLoader(d, 2, pin_memory={}))"
)

PROBES = (
    # --- Data ------------------------------------------------------------------------
    Probe("loader", "next(l)[0].to('cuda')", "h2d", "copy", _LOADER.format(False)),
    Probe("loader-pinned", "next(l)[0].to('cuda', non_blocking=True)", "", "pinning",
          _LOADER.format(True)),
    Probe("loader-pinned-waits", "next(l)[0].to('cuda')", "h2d", "copy",
          _LOADER.format(True)),
    # --- Streams and events ----------------------------------------------------------
    Probe("synchronize", "torch.cuda.synchronize()", "explicit", "stream"),
    Probe("accelerator", "torch.accelerator.synchronize()", "explicit", "stream"),
    Probe("stream-synchronize", "s.synchronize()", "explicit", "stream", _STREAM),
    Probe("current-synchronize", "torch.cuda.current_stream().synchronize()",
          "explicit", "stream"),
    Probe("event-synchronize", "b.synchronize()", "explicit", "stream", _EVENTS),
    Probe("event-query", "b.query(), torch.cuda.current_stream().query()", "", "query",
          _EVENTS),
    Probe("event-wait", "b.wait()", "", "stream", _EVENTS),
    Probe("stream-wait", "s.wait_stream(torch.cuda.current_stream())", "", "stream",
          _STREAM),
    Probe("stream-block", "with torch.cuda.stream(s): x.sum()", "", "stream", _STREAM),
    Probe("record-stream", "x.record_stream(s)", "", "stream", _STREAM),
    Probe("device-queries", "torch.cuda.is_available(), torch.cuda.device_count()", "",
          "async"),
    Probe("memory", "torch.cuda.memory_allocated()", "", "memory"),
)  # fmt: skip
