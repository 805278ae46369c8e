# SPDX-License-Identifier: BSD-3-Clause
"""test_cpu_watch.py: on the CPU, what would wait for a GPU, and on which line."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable
from typing import Any

import pytest

import torchtraceap
from torchtraceap.checking.sync_check import SyncCheck, SyncStalls
from torchtraceap.waits.table import CAUSES, PRINT

torch = pytest.importorskip("torch")

if torch.cuda.is_available():
    pytest.skip("these watch a run without a GPU", allow_module_level=True)

# Said once in a process, by whichever test comes first.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks")

HERE = pathlib.Path(__file__).resolve()


# What a run on the CPU can show: the rest of the table is for dry runs. Of the hidden
# ones, tests/python/dryrun/probes.py has all.
SEEN_ON_CPU = [
    row
    for row in CAUSES
    if not row.hidden
    if row.operators[0].startswith("aten::") or PRINT in row.operators
]


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


WAITS = {
    "item": lambda x: x[0].item(),
    "bool": lambda x: bool(x[0] > 0),
    "where": lambda x: torch.where(x > 0),
    "masked_select": lambda x: x.masked_select(x > 0),
    "index_put": lambda x: x.__setitem__(x > 0, x.flip(0)[x > 0]),
    "unique": torch.unique,
    "unique_consecutive": torch.unique_consecutive,
    "repeat_interleave": lambda x: x.repeat_interleave(torch.ones(8).long()),
    "bincount": lambda x: torch.bincount(torch.ones(3).long()),
    "if": lambda x: 1 if x[0] else 0,
    "float": lambda x: float(x[0]),
    "int": lambda x: int(x[0]),
    "slice": lambda x: x[: torch.tensor(3)],
    "repr": lambda x: repr(x),
    "nonzero": torch.nonzero,
    "argwhere": torch.argwhere,
    "one_hot": lambda x: torch.nn.functional.one_hot(torch.arange(3)),
    "arange": lambda x: torch.arange(torch.tensor(3)),
    "full": lambda x: torch.full((2,), torch.tensor(3)),
    "mask": lambda x: x[x > 0],
    "unique_dim": lambda x: torch.unique(x, dim=0),
    "equal": lambda x: torch.equal(x, x),
    "allclose": lambda x: torch.allclose(x, x),
    "inv": lambda x: torch.linalg.inv(torch.eye(3)),
    "solve": lambda x: torch.linalg.solve(torch.eye(3), torch.eye(3)),
    "cholesky": lambda x: torch.linalg.cholesky(torch.eye(3)),
    "svd": lambda x: torch.linalg.svd(torch.eye(3)),
    "svdvals": lambda x: torch.linalg.svdvals(torch.eye(3)),
    "eigh": lambda x: torch.linalg.eigh(torch.eye(3)),
    "eig": lambda x: torch.linalg.eig(torch.eye(3)),
    "inv_ex": lambda x: torch.linalg.inv_ex(torch.eye(3), check_errors=True),
    "pinv": lambda x: torch.linalg.pinv(torch.eye(3)),
    "matrix_exp": lambda x: torch.linalg.matrix_exp(torch.eye(3)),
    "normal": lambda x: torch.normal(x, x.abs()),
    "linspace": lambda x: torch.linspace(torch.tensor(1.0), 2, 3),
    "histc": lambda x: torch.histc(x, 4),
    "isin": lambda x: torch.isin(x, torch.arange(99.0)),
    "segment_reduce": lambda x: torch.segment_reduce(
        x, "sum", lengths=torch.tensor([4, 4])
    ),
    "to_sparse": lambda x: x.to_sparse().coalesce(),
    "coalesce": lambda x: torch.sparse_coo_tensor(
        torch.ones(1, 8), x, (2,), check_invariants=False
    ).coalesce(),
    "ctc": lambda x: torch.nn.functional.ctc_loss(
        torch.zeros(4, 1, 3), torch.ones(1, 2).long(), [4], [2]
    ),
    "format": lambda x: f"{x[0]:.2f}",
    "clip": lambda x: torch.nn.utils.clip_grad_norm_([x], 1.0, error_if_nonfinite=True),
}
DOES_NOT_WAIT = {
    "fill by mask": lambda x: x.__setitem__(x > 0, 1.0),
    "index by numbers": lambda x: x[torch.ones(3).long()],
    "repeat_interleave": lambda x: x.repeat_interleave(
        torch.ones(8).long(), output_size=8
    ),
    "repeat_interleave by number": lambda x: x.repeat_interleave(2),
    "where with values": lambda x: torch.where(x > 0, x, 0),
    "all": lambda x: torch.isfinite(x).all(),
    "inv_ex": lambda x: torch.linalg.inv_ex(torch.eye(3)),
    "multinomial": lambda x: torch.multinomial(x.abs() + 1, 2),
    "clip": lambda x: torch.nn.utils.clip_grad_norm_([x], 1.0),
    "quantile": lambda x: torch.quantile(x, 0.5),
    "normal": lambda x: torch.normal(x, 1.0),
    "linspace": lambda x: torch.linspace(0, 1, 3),
    "histc": lambda x: torch.histc(x, 4, -1, 1),
    "isin": lambda x: torch.isin(x, torch.arange(3.0)),
    "segment_reduce": lambda x: torch.segment_reduce(
        x, "sum", lengths=torch.tensor([4, 4]), unsafe=True
    ),
    "tensor_split": lambda x: torch.tensor_split(x, torch.tensor([1, 2])),
    "linear": lambda x: torch.nn.functional.linear(x, torch.eye(8)),
    "attention": lambda x: torch.nn.functional.scaled_dot_product_attention(
        *torch.randn(3, 1, 1, 4, 4)
    ),
    "nested": lambda x: torch.nn.functional.linear(
        torch.nested.nested_tensor([x[None], torch.randn(3, 8)]), torch.eye(8)
    ),
}


def fresh() -> Any:
    x = torch.randn(8)
    x.grad = torch.randn(8)
    return x


def watched(code: Callable[[Any], object], mode: Any) -> tuple[list[Any], str]:
    """What would wait, how often, and the result."""
    torch.manual_seed(0)
    with mode():
        x = fresh()
        with SyncCheck(device="cpu", max_count=99) as check:
            result = code(x)
    stalls = check.verdict.waits
    assert all(one.line and one.line.file == str(HERE) for one in stalls)
    return sorted((stall.api, stall.count) for stall in stalls), str(result)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize(
    ("code", "waits"),
    [
        pytest.param(code, waits, id=f"{name}-{'waits' if waits else 'does not'}")
        for waits, codes in ((True, WAITS), (False, DOES_NOT_WAIT))
        for name, code in codes.items()
    ],
)
def test_what_waits(code: Callable[[Any], object], waits: bool) -> None:
    """In each mode; in inference mode operators made of others arrive whole, and the
    same is found, with the same results."""
    assert bool(watched(code, torch.enable_grad)[0]) == waits
    found = watched(code, torch.no_grad)
    assert found == watched(code, torch.inference_mode) and bool(found[0]) == waits


def test_every_operator_of_the_table_is_tried() -> None:
    found = (watched(code, torch.enable_grad)[0] for code in WAITS.values())
    tried = {operator for one in found for operator, _ in one}
    for row in SEEN_ON_CPU:
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


@pytest.mark.parametrize(
    ("optimizer", "options"),
    [
        ("ASGD", {"foreach": False}),
        ("ASGD", {"foreach": True}),
        ("Adafactor", {}),
        ("LBFGS", {}),
    ],
)
def test_optimizers_that_read_values_of_the_device(
    optimizer: str, options: dict[str, Any]
) -> None:
    model = torch.nn.Linear(4, 1)
    opt = getattr(torch.optim, optimizer)(model.parameters(), lr=0.1, **options)

    def loss() -> Any:
        opt.zero_grad()
        value = model(torch.ones(2, 4)).pow(2).mean()
        value.backward()
        return value

    loss()
    with pytest.raises(SyncStalls, match=HERE.name), SyncCheck(device="cpu"):
        opt.step(loss)


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
