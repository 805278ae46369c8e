# SPDX-License-Identifier: BSD-3-Clause
"""test_cpu_watch.py: on the CPU, what would wait for a GPU, and on which line."""

from __future__ import annotations

import pathlib
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest

import torchtraceap
from torchtraceap.checking.sync_check import SyncCheck, SyncStalls
from torchtraceap.waits.table import CAUSES

from .dryrun.probe import Probe, names
from .dryrun.probes import PROBES

torch = pytest.importorskip("torch")

if torch.cuda.is_available():
    pytest.skip("these watch a run without a GPU", allow_module_level=True)

# Said once in a process, by whichever test comes first.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks")

HERE = pathlib.Path(__file__).resolve()


def test_the_docs_have_the_table_of_operators() -> None:
    docs = (HERE.parents[2] / "docs" / "pytest.md").read_text(encoding="utf-8")
    for row in CAUSES:
        for text in (row.written, row.why, row.instead):
            assert text in docs


def lines_of(code: Callable[[], object], **options: Any) -> list[tuple[str, int]]:
    """Operators that would wait, with their line counted from that of `code`."""
    check = SyncCheck(device="cpu", **options)
    try:
        with check:
            code()
    except SyncStalls:
        pass
    assert check.verdict is not None
    first = code.__code__.co_firstlineno  # type: ignore[attr-defined]
    found = []
    for one in check.verdict.waits:
        assert one.line is not None and one.line.file == str(HERE), one
        found += [(one.api.removeprefix("aten::"), one.line.line - first)]
    return sorted(found, key=lambda pair: pair[1])


def test_lines_are_exact_also_where_nothing_is_called() -> None:
    def code() -> None:
        x = torch.randn(8)
        if x.sum() > 0:
            float(x[0])
        x[x > 0]
        print(x)
        (
            x
            .sum()
            .item()
        )  # fmt: skip

    scalar = "_local_scalar_dense"
    assert [pair for pair in lines_of(code) if pair[1] != 3] == [
        (scalar, 2),
        ("index", 4),
        ("Tensor.__repr__", 5),
        (scalar, 9 if sys.version_info >= (3, 11) else 7),
    ]


# --- The probes of the dry run, on the CPU --------------------------------------------

# Other memory than the device's, and its streams: on the CPU there are none.
ELSEWHERE = re.compile(
    r"\b(h|hi|hm|ht|hp|ids|np|cuda|pin_memory|cpu|to|DataLoader|Event|Stream)\b"
)
# What torch does otherwise on the CPU, mostly with tensors of no dimension.
OTHERWISE = {
    *("item-many", "bool-many", "index-0d-host", "put-mask-0d", "index-fill-0d"),
    *("masked-fill-0d", "masked-fill-inplace-0d", "one-hot-classes", "average-first"),
    *("tensor-of-items", "cross-entropy-both", "adamw-capturable"),
}
SEEN = {"scalar", "shape", "hidden"}


def on_cpu(probe: Probe) -> bool:
    kinds = {kind for kind, _, _ in probe.expected()}
    if (kinds and not kinds & SEEN) or probe.name in OTHERWISE:
        return False
    return not ELSEWHERE.search(f"{probe.code} {probe.setup}")


ON_CPU = [probe for probe in PROBES if on_cpu(probe)]
WITH_GRAD = re.compile("backward|grad|step|LBFGS|checkpoint")


def watched(probe: Probe, mode: Any) -> tuple[list[Any], str]:
    """Which operators would wait, how often, and the result."""
    with mode():
        here = names(probe, "cpu")
        exec(probe.setup, here)
        with SyncCheck(device="cpu", max_count=99) as check:
            exec(compile(probe.code, str(HERE), "exec"), here)
    assert all(one.line and one.line.file == str(HERE) for one in check.verdict.waits)
    waits = sorted((one.api, one.count) for one in check.verdict.waits)
    return waits, "".join(str(here[name]) for name in "xyvtuk" if name in here)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("probe", ON_CPU, ids=lambda probe: probe.name)
def test_probe(probe: Probe) -> None:
    """In each mode; in inference mode operators made of others arrive whole, and the
    same is found, with the same results."""
    assert bool(watched(probe, torch.enable_grad)[0]) == bool(probe.waits)
    if not WITH_GRAD.search(f"{probe.code} {probe.setup}"):
        found = watched(probe, torch.no_grad)
        assert found == watched(probe, torch.inference_mode)
        assert bool(found[0]) == bool(probe.waits)


@pytest.mark.filterwarnings("ignore")
def test_every_operator_of_the_table_is_tried() -> None:
    """The rest of the table is for dry runs."""
    tried = {api for probe in ON_CPU for api, _ in watched(probe, torch.enable_grad)[0]}
    for row in CAUSES:
        if not row.hidden and row.operators[0].startswith("aten::"):
            assert tried.intersection(row.operators), row.operators


def test_tensors_of_inference_mode_are_watched_outside_of_it() -> None:
    with torch.inference_mode():
        x = torch.ones(3)
    with (
        pytest.raises(SyncStalls, match="_local_scalar_dense"),
        SyncCheck(device="cpu"),
    ):
        x[0].item()


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "RMSprop", "NAdam"])
def test_a_whole_training_step_is_clean(optimizer: str) -> None:
    """Step counters and samplers read values too, but of tensors on the CPU."""
    model = torch.nn.Linear(4, 1)
    data = torch.utils.data.TensorDataset(torch.randn(8, 4))
    opt = getattr(torch.optim, optimizer)(model.parameters(), lr=0.1)
    with SyncCheck(device="cpu") as check:
        for (x,) in torch.utils.data.DataLoader(data, batch_size=4, shuffle=True):
            model(x).pow(2).mean().backward()
            opt.step()
            opt.zero_grad()
    assert "by the data loader" in check.verdict.message


def test_backward_has_the_line_that_called_it() -> None:
    class Reads(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            grad.item()
            return grad

    def code() -> None:
        Reads.apply(torch.ones((), requires_grad=True)).backward()

    offset = Reads.backward.__code__.co_firstlineno + 2 - code.__code__.co_firstlineno
    assert lines_of(code) == [("_local_scalar_dense", offset)]


def test_compiled_code_stays_compiled() -> None:
    compiled: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        compiled.append(graph)
        return graph.forward

    @torch.compile(backend=backend, fullgraph=True)
    def whole(x: Any) -> Any:
        return (x @ x).relu()

    @torch.compile(backend=backend)
    def broken(x: Any) -> Any:
        return x * x.sum().item()

    with SyncCheck(device="cpu"):
        whole(torch.ones(2, 2))
    assert compiled
    with pytest.raises(SyncStalls, match=HERE.name), SyncCheck(device="cpu"):
        broken(torch.ones(2, 2))


def test_warmup() -> None:
    with SyncCheck(device="cpu", warmup=1) as check:
        torch.ones(3).sum().item()
        check.step()
        torch.ones(3).sum()
    with pytest.raises(SyncStalls), SyncCheck(device="cpu", warmup=1) as check:
        check.step()
        torch.ones(3).sum().item()
    with (
        pytest.raises(ValueError, match="nothing was checked"),
        SyncCheck(device="cpu", warmup=2),
    ):
        pass


def test_errors_of_the_code_come_through_and_all_is_undone() -> None:
    to_text = torch._tensor_str._str
    with pytest.raises(KeyError), SyncCheck(device="cpu"):
        torch.ones(3).sum().item()
        raise KeyError
    assert torch._tensor_str._str is to_text
    with SyncCheck(device="cpu") as check:
        pass
    torch.ones(3).sum().item()
    assert check.verdict is not None and check.verdict.ok


def test_the_code_may_use_a_profiler() -> None:
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with SyncCheck(device="cpu"), torch.profiler.profile(activities=cpu) as prof:
        torch.ones(3).sum()
    assert torchtraceap.analyze(prof).trace.events
