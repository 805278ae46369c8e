# SPDX-License-Identifier: BSD-3-Clause
"""test_written.py: a place that waits is called by what the user wrote there."""

from __future__ import annotations

import gc
import sys
import weakref
from pathlib import Path

import pytest
import torch

import torchtraceap
from torchtraceap.checking.sync_check import SyncCheck, SyncStalls
from torchtraceap.waits.table import CAUSES, head_of
from torchtraceap.waits.wait import Wait, written_together
from torchtraceap_dryrun.dry_run import DryRun
from torchtraceap_dryrun.record import Sync

needs_positions = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="where instructions come from is not kept"
)
ITEM = "aten::_local_scalar_dense"

# A line each, with what waits on it, in their order. `t` is a number on the device, `x`
# a matrix, `mask` a row of bools.
LINES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("t.item()", (f".item() ({ITEM})",)),
    ("float(t)", (f"float() ({ITEM})",)),
    ("a = int(t); b = t.item()", (f"int(), .item() ({ITEM})",)),
    ("[t.item(), float(t), int(t), bool(t)]", (f"reading a value ({ITEM})",)),
    ("if t > 3: pass", (f"`if t:` ({ITEM})",)),
    ("if (t > 3): pass", (f"`if t:` ({ITEM})",)),
    ("while t > 3: break", (f"`while t:` ({ITEM})",)),
    ("assert t < 9", (f"`assert t` ({ITEM})",)),
    ("if t: pass", (f"`if t:` ({ITEM})",)),
    ("if torch.isnan(t):\n    a = 1", (f"`if t:` ({ITEM})",)),
    ("if not t: pass\nelse:\n    a = 2", (f"`if t:` ({ITEM})",)),
    ("if 0: pass\nelif not t: pass", (f"`elif t:` ({ITEM})",)),
    ("if a:\n    if t:\n        # why\n        a = 2", (f"`if t:` ({ITEM})",)),
    ("if t and x[0, 0]: pass", (f"`if t:` ({ITEM})",)),
    ("if (t\n    ): pass", (f"`if t:` ({ITEM})",)),
    ("assert t, 'why'", (f"`assert t` ({ITEM})",)),
    ("[a for a in mask if a]", (f"`if t:` ({ITEM})",)),
    ("a = 1 if t else 2", (f"`... if t else ...` ({ITEM})",)),
    ("a = not t", (f"`not t` ({ITEM})",)),
    ("a = t and 1", (f"`t and ...` ({ITEM})",)),
    ("a = 0 or (t or 1)", (f"`t or ...` ({ITEM})",)),
    ("if t.item() > 3: pass", (f".item() ({ITEM})",)),
    ("[float][0](t)", (f"reading a value ({ITEM})",)),
    ("a = 'ä€'; float(t)", (f"float() ({ITEM})",)),
    ("torch.nn.functional.one_hot(one)", (f"torch.nn.functional.one_hot() ({ITEM})",)),
    ("f'{t:.3f}'", (f'f"{{t}}" ({ITEM})',)),
    ("'%d' % t", (f'"..." % t ({ITEM})',)),
    ("1.0 in x", (f"`in` ({ITEM})",)),
    ("for a in range(one[0]): pass", (f"range() ({ITEM})",)),
    ("x[:one[0]]", (f"x[:one[0]] ({ITEM})",)),
    ("x[mask]", ("x[mask] (aten::index)",)),
    ("x[mask] = x[:1]", ("x[mask] = ... (aten::index_put_)",)),
    ("x[[0, 1]]", ("x[[0, 1]] (Tensor.__getitem__(list))",)),
    ("x.nonzero()", (".nonzero() (aten::nonzero)",)),
    ("torch.where(x)", ("torch.where() (aten::nonzero)",)),
    ("torch.unique(x)", ("torch.unique() (aten::_unique2)",)),
    ("x.tolist()", (".tolist() (Tensor.cpu)",)),
    ("x.cpu()", (".cpu() (Tensor.cpu)",)),
    ("torch.ones(2).to('cuda')", (".to() (Tensor.cuda)",)),
    ("str(x)", ("str() (Tensor.__repr__)",)),
    ("torch.tensor([1.0], device='cuda')", ("torch.tensor",)),
    ("torch.cuda.synchronize()", ("torch.cuda.synchronize",)),
    ("event.synchronize()", (".synchronize() (Event.synchronize)",)),
    (
        "torch.nn.utils.clip_grad_norm_(\n    [p], 1.0,\n    error_if_nonfinite=True)",
        (f"torch.nn.utils.clip_grad_norm_() ({ITEM})",),
    ),
    ("a = (x\n    .sum()\n    .item())", (f".item() ({ITEM})",)),
    ("a = (x.sum().\n    item())", (f".item() ({ITEM})",)),
    ("...\nfloat(t)", (f"float() ({ITEM})",)),
    ("a = 1.  # Read it.\nfloat(t)", (f"float() ({ITEM})",)),
    ("assert not (t > 9), 'x'", (f"`assert t` ({ITEM})",)),
    ("if t > 3 and x[0, 0] > 0: pass", (f"`if t:` ({ITEM})",)),
    ("a = 1 if t > 3 else 2", (f"`... if t else ...` ({ITEM})",)),
    ("exec('t.item()')", (f"exec() ({ITEM})",)),
    ("x[mask].sum().item()", ("x[mask] (aten::index)", f".item() ({ITEM})")),
)
_BEGIN = """\
import torch
t = torch.ones((), device="cuda")
x = torch.ones(3, 4, device="cuda")
one = torch.ones(2, dtype=torch.long, device="cuda")
mask = torch.ones(3, dtype=torch.bool, device="cuda")
event = torch.cuda.Event()
event.record()
p = torch.nn.Parameter(x.clone())
p.grad = x.clone()
"""


@needs_positions
def test_what_a_line_says_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lines.py"
    at, text = {}, _BEGIN
    for code, heads in LINES:
        # Of several lines that which reads, where it does not begin with that.
        lines = enumerate(code.split("\n"))
        skip = (n for n, line in lines if "item()" in line or "float(t)" in line)
        at[text.count("\n") + 1 + next(skip, 0)] = code, heads
        text += f"{code}\n"
    path.write_text(text, encoding="utf-8")
    with torchtraceap.dry_run() as run:
        exec(compile(text, str(path), "exec"), {})
    found: dict[int, list[str]] = {number: [] for number in at}
    for wait in sorted(run.waits, key=lambda wait: run.syncs.index(_first(run, wait))):
        assert wait.line is not None
        found[max(n for n in at if n <= wait.line.line)].append(wait.head)
    for number, (code, heads) in at.items():
        assert tuple(found[number]) == heads, code


def _first(run: DryRun, wait: Wait) -> Sync:
    place = wait.line, wait.api
    return next(sync for sync in run.syncs if (sync.line, sync.api) == place)


@needs_positions
def test_all_texts_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    with torchtraceap.dry_run() as run:
        t = torch.ones(3, device="cuda").sum()
        if t > 5:
            pass
    (wait,) = run.waits
    head = f"`if t:` ({ITEM})"
    assert wait.api == ITEM and wait.head == head
    assert f"{wait.line}  {head}  ×1" in run.summary()
    with pytest.raises(SyncStalls, match=r"`if t:` \(aten::_local_scalar_dense\) wait"):
        run.assert_no_sync()
    report = run.report()
    (found,) = (f for f in report.findings if f.pattern == "sync_stall")
    assert found.operator == ITEM and f"{head}: one value is read" in found.message
    # The names that programs read stay.
    assert run.to_dict()["waits"][0]["api"] == ITEM
    with pytest.raises(SyncStalls) as caught, SyncCheck(device="cpu"):
        torch.ones(3).sum().item()
    assert f".item() ({ITEM}) waits for the GPU" in str(caught.value)


def test_without_its_source_nothing_is_guessed() -> None:
    with torchtraceap.dry_run() as run:
        exec("import torch\nt = torch.ones(2, device='cuda').sum()\nt.item()", {})
    (wait,) = run.waits
    assert wait.head.endswith(f"({ITEM})")
    assert ".item()" not in wait.head


def test_each_row_has_words() -> None:
    for row in CAUSES:
        for api in row.operators:
            assert head_of(api).endswith(f" ({api})")
            assert head_of(api, f"{api}()") == api
    assert head_of("cudaStreamSynchronize") == "cudaStreamSynchronize"


def test_what_is_not_known_in_part_is_not_known() -> None:
    assert written_together(["a", "b", "a"]) == "a, b"
    assert written_together(["a", ""]) == ""
    assert written_together(["a", "b", "c", "d"]) == ""


@needs_positions
def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "again.py"
    for text, head in (("t.item()", ".item()"), ("[float(a) for a in [t]]", "float()")):
        code = f"import torch\nt = torch.ones((), device='cuda')\n{text}\n"
        path.write_text(code)
        with torchtraceap.dry_run() as run:
            exec(compile(code, str(path), "exec"), {})
        (wait,) = run.waits
        assert wait.head == f"{head} ({ITEM})"


@needs_positions
def test_code_that_is_gone_is_not_kept() -> None:
    code = compile(
        "import torch\ntorch.ones((), device='cuda').item()", "gone.py", "exec"
    )
    kept = weakref.ref(code)
    with torchtraceap.dry_run() as run:
        exec(code, {})
    assert len(run.syncs) == 1
    del code
    gc.collect()
    assert kept() is None
