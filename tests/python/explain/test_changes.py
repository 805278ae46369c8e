# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: E501 - a call that gets arguments stays on its line.
"""test_changes.py: fixes in the user's own code, each right or not made.

It has over 400 lines: nearly all are sources before and after, in tables of one form.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from torchtraceap._core import Finding, Location
from torchtraceap.explain.fixes.changes import change_of
from torchtraceap.explain.pattern_pages import pattern_page

HEAD = "import gc, time\nimport torch\nfrom torch import nn\n"
LOADER = "from torch.utils.data import DataLoader\n"


def finding(
    pattern: str, line: int | None, function: str = "<module>", subtype: str = ""
) -> Finding:
    return Finding(
        id=f"{pattern}-00000000",
        pattern=pattern,
        subtype=subtype,
        side="cpu",
        severity="high",
        count=1,
        basis="measured",
        location=Location("train.py", line, function, True),
        operator="",
        message="",
        advice="",
        windows=(),
        events=(),
    )


def changed(here: Path, kind: tuple[str, str], source: str) -> str | None:
    """Return the new code for what ends in ``# <--``; None: there is none."""
    pattern, subtype = kind
    head = HEAD + LOADER if "DataLoader(" in source else HEAD
    text = head + code(source)
    lines = text.split("\n")
    line = next((n for n, x in enumerate(lines, 1) if x.endswith("# <--")), None)
    text = text.replace("  # <--", "")
    (here / "train.py").write_text(text)
    tree = ast.parse(text)
    around = [
        x
        for x in ast.walk(tree)
        if isinstance(x, ast.FunctionDef) and line and x.lineno <= line <= x.end_lineno
    ]
    function = around[-1].name if around else "<module>"
    change = change_of(finding(pattern, line, function, subtype))
    if change is None or not change.place:
        page = pattern_page(pattern, subtype)
        assert page and change == page.example
        return None
    assert change == change_of(finding(pattern, line, function, subtype))
    assert change.place.startswith("train.py:")
    for part in (change.before, change.after):
        ast.parse(part)
    return change.after


def code(text: str) -> str:
    return dedent(text).lstrip("\n")


def cases(table: Mapping[tuple[str, str], Mapping[str, str]]) -> list[Any]:
    return [
        pytest.param(kind, case, id=f"{kind[0]}, {case}")
        for kind, rows in table.items()
        for case in rows
    ]


ADAPTED = {
    ("sync_stall", "explicit"): {
        "an explicit wait": """
        for x in loader:
            step(x)
            torch.cuda.synchronize()  # <--
        --->
        """,
        "a wait alone": """
        f(x)
        torch.cuda.synchronize()  # <--
        --->
        """,
        "the only statement": """
        if timing:
            torch.cuda.synchronize()  # <--
        --->
        pass
        """,
    },
    ("pageable_copy", ""): {
        "a copy of batches": """
        loader = DataLoader(data, 8)
        for x, y in loader:
            x, y = x.to(device), y.cuda()  # <--
        --->
        loader = DataLoader(data, 8, pin_memory=True)
        ...
        x, y = x.to(device, non_blocking=True), y.cuda(non_blocking=True)
        """,
    },
    ("sync_stall", "blocking_copy"): {
        "a copy of a part of a batch": """
        loader = DataLoader(data, pin_memory=True)
        for i, batch in enumerate(tqdm(loader)):
            x = batch["image"].to(args.device)  # <--
        --->
        x = batch["image"].to(args.device, non_blocking=True)
        """,
    },
    ("dataloader_bound", "single_process"): {
        "a loader": """
        def run(data):
            train = DataLoader(data, batch_size=8, shuffle=True)
            other = DataLoader(data)
            for x in train:  # <--
                step(x)

        if __name__ == "__main__":
            run(data)
        --->
        # Each worker draws random numbers of its own, so random augmentations differ. Workers
        # get the dataset pickled: it must hold no open file and no CUDA tensor.
        train = DataLoader(data, batch_size=8, shuffle=True, num_workers=4, pin_memory=True, persistent_workers=True)
        """,
        "a loader over several lines": """
        class Trainer:
            def __init__(self):
                self.loader = torch.utils.data.DataLoader(
                    data,
                    num_workers=0,
                    shuffle=True  # each epoch
                )

            def run(self):
                for x in enumerate(self.loader):  # <--
                    step(x)
        --->
        # Each worker draws random numbers of its own, so random augmentations differ. Workers
        # get the dataset pickled: it must hold no open file and no CUDA tensor.
        self.loader = torch.utils.data.DataLoader(
            data,
            num_workers=4,
            shuffle=True,  # each epoch
            pin_memory=True,
            persistent_workers=True,
        )
        """,
    },
    ("dataloader_bound", "worker_start"): {
        "workers that start": """
        loader = DataLoader(data, num_workers=2)
        for x in loader:  # <--
            step(x)
        --->
        loader = DataLoader(data, num_workers=2, persistent_workers=True)
        """,
    },
    ("cpu_init_then_copy", ""): {
        "a fill": """
        mask = torch.zeros(3, n).to(device)  # <--
        --->
        mask = torch.zeros(3, n, device=device)
        """,
        "random numbers": """
        def noise(x):
            return torch.randn(x.shape).cuda() + torch.ones_like(x).cuda(1)  # <--
        --->
        # The random numbers are others: of the device's generator.
        return torch.randn(x.shape, device="cuda") + torch.ones_like(x, device=1)
        """,
    },
    ("allocator_churn", "release"): {
        "the cache": """
        for x in loader:
            step(x)
            torch.cuda.empty_cache()  # <--
        --->
        # The memory stays this process's: keep it where another one needs it.
        """,
    },
    ("gc_pause", "recorded"): {
        "a collection": """
        for x in loader:
            gc.collect()  # <--
            step(x)
        --->
        # Python collects by itself, if later: memory in reference cycles stays longer.
        """,
    },
    ("unfused_optimizer", "single_tensor"): {
        "an optimizer": """
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
        other = torch.optim.SGD(model.parameters())
        for x in loader:
            scaler.step(optimizer)  # <--
        --->
        # Sums are rounded in another order: last digits differ.
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False, fused=True)
        """,
        "an optimizer that has no fused form": """
        from torch import optim
        class Trainer:
            def __init__(self):
                self.opt = optim.RMSprop(self.parameters())
            def step(self):
                self.opt.step()  # <--
        --->
        # Sums are rounded in another order: last digits differ.
        self.opt = optim.RMSprop(self.parameters(), foreach=True)
        """,
    },
    ("zero_grad_fill", ""): {
        "gradients": """
        optimizer = torch.optim.SGD(p)
        optimizer.zero_grad(set_to_none=False)  # <--
        --->
        # A parameter that the next backward pass does not reach then has no gradient and is
        # not stepped: with zeros it still decays, and its momentum goes on.
        optimizer.zero_grad()
        """,
    },
    ("launch_bound", "kernels"): {
        "a compiled model": """
        model = torch.compile(Net())
        for x in loader:
            model(x)  # <--
        --->
        # The next call writes over the outputs of this one: .clone() those that are kept.
        model = torch.compile(Net(), mode="reduce-overhead")
        """,
    },
}


@pytest.mark.parametrize(("kind", "case"), cases(ADAPTED))
def test_a_change_is_made_in_the_users_code(
    kind: tuple[str, str], case: str, here: Path
) -> None:
    source, _, expected = code(ADAPTED[kind][case]).partition("--->\n")
    assert changed(here, kind, source) == expected


UNCHANGED = {
    ("sync_stall", "scalar_read"): {
        "a decision": "for x in y:\n    if x.item() > 3:  # <--\n        break\n",
        "a wait where something else waited": "for x in y:\n    torch.cuda.synchronize()  # <--\n    f(x)\n",
    },
    ("sync_stall", "explicit"): {
        "a wait whose result is used": "x = torch.cuda.synchronize()  # <--\n",
        "a wait for a copy to the host": """
        y.copy_(x, non_blocking=True)
        torch.cuda.synchronize()  # <--
        use(y.numpy())
        """,
        "a wait for a copy that says so by position": "y = x.to('cpu', True)\ntorch.cuda.synchronize()  # <--\nuse(y)\n",
        "a wait for another stream": """
        with torch.cuda.stream(side):
            y = f(x)
        torch.cuda.synchronize()  # <--
        use(y)
        """,
        "a wait for a buffer that is filled again": """
        buffer = torch.empty(8, pin_memory=True)
        for x in y:
            buffer.copy_(x)
            f(buffer.to(device, non_blocking=True))
            torch.cuda.synchronize()  # <--
        """,
        "a wait between clocks": """
        from time import perf_counter as clock
        begin = clock()
        step(x)
        torch.cuda.synchronize()  # <--
        times.append(clock() - begin)
        """,
        "a wait between events": """
        end.record()
        torch.cuda.synchronize()  # <--
        times.append(begin.elapsed_time(end))
        """,
        "a wait that is tried": """
        try:
            step(x)
            torch.cuda.synchronize()  # <--
        except RuntimeError:
            skip()
        """,
        "a wait that another clock tells": "from timeit import default_timer as clock\nf(x)\ntorch.cuda.synchronize()  # <--\n",
        "a fill where something else waited": "x = torch.zeros(3).to(device)  # <--\n",
        "an import that a loop shadows": "from torch.cuda import synchronize\nfor synchronize in fs:\n    synchronize()  # <--\n",
    },
    ("allocator_churn", "release"): {
        "a cache that is emptied for another try": """
        try:
            step(x)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()  # <--
        """,
    },
    ("gc_pause", "recorded"): {
        "the only collections there are": "gc.disable()\nfor x in y:\n    step(x)\n    gc.collect()  # <--\n",
        "a collection that runs __del__": "class A:\n    def __del__(self): a()\nfor x in y:\n    gc.collect()  # <--\n    b()\n",
    },
    ("zero_grad_fill", ""): {
        "gradients that are read": "o = torch.optim.SGD(p)\no.zero_grad(set_to_none=False)  # <--\nnorm = p.grad.norm()\n",
        "gradients of a CUDA graph": "g = torch.cuda.CUDAGraph()\no = torch.optim.SGD(p)\no.zero_grad(set_to_none=False)  # <--\n",
        "gradients as a variable says": "o = torch.optim.SGD(p)\no.zero_grad(set_to_none=drop)  # <--\n",
        "gradients of another class": "o = Mine(p)\no.zero_grad()  # <--\n",
    },
    ("cpu_init_then_copy", ""): {
        "a device that may be None": "x = torch.zeros(3).cuda(args.gpu)  # <--\n",
        "a copy to what may be a type": "x = torch.zeros(3).to(kind)  # <--\n",
        "a copy that also converts": "x = torch.zeros(3).to(device, torch.half)  # <--\n",
        "a leaf that needs a gradient": "x = torch.zeros(3, requires_grad=True).to(device)  # <--\n",
        "a function of their own": "x = fill.zeros(3).to(device)  # <--\n",
    },
    ("pageable_copy", ""): {
        "a batch that is written to": """
        loader = DataLoader(d)
        for x in loader:
            y = x.to(device)  # <--
            x.zero_()
        """,
        "a copy of no batch": "loader = DataLoader(d)\nfor x in loader:\n    y = z.to(device)  # <--\n",
        "a loader of others": "loader = other(d)\nfor x in loader:\n    x = x.to(device)  # <--\n",
        "a loader that is imported": """
        from data import loader
        other = DataLoader(d)
        for x in loader:
            x = x.to(device)  # <--
        """,
        "a loader that another one may replace": """
        loader = DataLoader(d)
        with mine() as loader:
            for x in loader:
                x = x.to(device)  # <--
        """,
        "a loader that a class has": """
        class A:
            loader = DataLoader(d)
        for x in loader:
            x = x.to(device)  # <--
        """,
        "pinned as a variable says": "loader = DataLoader(d, pin_memory=pin)\nfor x in loader:\n    x = x.to(device)  # <--\n",
    },
    ("dataloader_bound", "single_process"): {
        "a loader of what is run on import": "loader = DataLoader(d, shuffle=True)\nfor x in loader:  # <--\n    step(x)\n",
        "a loader of a function that is run on import": """
        def run(d):
            for x in DataLoader(d, shuffle=True):  # <--
                step(x)

        run(data)
        """,
        "a loader with a lambda": """
        def run(d):
            for x in DataLoader(d, shuffle=True, collate_fn=lambda x: x):  # <--
                step(x)
        """,
        "a loader with a function of a function": """
        def run(d):
            def join(x):
                return x

            for x in DataLoader(d, shuffle=True, collate_fn=join):  # <--
                step(x)
        """,
        "a loader of what may be iterated": "def run(d):\n    for x in DataLoader(d):  # <--\n        step(x)\n",
        "a loader whose dataset counts": """
        class Rows:
            def __getitem__(self, i):
                self.asked += 1
                return i

        def run():
            for x in DataLoader(Rows()):  # <--
                step(x)
        """,
        "options that are passed on": "loader = DataLoader(d, **options)\nfor x in loader:  # <--\n    pass\n",
        "arguments by position": "for x in DataLoader(d, 1, True, None, None, 0):  # <--\n    pass\n",
        "another loader": "for x in DataLoader(d, num_workers=2):  # <--\n    pass\n",
        "a loader that is one of two": "a = DataLoader(d)\nb = DataLoader(d)\nfor x in c:  # <--\n    pass\n",
        "workers in an argument": """
        def run(d):
            for x in DataLoader(d, shuffle=True, num_workers=args.workers):  # <--
                step(x)
        """,
    },
    ("dataloader_bound", "worker_start"): {
        "a loader whose dataset is changed": """
        def run(d):
            loader = DataLoader(d, num_workers=2)
            for epoch in range(3):
                d.set_epoch(epoch)
                for x in loader:  # <--
                    step(x)
        """,
        "a loader that is a parameter": """
        def train(loader):
            for x in loader:  # <--
                step(x)
        def validate():
            loader = DataLoader(d, num_workers=2)
        """,
    },
    ("unfused_optimizer", "single_tensor"): {
        "an optimizer of sparse gradients": "m = nn.Embedding(4, 2, sparse=True)\no = torch.optim.SGD(m.parameters())\no.step()  # <--\n",
        "an optimizer of others": "o = transformers.AdamW(p)\no.step()  # <--\n",
        "an optimizer whose steps are differentiated": "o = torch.optim.Adam(p, differentiable=True)\no.step()  # <--\n",
        "an optimizer beside one of torch's": "a = torch.optim.Adam(p)\nb = Mine(p)\nb.step()  # <--\n",
        "an optimizer of complex parameters": "p = torch.zeros(2, dtype=torch.cfloat)\no = torch.optim.SGD([p])\no.step()  # <--\n",
        "an optimizer with its form chosen": "o = torch.optim.SGD(p, fused=False)\no.step()  # <--\n",
    },
    ("dataloader_bound", "multi_process"): {
        "workers in a variable": "for x in DataLoader(d, num_workers=n):  # <--\n    pass\n",
        "more workers": "for x in DataLoader(d, num_workers=2, prefetch_factor=16):  # <--\n    pass\n",
    },
    ("launch_bound", "kernels"): {
        "code that another backend compiles": "f = torch.compile(g, backend=mine)\nf(x)  # <--\n",
    },
}


@pytest.mark.parametrize(("kind", "case"), cases(UNCHANGED))
def test_what_is_not_sure_to_be_right_is_not_made(
    kind: tuple[str, str], case: str, here: Path
) -> None:
    assert changed(here, kind, UNCHANGED[kind][case]) is None


def test_a_copy_to_the_device_has_an_example_of_that_way(here: Path) -> None:
    (here / "train.py").write_text(
        "model = Net().to(device)\ny = x.cpu()\n"
        "for x in batches:\n    x = x.to(device)\n    model.to(device)\n"
    )
    usual = pattern_page("pageable_copy")
    there = change_of(finding("sync_stall", 4, subtype="blocking_copy"))
    back = change_of(finding("sync_stall", 2, subtype="blocking_copy"))
    assert usual and there == usual.example and back and ".cpu()" in back.before
    for line in (1, 5):  # A model is moved once: no batch is.
        assert change_of(finding("sync_stall", line, subtype="blocking_copy")) is None


def test_on_a_cpu_only_the_fused_form_helps(here: Path) -> None:
    advice = "Build it with fused=True, which Adagrad has for a CPU too."
    one = finding("unfused_optimizer", 3).replace(advice=advice)
    source = "import torch\no = torch.optim.{}(p)\no.step()\n"
    for name, fused in (("Adagrad", True), ("RMSprop", False)):
        (here / "train.py").write_text(source.format(name))
        change = change_of(one)
        assert change and bool(change.place) == fused
        assert "fused=True" in change.after


def test_indentation_and_line_ends_are_kept(here: Path) -> None:
    """Of files with tabs, CRLF, a byte order mark and names beyond ASCII."""
    text = "import torch\r\nfor x in y:\r\n\tif x:\r\n\t\tä = torch.zeros(3).cuda()\r\n"
    (here / "train.py").write_bytes(b"\xef\xbb\xbf" + text.encode())
    change = change_of(finding("cpu_init_then_copy", 4))
    assert change and change.after == 'ä = torch.zeros(3, device="cuda")\n'
    text = "def f():\n\tz = torch.optim.SGD(\n\t\tp,\n\t\tlr=1,\n\t)\n\tz.step()\n"
    (here / "train.py").write_text(f"import torch\n{text}")
    change = change_of(finding("unfused_optimizer", 7, "f"))
    assert change and "\n\tlr=1,\n\tfused=True,\n)\n" in change.after


HOSTILE = {
    "no Python": b"import torch\nfor x in:\n    x.item()\n",
    "not UTF-8": b"import torch\n# \xff\nx.item()\n",
    "a zero byte": b"import torch\n\0\nx.item()\n",
    "nothing": b"",
    "too large": b"x = 1\n" * 200_000,
    "nested too deep": b"x = " + b"(" * 5_000 + b"1" + b")" * 5_000 + b"\n",
    "a long chain": b"x = " + b"-" * 50_000 + b"1\n",
    "a long sum": b"x = 1" + b" + 1" * 50_000 + b"\n",
    "other lines": b"import torch\n",
    "semicolons": b"a = 1; torch.cuda.synchronize(); b = 2\n",
    "a form feed": b"import torch\n\x0cx = 1\nx.item()\x0c\n",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_file_that_is_no_program_is_left_alone(case: str, here: Path) -> None:
    (here / "train.py").write_bytes(HOSTILE[case])
    for pattern in ("sync_stall", "fusible_chain", "dataloader_bound"):
        for line in (None, 0, 1, 3, 10**9):
            for function in ("<module>", "step", "\0"):
                change = change_of(finding(pattern, line, function))
                assert change and (not change.place or case == "semicolons")


def test_one_statement_of_a_line_is_taken_out(here: Path) -> None:
    source = "if x: torch.cuda.synchronize(); b = 2  # <--\n"
    kind = "sync_stall", "explicit"
    assert changed(here, kind, source) == "if x: pass; b = 2\n"


def test_a_file_outside_the_program_is_not_read(here: Path) -> None:
    (here / "train.py").write_text("import torch\ntorch.cuda.synchronize()\n")
    one = finding("sync_stall", 2, subtype="explicit")
    change = change_of(one)
    assert change and change.place == "train.py:2"
    library = Location("train.py", 2, "<module>", False)
    for place in (None, library, Location("../train.py", 2, "<module>", True)):
        change = change_of(one.replace(location=place))
        assert change and change.place == ""


def test_another_function_at_the_line_is_an_edited_file(here: Path) -> None:
    text = "import torch\ndef other():\n    torch.cuda.synchronize()\n    return 1\n"
    (here / "train.py").write_text(text)
    change = change_of(finding("sync_stall", 3, "other", "explicit"))
    assert change and change.place
    for function in ("step", "<module>"):
        change = change_of(finding("sync_stall", 3, function, "explicit"))
        assert change and not change.place


def test_a_rule_of_a_users_own_has_no_code(here: Path) -> None:
    assert change_of(finding("slow_checkpoint", 1)) is None
