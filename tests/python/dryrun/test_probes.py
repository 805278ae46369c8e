# SPDX-License-Identifier: BSD-3-Clause
"""test_probes.py: a dry run says of each probe what CUDA is known to do, and where."""

from __future__ import annotations

import builtins
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from torchtraceap.base.errors import DryRunError

from .probe import HOW, Probe, names
from .probe_sources import SOURCES
from .probes import PROBES
from .shared_run import Seen

#: By which name of a wait what was waited for; all other operators give a size.
KIND_OF = {
    "aten::_local_scalar_dense": "scalar",
    "aten::equal": "scalar",
    "aten::allclose": "scalar",
    "Tensor.__repr__": "d2h",
    "Tensor.cpu": "d2h",
    "Tensor.cuda": "h2d",
    "torch.tensor": "h2d",
    "Tensor.__getitem__(list)": "h2d",
}
#: On which line of its own file a probe's code stands.
LINE = 7


def kind_of(sync: Any) -> str:
    if sync.how != "seen":
        return {how: kind for kind, how in HOW.items() if how != "seen"}[sync.how]
    return KIND_OF.get(sync.api, "shape")


def measured(probe: Probe, file: str, seen: Seen) -> tuple[Counter[str], set[Any], str]:
    """Return a probe's waits by kind, their lines, and the error it ended with."""
    code = compile("\n" * (LINE - 1) + probe.code, file, "exec")
    raised = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = names(probe)
        exec(compile(probe.setup, file + ".setup", "exec"), here)
        since = seen.anew()
        try:
            exec(code, here)
        except Exception as error:
            if not probe.raises:
                raise
            raised = type(error).__name__
        syncs = since.syncs
    lines = {(sync.line.file, sync.line.line) if sync.line else None for sync in syncs}
    return Counter(map(kind_of, syncs)), lines, raised


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_probe(probe: Probe, seen: Seen) -> None:
    file = str(Path(__file__).with_name("a_program.py"))  # need not exist
    if probe.refused:
        with pytest.raises(DryRunError, match="cannot be run dry"):
            measured(probe, file, seen)
        return
    waits, lines, raised = measured(probe, file, seen)
    assert raised == probe.raises
    assert probe.agrees(waits), f"{probe.code}: {dict(waits)}, not {probe.waits!r}"
    assert lines <= {(file, LINE)}


def test_the_table_is_in_order() -> None:
    """Rows have names and code of their own, and a source that exists."""
    for key in ("name", "code"):
        counts = Counter((getattr(p, key), p.setup * (key == "code")) for p in PROBES)
        assert not [value for value, count in counts.items() if count > 1]
    assert {probe.source for probe in PROBES} == set(SOURCES)
    for probe in PROBES:
        assert len({kind for kind, _, _ in probe.expected()}) == len(probe.expected())
        assert not probe.raises or hasattr(builtins, probe.raises)
    assert len(PROBES) >= 180
