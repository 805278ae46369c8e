# SPDX-License-Identifier: BSD-3-Clause
"""apis_page.py [--write]: which calls wait for CUDA, benchmarks/results/dryrun_apis.md.

Made of the table of probes, tests/python/dryrun/probes.py, each row of which is a test.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from benchmarks import RESULTS
from tests.python.dryrun.probe import HOW, Probe
from tests.python.dryrun.probe_sources import SOURCES
from tests.python.dryrun.probes import PARTS, PROBES

PAGE = RESULTS / "dryrun_apis.md"

WORDS = {
    "scalar": "a value is read",
    "shape": "a size is read",
    "d2h": "copy to the host",
    "h2d": "copy to the device",
    "hidden": "inside the operator",
    "explicit": "asked for",
}

HEAD = """\
# Which calls wait for CUDA

Written by `python -m benchmarks.dryrun.apis_page --write`; not edited by hand.

Does the host wait for the device at these {all} calls on CUDA tensors? At {waits} it
does. Each row is a test: a dry run must say the same, as often, and name the line. It
knows by what it sees (*seen*: an operator that reads back, a copy), by a table of what
CUDA's kernels wait for inside (*table*), or because torch.cuda was asked to wait
(*facade*). {refused} cannot be run dry and are *refused*.

What CUDA does is told by [the sources](#sources) at the end, for torch 2.13, and was
not measured: there was no GPU. Where the source is *async*, the general rule is all
that was found. `python -m benchmarks.dryrun.sync_table_on_gpu` compares the table with
a real GPU.

On the device, `x` and `y` are matrices, `v` a vector, `t` and `u` single floats, `k` a
whole number, `i` indices, `m` and `r` masks, `sq` a square matrix, `x3` has three
dimensions; `net` is a linear layer and `opt` its optimizer. On the host, `h` is a
matrix, `hp` a pinned one, `hi` indices, `hm` a mask, `ht` a single float, `ids` a list.
"""

SOURCES_HEAD = """
## Sources

Paths are those of pytorch/pytorch; `#` is a number of its issues and pull requests.

| source | what it says |
|---|---|
"""


def page() -> str:
    """Return the text of the page."""
    waits = sum(bool(probe.waits) for probe in PROBES)
    refused = sum(probe.refused for probe in PROBES)
    head = HEAD.format(all=len(PROBES), waits=waits, refused=refused)
    sources = [f"| {key} | {_text(said)} |\n" for key, said in SOURCES.items()]
    return "".join([head, *_parts(), SOURCES_HEAD, *sources])


def _parts() -> Iterator[str]:
    for title, probes in PARTS.items():
        yield f"\n## {title}\n\n"
        yield "| call | the host waits | known as | source |\n|---|---|---|---|\n"
        for probe in probes:
            cells = _call(probe), _waits(probe), _how(probe), probe.source
            yield f"| {' | '.join(cells)} |\n"


def _call(probe: Probe) -> str:
    call = _code(probe.code)
    return f"{call}, after {_code(probe.setup)}" if probe.setup else call


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


def _text(source: str) -> str:
    for character in "|_*":
        source = source.replace(character, "\\" + character)
    return source


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(), "utf-8")
    else:
        print(page(), end="")
