# SPDX-License-Identifier: BSD-3-Clause
"""test_probes.py: a dry run reports for each probe what CUDA does, and where; and
how probes are compared with a GPU."""

from __future__ import annotations

import builtins
import json
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.dryrun import sync_table_on_gpu as tool
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


# --- Their comparison with a GPU ------------------------------------------------------


HAS_GPU = torch.cuda.is_available()


@pytest.mark.verify
@pytest.mark.skipif(HAS_GPU, reason="there is a GPU")
def test_without_a_gpu_it_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool.main(["--out", str(tmp_path / "out.json")]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("needs a GPU") and said.out == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.verify
@pytest.mark.cuda
@pytest.mark.skipif(not HAS_GPU, reason="torch sees no GPU")
def test_the_table_is_right_on_this_gpu(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    assert tool.main(["--out", str(out)]) in (tool.RIGHT, tool.DIFFERS)
    assert json.loads(out.read_text("utf-8"))["differences"] == []


def event(cat: str, name: str, ts: float, correlation: int = 0) -> dict[str, Any]:
    args = {"correlation": correlation}
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": 1.0, "args": args}


@pytest.mark.verify
def test_waits_are_those_within_the_probe() -> None:
    events = [
        {"ph": "M", "name": "process_name"},
        {**event("user_annotation", tool.RANGE, 10), "dur": 10.0},
        event("gpu_user_annotation", tool.RANGE, 0),
        event("cuda_runtime", "cudaStreamSynchronize", 9),
        event("cuda_runtime", "cudaStreamSynchronize", 12),
        event("cuda_runtime", "cudaLaunchKernel", 13, 1),
        event("cuda_runtime", "cudaMemcpyAsync", 11, 2),
        event("gpu_memcpy", tool.PAGEABLE_TO_HOST, 30, 2),
        event("cuda_runtime", "cudaMemcpyAsync", 14, 3),
        event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 31, 3),
        event("cuda_runtime", "cudaDeviceSynchronize", 25),
    ]
    assert tool.waits_of(events, tool.RANGE) == [
        tool.PAGEABLE_TO_HOST,
        "cudaStreamSynchronize",
    ]


@pytest.mark.verify
def test_what_counts_as_a_difference() -> None:
    waits = Probe("a", "t.item()", "scalar", "item")
    goes_on = Probe("b", "t + 1", "", "async")
    fails = Probe("c", "x.numpy()", "", "numpy", raises="TypeError")
    assert tool.difference(waits, "", 1, []) == ""
    assert tool.difference(waits, "", 0, ["cudaStreamSynchronize"]) == ""
    assert tool.difference(waits, "", 0, []).startswith("said to wait")
    assert tool.difference(goes_on, "", 0, []) == ""
    assert tool.difference(goes_on, "", 2, []).startswith("said to not wait")
    assert tool.difference(fails, "TypeError", 0, []) == ""
    assert tool.difference(fails, "", 0, []) == "no error instead of TypeError"
    assert tool.difference(goes_on, "OSError", 0, []) == "OSError instead of none"
