# SPDX-License-Identifier: BSD-3-Clause
"""test_found_lines.py: a finding's line from the source file, or none."""

from __future__ import annotations

import linecache
import re
from pathlib import Path
from typing import Any

import pytest

from torchtraceap._core import Location
from torchtraceap.data.call_sites import Source
from torchtraceap.data.findings import FoundLines

NEXT = "torch/utils/data/dataloader.py(720): __next__"

# Programs under "## name [what main() was calling, from the outside in]"; of these,
# "# here" marks the line that is found.
FOUND = """
## a loop over a loader, in one over numbers [NEXT]
def main(loader):
    for epoch in range(3):
        for x, y in loader:  # here
            print(x)

## a loop that counts [NEXT]
def main(loader):
    names = ["a", "b"]
    for i, x in enumerate(loader):  # here
        for name in names:
            for p in model.parameters():
                print(name, p)

## next [<built-in function next> > NEXT]
def main(it):
    for x in it:
        y = next(it)  # here

## a comprehension [NEXT]
def main(loader):
    return [
        x.sum()
        for x in loader  # here
    ]

## a comprehension that is a function [train.py(3): <listcomp> > NEXT]
def main(loader):
    return [x for x in loader]  # here

## a condition in a comprehension [aten::is_nonzero]
def main(rows):
    return [
        x
        for x in rows
        if x > 0  # here
    ]

## a list of all [NEXT]
def main(loader):
    return list(loader)  # here

## a builtin of a module [<built-in function collect>]
import gc
def main():
    gc.collect()  # here

## under another name [<built-in function collect>]
from gc import collect as tidy
def main():
    tidy()  # here

## a method at the end of a chain [torch/_tensor.py(570): backward]
def main(x):
    (
        x.sum()
        .mean()
        .backward()  # here
    )

## a wrapper [torch/optim/optimizer.py(500): wrapper > torch/optim/sgd.py(7): step]
def main(opt):
    opt.zero_grad()
    opt.step()  # here

## a wrapper of this file [train.py(4): wrapper > torch/optim/sgd.py(7): step]
def timed(f):
    @wraps(f)
    def wrapper(*a):
        return f(*a)
    return wrapper
def main(opt):
    opt.step()  # here

## a context [contextlib.py(132): __enter__]
def main():
    with region():  # here
        work()

## a module [nn.Module: Net_0 > torch/nn/modules/module.py(1): _wrapped_call_impl]
model = Net().cuda()
def main(x):
    y = norm(x)
    return model(y)  # here

## an object of a class of this file [train.py(4): __init__]
class Data:
    size = 3
    def __init__(self):
        pass
def main():
    other()
    return Data()  # here

## a number of a tensor [aten::item]
def main(loss):
    total = float(loss)  # here
    return total

## what nested functions do is theirs [<built-in method item>]
def main(x):
    def later():
        return x.item()
    y = x.item()  # here
    return lambda: x.item()

## a generator in the loop [train.py(2): batches]
def batches():
    yield 1
def main():
    for x in batches():  # here
        print(x)

## what a function returns, though it is iterated later [train.py(2): load]
def load():
    return [1]
def main():
    items = load()  # here
    for x in items:
        print(x)

## the decorator's line is the first [<built-in method item>]
@torch.no_grad()
@timed
def main(x):
    return x.item()  # here
"""
# In these, another call can be meant.
NONE = """
## two such calls [<built-in method item>]
def main(x):
    x.item()
    x.item()

## two loops [NEXT]
def main(a, b):
    for x in a:
        print(x)
    for x in b:
        print(x)

## no such call [<built-in method item>]
def main(x):
    x.cpu()

## a loop over what elsewhere is a list [NEXT]
def main(loader):
    for x in loader:
        for y in others:
            print(x, y)
def other():
    loader = []

## a generator that was kept [train.py(2): batches]
def batches():
    yield 1
def main():
    kept = batches()
    for x in kept:
        print(x)

## what a property calls [nn.py(3): device > <built-in function next>]
def main(model, it):
    x = next(it)
    return x.to(model.device)

## what a function of this file calls [train.py(2): run > torch/optim/sgd.py(7): step]
def run(opt):
    opt.step()
def main(opt, todo=run):
    todo(opt)
    opt.step()

## its own time []
def main():
    work()
"""


def cases(text: str) -> list[Any]:
    """Parameters of each: its name, what it was calling, and its program, whose first
    line is line 2."""
    found = []
    for part in text.split("\n## ")[1:]:
        head, _, program = part.partition("\n")
        name, _, calls = head.removesuffix("]").partition(" [")
        names = [
            NEXT if call == "NEXT" else call for call in calls.split(" > ") if call
        ]
        found.append(pytest.param(names, "\n" + program, id=name))
    return found


def begin_of(source: str, function: str = "main") -> int:
    """Where a function begins, as Python has it: with its decorators."""
    found = re.search(rf"^((@.*\n)*)def {function}\(", source, re.MULTILINE)
    assert found
    return source[: found.start()].count("\n") + 1


def finding(line: int, *calls: tuple[list[str], int], function: str = "main") -> Any:
    where = Location("train.py", None, function, True, line, "function")
    return where, calls, sum(ns for _, ns in calls)


def line_of(source: str, calls: list[str]) -> int | None:
    Path("train.py").write_text(source)
    return FoundLines("").line_of(*finding(begin_of(source), (calls, 10)))


@pytest.mark.parametrize(("calls", "source"), cases(FOUND))
def test_the_line_of_the_only_call_that_can_be_meant(
    here: Path, calls: list[str], source: str
) -> None:
    here = source[: source.index("# here")].count("\n") + 1
    assert line_of(source, calls) == here


@pytest.mark.parametrize(("calls", "source"), cases(NONE))
def test_no_line_where_another_can_be_meant(
    here: Path, calls: list[str], source: str
) -> None:
    assert line_of(source, calls) is None


def test_a_line_holds_four_fifths_of_the_time(here: Path) -> None:
    Path("train.py").write_text("def main(x):\n    x.item()\n    x.cpu()\n")
    item, cpu = ["<built-in method item>"], ["<built-in method cpu>"]
    lines = FoundLines("")
    assert lines.line_of(*finding(1, (item, 80), (cpu, 20))) == 2
    assert lines.line_of(*finding(1, (item, 79), (cpu, 21))) is None
    # Each a call of its own, but on one line.
    Path("train.py").write_text("def main(x):\n    x.item(), x.cpu()\n")
    assert FoundLines("").line_of(*finding(1, (item, 50), (cpu, 50))) == 2


SOURCE = """\
import gc

def main(prof):
    while prof:
        gc.collect()
        prof.step()
"""
COLLECT = (["<built-in function collect>"], 10)


@pytest.mark.parametrize(
    ("line", "function", "found"),
    [
        (3, "main", 5),  # where it begins
        (6, "main", 5),  # where recording began
        (4, "main", None),  # nothing is called there: the file was edited
        (7, "main", None),
        (2, "main", None),
        (3, "other", None),
    ],
)
def test_the_trace_has_to_fit_the_file(
    here: Path, line: int, function: str, found: int | None
) -> None:
    Path("train.py").write_text(SOURCE)
    assert FoundLines("").line_of(*finding(line, COLLECT, function=function)) == found


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"def main(:\n",
        b"\xff\xfe\x00",
        SOURCE.encode("utf-16"),
        SOURCE.encode() + b"\0",
        b"# coding: latin-9000\n" + SOURCE.encode(),
        b"# " + b"x" * (1 << 20) + b"\n" + SOURCE.encode(),
        b"x = " + b"(" * 5_000,
        b"x = " + b"-" * 100_000 + b"1\n",
    ],
)
def test_a_file_that_cannot_be_read_gives_no_line(here: Path, content: bytes) -> None:
    Path("train.py").write_bytes(content)
    assert FoundLines("").line_of(*finding(3, COLLECT)) is None


def test_a_file_in_another_encoding_is_read(here: Path) -> None:
    text = "# coding: latin-1\n\ndef main(prof):\n    gc.collect(), 'é'\n"
    Path("train.py").write_bytes(text.encode("latin-1"))
    assert FoundLines("").line_of(*finding(3, COLLECT)) == 4


def test_comprehensions_in_each_other_cost_no_more_than_they_are_long() -> None:
    text = "x"
    for _ in range(60):
        text = f"[{text} for x in y]"
    assert len(Source(text).scopes) == 61


def test_a_cell_of_a_notebook_has_its_source_in_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "/tmp/ipykernel_77/1.py"
    lines = SOURCE.splitlines(keepends=True)
    monkeypatch.setitem(linecache.cache, name, (len(SOURCE), None, lines, name))
    where, calls, wasted_ns = finding(3, COLLECT)
    where = where.replace(file=name)
    assert FoundLines("").line_of(where, calls, wasted_ns) == 5
