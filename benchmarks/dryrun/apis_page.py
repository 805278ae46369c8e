# SPDX-License-Identifier: BSD-3-Clause
"""apis_page.py: which calls wait for CUDA, benchmarks/results/dryrun_apis.md.

Made from the table of probes, tests/python/dryrun/probes.py; each row is a test.
"""

from __future__ import annotations

from benchmarks.lab import pages
from tests.python.dryrun.probe import HOW, Probe
from tests.python.dryrun.probe_sources import SOURCES
from tests.python.dryrun.probes import PARTS, PROBES

WORDS = {
    "scalar": "a value is read",
    "shape": "a size is read",
    "d2h": "copy to the host",
    "h2d": "copy to the device",
    "hidden": "inside the operator",
    "explicit": "asked for",
}


def page() -> pages.Figures:
    """Return what the page is made of."""
    return {
        "machine": {},
        "probes": PROBES,
        "parts": PARTS,
        "sources": SOURCES,
        "code": _code,
        "waits": _waits,
        "how": _how,
    }


def _code(text: str) -> str:
    text = " ".join(text.split()).replace("|", "\\|")
    return f"`{text}`"


def _waits(probe: Probe) -> str:
    if probe.raises:
        return f"`{probe.raises}`"
    found = []
    for kind, count, more in probe.expected():
        times = f", {count} times" if count > 1 else ""
        found.append(WORDS[kind] + times + (", or more" if more else ""))
    return "; ".join(found) or "no"


def _how(probe: Probe) -> str:
    if probe.refused:
        return "refused"
    return ", ".join(dict.fromkeys(HOW[kind] for kind, _, _ in probe.expected()))


if __name__ == "__main__":
    pages.write("dryrun_apis", page())
