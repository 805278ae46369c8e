# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: E501 - a call that gets arguments stays on its line.
"""test_changes.py: fixes in the user's own code, each right or not made.

It has over 400 lines: nearly all are sources before and after, in tables of one form.
"""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def changed(
    folder: Path, pattern: str, source: str, subtype: str = "", head: str = HEAD
) -> str | None:
    """Return the new code for what ends in ``# <--``; None: there is none."""
    text = head + dedent(source).lstrip("\n")
    lines = text.split("\n")
    line = next((n for n, x in enumerate(lines, 1) if x.endswith("# <--")), None)
    text = text.replace("  # <--", "")
    (folder / "train.py").write_text(text)
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


ADAPTED = {
    "an explicit wait": (
        *("sync_stall", "explicit"),
        """
        for x in loader:
            step(x)
            torch.cuda.synchronize()  # <--
        """,
        "",
    ),
    "a wait alone": (
        *("sync_stall", "explicit"),
        "f(x)\ntorch.cuda.synchronize()  # <--\n",
        "",
    ),
    "the only statement": (
        *("sync_stall", "explicit"),
        """
        if timing:
            torch.cuda.synchronize()  # <--
        """,
        "pass\n",
    ),
    "a copy of batches": (
        *("pageable_copy", ""),
        """
        loader = DataLoader(data, 8)
        for x, y in loader:
            x, y = x.to(device), y.cuda()  # <--
        """,
        """
        loader = DataLoader(data, 8, pin_memory=True)
        ...
        x, y = x.to(device, non_blocking=True), y.cuda(non_blocking=True)
        """,
    ),
    "a copy of a part of a batch": (
        *("sync_stall", "blocking_copy"),
        """
        loader = DataLoader(data, pin_memory=True)
        for i, batch in enumerate(tqdm(loader)):
            x = batch["image"].to(args.device)  # <--
        """,
        'x = batch["image"].to(args.device, non_blocking=True)\n',
    ),
    "a loader": (
        *("dataloader_bound", "single_process"),
        """
        def run(data):
            train = DataLoader(data, batch_size=8, shuffle=True)
            other = DataLoader(data)
            for x in train:  # <--
                step(x)

        if __name__ == "__main__":
            run(data)
        """,
        """
        # Each worker draws random numbers of its own, so random augmentations differ. Workers
        # get the dataset pickled: it must hold no open file and no CUDA tensor.
        train = DataLoader(data, batch_size=8, shuffle=True, num_workers=4, pin_memory=True, persistent_workers=True)
        """,
    ),
    "a loader over several lines": (
        *("dataloader_bound", "single_process"),
        """
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
        """,
        """
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
    ),
    "workers that start": (
        *("dataloader_bound", "worker_start"),
        """
        loader = DataLoader(data, num_workers=2)
        for x in loader:  # <--
            step(x)
        """,
        "loader = DataLoader(data, num_workers=2, persistent_workers=True)\n",
    ),
    "a fill": (
        *("cpu_init_then_copy", ""),
        "mask = torch.zeros(3, n).to(device)  # <--\n",
        "mask = torch.zeros(3, n, device=device)\n",
    ),
    "random numbers": (
        *("cpu_init_then_copy", ""),
        """
        def noise(x):
            return torch.randn(x.shape).cuda() + torch.ones_like(x).cuda(1)  # <--
        """,
        """
        # The random numbers are others: of the device's generator.
        return torch.randn(x.shape, device="cuda") + torch.ones_like(x, device=1)
        """,
    ),
    "the cache": (
        *("allocator_churn", "release"),
        """
        for x in loader:
            step(x)
            torch.cuda.empty_cache()  # <--
        """,
        """
        # The memory stays this process's: keep it where another one needs it.
        """,
    ),
    "a collection": (
        *("gc_pause", "recorded"),
        "for x in loader:\n    gc.collect()  # <--\n    step(x)\n",
        """
        # Python collects by itself, if later: memory in reference cycles stays longer.
        """,
    ),
    "an optimizer": (
        *("unfused_optimizer", "single_tensor"),
        """
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
        other = torch.optim.SGD(model.parameters())
        for x in loader:
            scaler.step(optimizer)  # <--
        """,
        """
        # Sums are rounded in another order: last digits differ.
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False, fused=True)
        """,
    ),
    "an optimizer that has no fused form": (
        *("unfused_optimizer", "single_tensor"),
        """
        from torch import optim
        class Trainer:
            def __init__(self):
                self.opt = optim.RMSprop(self.parameters())
            def step(self):
                self.opt.step()  # <--
        """,
        """
        # Sums are rounded in another order: last digits differ.
        self.opt = optim.RMSprop(self.parameters(), foreach=True)
        """,
    ),
    "gradients": (
        *("zero_grad_fill", ""),
        "optimizer = torch.optim.SGD(p)\noptimizer.zero_grad(set_to_none=False)  # <--\n",
        """
        # A parameter that the next backward pass does not reach then has no gradient and is
        # not stepped: with zeros it still decays, and its momentum goes on.
        optimizer.zero_grad()
        """,
    ),
    "a bias in a Sequential": (
        *("conv_bias_bn", ""),
        """
        layers = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3))
        y = layers(x)  # <--
        """,
        """
        # For training anew: a checkpoint that was saved with the bias does not fit, and
        # random numbers after it are others.
        layers = nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3))
        """,
    ),
    "a bias in a module": (
        *("conv_bias_bn", ""),
        """
        class Block(nn.Module):
            def __init__(self):
                self.conv = nn.Conv1d(3, 8, 3)
                self.norm = nn.BatchNorm1d(8)

            def forward(self, x):
                x = self.conv(x)  # <--
                x = self.norm(x)
                return x
        """,
        """
        # For training anew: a checkpoint that was saved with the bias does not fit, and
        # random numbers after it are others.
        self.conv = nn.Conv1d(3, 8, 3, bias=False)
        """,
    ),
    "a compiled function": (
        *("graph_break", ""),
        """
        @torch.compile
        def step(x):
            return model(x).item()  # <--
        """,
        """
        # Stops with an error at the first break that says why: mend that one.
        @torch.compile(fullgraph=True)
        def step(x):
            ...
        """,
    ),
    "a compiled model": (
        *("launch_bound", "kernels"),
        """
        model = torch.compile(Net())
        for x in loader:
            model(x)  # <--
        """,
        """
        # The next call writes over the outputs of this one: .clone() those that are kept.
        model = torch.compile(Net(), mode="reduce-overhead")
        """,
    ),
}


@pytest.mark.parametrize("case", ADAPTED)
def test_a_change_is_made_in_the_users_code(case: str, folder: Path) -> None:
    pattern, subtype, source, expected = ADAPTED[case]
    head = HEAD + LOADER if "DataLoader(" in source else HEAD
    assert changed(folder, pattern, source, subtype, head) == code(expected)


UNCHANGED = {
    "a sum": (
        *("sync_stall", "scalar_read"),
        "total = 0.0\nfor x in y:\n    total += x.item()  # <--\n",
    ),
    "a list": (
        *("sync_stall", "scalar_read"),
        "losses = []\nfor x in y:\n    losses.append(x.item())  # <--\n",
    ),
    "a decision": (
        *("sync_stall", "scalar_read"),
        "for x in y:\n    if x.item() > 3:  # <--\n        break\n",
    ),
    "a mask": (*("sync_stall", "data_dependent_shape"), "y = x[mask].sum()  # <--\n"),
    "a wait whose result is used": (
        *("sync_stall", "explicit"),
        "x = torch.cuda.synchronize()  # <--\n",
    ),
    "a wait for a copy to the host": (
        *("sync_stall", "explicit"),
        """
        y.copy_(x, non_blocking=True)
        torch.cuda.synchronize()  # <--
        use(y.numpy())
        """,
    ),
    "a wait for a copy that says so by position": (
        *("sync_stall", "explicit"),
        "y = x.to('cpu', True)\ntorch.cuda.synchronize()  # <--\nuse(y)\n",
    ),
    "a wait for another stream": (
        *("sync_stall", "explicit"),
        """
        with torch.cuda.stream(side):
            y = f(x)
        torch.cuda.synchronize()  # <--
        use(y)
        """,
    ),
    "a wait for a buffer that is filled again": (
        *("sync_stall", "explicit"),
        """
        buffer = torch.empty(8, pin_memory=True)
        for x in y:
            buffer.copy_(x)
            f(buffer.to(device, non_blocking=True))
            torch.cuda.synchronize()  # <--
        """,
    ),
    "a wait between clocks": (
        *("sync_stall", "explicit"),
        """
        from time import perf_counter as clock
        begin = clock()
        step(x)
        torch.cuda.synchronize()  # <--
        times.append(clock() - begin)
        """,
    ),
    "a wait between events": (
        *("sync_stall", "explicit"),
        """
        end.record()
        torch.cuda.synchronize()  # <--
        times.append(begin.elapsed_time(end))
        """,
    ),
    "a wait that is tried": (
        *("sync_stall", "explicit"),
        """
        try:
            step(x)
            torch.cuda.synchronize()  # <--
        except RuntimeError:
            skip()
        """,
    ),
    "a cache that is emptied for another try": (
        *("allocator_churn", "release"),
        """
        try:
            step(x)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()  # <--
        """,
    ),
    "the only collections there are": (
        *("gc_pause", "recorded"),
        "gc.disable()\nfor x in y:\n    step(x)\n    gc.collect()  # <--\n",
    ),
    "gradients that are read": (
        *("zero_grad_fill", ""),
        "o = torch.optim.SGD(p)\no.zero_grad(set_to_none=False)  # <--\nnorm = p.grad.norm()\n",
    ),
    "gradients of a CUDA graph": (
        *("zero_grad_fill", ""),
        "g = torch.cuda.CUDAGraph()\no = torch.optim.SGD(p)\no.zero_grad(set_to_none=False)  # <--\n",
    ),
    "a bias that was trained": (
        *("conv_bias_bn", ""),
        """
        a = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))
        a.load_state_dict(state)
        y = a(x)  # <--
        """,
    ),
    "a bias that is filled": (
        *("conv_bias_bn", ""),
        """
        a = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))
        nn.init.zeros_(a[0].bias)
        y = a(x)  # <--
        """,
    ),
    "a device that may be None": (
        *("cpu_init_then_copy", ""),
        "x = torch.zeros(3).cuda(args.gpu)  # <--\n",
    ),
    "a batch that is written to": (
        *("pageable_copy", ""),
        """
        loader = DataLoader(d)
        for x in loader:
            y = x.to(device)  # <--
            x.zero_()
        """,
    ),
    "a loader of what is run on import": (
        *("dataloader_bound", "single_process"),
        "loader = DataLoader(d, shuffle=True)\nfor x in loader:  # <--\n    step(x)\n",
    ),
    "a loader of a function that is run on import": (
        *("dataloader_bound", "single_process"),
        """
        def run(d):
            for x in DataLoader(d, shuffle=True):  # <--
                step(x)

        run(data)
        """,
    ),
    "a loader with a lambda": (
        *("dataloader_bound", "single_process"),
        """
        def run(d):
            for x in DataLoader(d, shuffle=True, collate_fn=lambda x: x):  # <--
                step(x)
        """,
    ),
    "a loader with a function of a function": (
        *("dataloader_bound", "single_process"),
        """
        def run(d):
            def join(x):
                return x

            for x in DataLoader(d, shuffle=True, collate_fn=join):  # <--
                step(x)
        """,
    ),
    "a loader of what may be iterated": (
        *("dataloader_bound", "single_process"),
        "def run(d):\n    for x in DataLoader(d):  # <--\n        step(x)\n",
    ),
    "a loader whose dataset is changed": (
        *("dataloader_bound", "worker_start"),
        """
        def run(d):
            loader = DataLoader(d, num_workers=2)
            for epoch in range(3):
                d.set_epoch(epoch)
                for x in loader:  # <--
                    step(x)
        """,
    ),
    "a collection that runs __del__": (
        *("gc_pause", "recorded"),
        "class A:\n    def __del__(self): a()\nfor x in y:\n    gc.collect()  # <--\n    b()\n",
    ),
    "an optimizer of sparse gradients": (
        *("unfused_optimizer", "single_tensor"),
        "m = nn.Embedding(4, 2, sparse=True)\no = torch.optim.SGD(m.parameters())\no.step()  # <--\n",
    ),
    "a norm that is not trained": (
        *("conv_bias_bn", ""),
        "a = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)).eval()\na(x)  # <--\n",
    ),
    "a loader whose dataset counts": (
        *("dataloader_bound", "single_process"),
        """
        class Rows:
            def __getitem__(self, i):
                self.asked += 1
                return i

        def run():
            for x in DataLoader(Rows()):  # <--
                step(x)
        """,
    ),
    "a copy to what may be a type": (
        *("cpu_init_then_copy", ""),
        "x = torch.zeros(3).to(kind)  # <--\n",
    ),
    "a copy that also converts": (
        *("cpu_init_then_copy", ""),
        "x = torch.zeros(3).to(device, torch.half)  # <--\n",
    ),
    "a leaf that needs a gradient": (
        *("cpu_init_then_copy", ""),
        "x = torch.zeros(3, requires_grad=True).to(device)  # <--\n",
    ),
    "a function of their own": (
        *("cpu_init_then_copy", ""),
        "x = fill.zeros(3).to(device)  # <--\n",
    ),
    "a copy of no batch": (
        *("pageable_copy", ""),
        "loader = DataLoader(d)\nfor x in loader:\n    y = z.to(device)  # <--\n",
    ),
    "a loader of others": (
        *("pageable_copy", ""),
        "loader = other(d)\nfor x in loader:\n    x = x.to(device)  # <--\n",
    ),
    "options that are passed on": (
        *("dataloader_bound", "single_process"),
        "loader = DataLoader(d, **options)\nfor x in loader:  # <--\n    pass\n",
    ),
    "arguments by position": (
        *("dataloader_bound", "single_process"),
        "for x in DataLoader(d, 1, True, None, None, 0):  # <--\n    pass\n",
    ),
    "another loader": (
        *("dataloader_bound", "single_process"),
        "for x in DataLoader(d, num_workers=2):  # <--\n    pass\n",
    ),
    "a loader that is one of two": (
        *("dataloader_bound", "single_process"),
        "a = DataLoader(d)\nb = DataLoader(d)\nfor x in c:  # <--\n    pass\n",
    ),
    "workers in a variable": (
        *("dataloader_bound", "multi_process"),
        "for x in DataLoader(d, num_workers=n):  # <--\n    pass\n",
    ),
    "an optimizer of others": (
        *("unfused_optimizer", "single_tensor"),
        "o = transformers.AdamW(p)\no.step()  # <--\n",
    ),
    "an optimizer whose steps are differentiated": (
        *("unfused_optimizer", "single_tensor"),
        "o = torch.optim.Adam(p, differentiable=True)\no.step()  # <--\n",
    ),
    "gradients as a variable says": (
        *("zero_grad_fill", ""),
        "o = torch.optim.SGD(p)\no.zero_grad(set_to_none=drop)  # <--\n",
    ),
    "a convolution that runs elsewhere too": (
        *("conv_bias_bn", ""),
        "a = nn.Conv2d(1, 2, 3)\nb = nn.BatchNorm2d(2)\ny = b(a(x))  # <--\nz = a(x)\n",
    ),
    "a group norm": (
        *("conv_bias_bn", ""),
        "a = nn.Sequential(nn.Conv2d(1, 2, 3), nn.GroupNorm(1, 2))\na(x)  # <--\n",
    ),
    "gradients of another class": (
        *("zero_grad_fill", ""),
        "o = Mine(p)\no.zero_grad()  # <--\n",
    ),
    "a loader that is a parameter": (
        *("dataloader_bound", "worker_start"),
        """
        def train(loader):
            for x in loader:  # <--
                step(x)
        def validate():
            loader = DataLoader(d, num_workers=2)
        """,
    ),
    "a loader that is imported": (
        *("pageable_copy", ""),
        """
        from data import loader
        other = DataLoader(d)
        for x in loader:
            x = x.to(device)  # <--
        """,
    ),
    "a loader that another one may replace": (
        *("pageable_copy", ""),
        """
        loader = DataLoader(d)
        with mine() as loader:
            for x in loader:
                x = x.to(device)  # <--
        """,
    ),
    "a loader that a class has": (
        *("pageable_copy", ""),
        """
        class A:
            loader = DataLoader(d)
        for x in loader:
            x = x.to(device)  # <--
        """,
    ),
    "pinned as a variable says": (
        *("pageable_copy", ""),
        "loader = DataLoader(d, pin_memory=pin)\nfor x in loader:\n    x = x.to(device)  # <--\n",
    ),
    "more workers": (
        *("dataloader_bound", "multi_process"),
        "for x in DataLoader(d, num_workers=2, prefetch_factor=16):  # <--\n    pass\n",
    ),
    "workers in an argument": (
        *("dataloader_bound", "single_process"),
        """
        def run(d):
            for x in DataLoader(d, shuffle=True, num_workers=args.workers):  # <--
                step(x)
        """,
    ),
    "an optimizer beside one of torch's": (
        *("unfused_optimizer", "single_tensor"),
        "a = torch.optim.Adam(p)\nb = Mine(p)\nb.step()  # <--\n",
    ),
    "an optimizer of complex parameters": (
        *("unfused_optimizer", "single_tensor"),
        "p = torch.zeros(2, dtype=torch.cfloat)\no = torch.optim.SGD([p])\no.step()  # <--\n",
    ),
    "an optimizer that is told how": (
        *("unfused_optimizer", "single_tensor"),
        "o = torch.optim.SGD(p, fused=False)\no.step()  # <--\n",
    ),
    "what is normalized is used itself": (
        *("conv_bias_bn", ""),
        """
        class Block(nn.Module):
            def __init__(self):
                self.conv = nn.Conv1d(3, 8, 3)
                self.norm = nn.BatchNorm1d(8)

            def forward(self, x):
                y = self.conv(x)  # <--
                z = self.norm(y)
                return z + y
        """,
    ),
    "layers that also run alone": (
        *("conv_bias_bn", ""),
        "a = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))\nb = a[0](x)\na(x)  # <--\n",
    ),
    "layers that run one by one": (
        *("conv_bias_bn", ""),
        "a = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))\nfor b in a:\n    b(x)\na(x)  # <--\n",
    ),
    "a bias as a variable says": (
        *("conv_bias_bn", ""),
        "a = nn.Sequential(nn.Conv2d(1, 2, 3, bias=b), nn.BatchNorm2d(2))\na(x)  # <--\n",
    ),
    "layers with another between": (
        *("conv_bias_bn", ""),
        "a = nn.Sequential(nn.Conv2d(1, 2, 3), act, nn.BatchNorm2d(2))\na(x)  # <--\n",
    ),
    "a compiled function that is not run there": (
        *("graph_break", ""),
        "a = torch.compile(f)\nb(x)  # <--\n",
    ),
    "code that another backend compiles": (
        *("launch_bound", "kernels"),
        "f = torch.compile(g, backend=mine)\nf(x)  # <--\n",
    ),
    "a chain": (
        *("fusible_chain", ""),
        "def main():\n    y = (x * 2).exp() + 1  # <--\n    torch.save(y, f)\n",
    ),
    "a wait where something else waited": (
        *("sync_stall", "scalar_read"),
        "for x in y:\n    torch.cuda.synchronize()  # <--\n    f(x)\n",
    ),
    "a wait that another clock tells": (
        *("sync_stall", "explicit"),
        "from timeit import default_timer as clock\nf(x)\ntorch.cuda.synchronize()  # <--\n",
    ),
    "a fill where something else waited": (
        *("sync_stall", "explicit"),
        "x = torch.zeros(3).to(device)  # <--\n",
    ),
    "an import that a loop shadows": (
        *("sync_stall", "explicit"),
        "from torch.cuda import synchronize\nfor synchronize in fs:\n    synchronize()  # <--\n",
    ),
    "attention": (
        *("unfused_attention", ""),
        "y = torch.softmax(q @ k, -1) @ v  # <--\n",
    ),
}


@pytest.mark.parametrize("case", UNCHANGED)
def test_what_is_not_sure_to_be_right_is_not_made(case: str, folder: Path) -> None:
    pattern, subtype, source = UNCHANGED[case]
    head = HEAD + LOADER if "DataLoader(" in source else HEAD
    assert changed(folder, pattern, source, subtype, head) is None


def test_a_copy_to_the_device_has_an_example_of_that_way(folder: Path) -> None:
    (folder / "train.py").write_text(
        "model = Net().to(device)\ny = x.cpu()\n"
        "for x in batches:\n    x = x.to(device)\n    model.to(device)\n"
    )
    usual = pattern_page("pageable_copy")
    there = change_of(finding("sync_stall", 4, subtype="blocking_copy"))
    back = change_of(finding("sync_stall", 2, subtype="blocking_copy"))
    assert usual and there == usual.example and back and ".cpu()" in back.before
    for line in (1, 5):  # A model is moved once: no batch is.
        assert change_of(finding("sync_stall", line, subtype="blocking_copy")) is None


def test_on_a_cpu_only_the_fused_form_helps(folder: Path) -> None:
    advice = "Build it with fused=True, which Adagrad has for a CPU too."
    one = finding("unfused_optimizer", 3).replace(advice=advice)
    source = "import torch\no = torch.optim.{}(p)\no.step()\n"
    for name, fused in (("Adagrad", True), ("RMSprop", False)):
        (folder / "train.py").write_text(source.format(name))
        change = change_of(one)
        assert change and bool(change.place) == fused
        assert "fused=True" in change.after


def test_indentation_and_line_ends_are_kept(folder: Path) -> None:
    """Of files with tabs, CRLF, a byte order mark and names beyond ASCII."""
    text = "import torch\r\nfor x in y:\r\n\tif x:\r\n\t\tä = torch.zeros(3).cuda()\r\n"
    (folder / "train.py").write_bytes(b"\xef\xbb\xbf" + text.encode())
    change = change_of(finding("cpu_init_then_copy", 4))
    assert change and change.after == 'ä = torch.zeros(3, device="cuda")\n'
    text = "def f():\n\tz = torch.optim.SGD(\n\t\tp,\n\t\tlr=1,\n\t)\n\tz.step()\n"
    (folder / "train.py").write_text(f"import torch\n{text}")
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
def test_a_file_that_is_no_program_is_left_alone(case: str, folder: Path) -> None:
    (folder / "train.py").write_bytes(HOSTILE[case])
    for pattern in ("sync_stall", "fusible_chain", "dataloader_bound"):
        for line in (None, 0, 1, 3, 10**9):
            for function in ("<module>", "step", "\0"):
                change = change_of(finding(pattern, line, function))
                assert change and (not change.place or case == "semicolons")


def test_one_statement_of_a_line_is_taken_out(folder: Path) -> None:
    source = "if x: torch.cuda.synchronize(); b = 2  # <--\n"
    assert changed(folder, "sync_stall", source, "explicit") == "if x: pass; b = 2\n"


def test_a_file_that_is_nobodys_program_is_not_read(folder: Path) -> None:
    (folder / "train.py").write_text("import torch\ntorch.cuda.synchronize()\n")
    one = finding("sync_stall", 2, subtype="explicit")
    change = change_of(one)
    assert change and change.place == "train.py:2"
    library = Location("train.py", 2, "<module>", False)
    for place in (None, library, Location("../train.py", 2, "<module>", True)):
        change = change_of(one.replace(location=place))
        assert change and change.place == ""


def test_another_function_at_the_line_is_an_edited_file(folder: Path) -> None:
    text = "import torch\ndef other():\n    torch.cuda.synchronize()\n    return 1\n"
    (folder / "train.py").write_text(text)
    change = change_of(finding("sync_stall", 3, "other", "explicit"))
    assert change and change.place
    for function in ("step", "<module>"):
        change = change_of(finding("sync_stall", 3, function, "explicit"))
        assert change and not change.place


def test_a_rule_of_a_users_own_has_no_code(folder: Path) -> None:
    assert change_of(finding("slow_checkpoint", 1)) is None
