# SPDX-License-Identifier: BSD-3-Clause
"""perfetto_link.py: links that open Perfetto's page at a time of a trace.

The page fetches the trace from this machine, and from one address of it only: its
Content-Security-Policy names port 9001 (perfetto.dev, "Deep linking to the Perfetto
UI"). `torchtraceap perfetto` serves it there.
"""

from __future__ import annotations

from urllib.parse import quote, urlencode

from torchtraceap._core import Finding, TraceFacts

ORIGIN = "https://ui.perfetto.dev"
PORT = 9001
_LEAST_NS = 1_000  # Around an event.


def served_path(trace: TraceFacts) -> str:
    """Return the path of a trace's copy on the server: ``/NAME-NUMBERS.json``. Another
    trace of the same name has other numbers, so that no link opens the wrong one."""
    name = trace.path.replace("\\", "/").rpartition("/")[2]
    name = quote(name.partition(".json")[0] or "trace", safe="")
    return f"/{name}-{trace.events}-{trace.start_ns}.json"


def perfetto_link(trace: TraceFacts, finding: Finding | None = None) -> str:
    """Return the address of Perfetto's page with a trace; of a finding with evidence,
    at its first event, with as much time around it as it takes and as an occurrence
    wastes on average."""
    form = {"url": f"http://127.0.0.1:{PORT}{served_path(trace)}"}
    if finding is not None and finding.events:
        event = finding.events[0]
        wasted_ns = finding.wasted_ns // max(1, finding.count)
        around = max(event.duration_ns, wasted_ns, _LEAST_NS)
        # Perfetto counts in nanoseconds, as written: "ts" times 1,000.
        form["visStart"] = str(event.start_ns - around)
        form["visEnd"] = str(event.start_ns + event.duration_ns + around)
    return f"{ORIGIN}/#!/?{urlencode(form)}"
