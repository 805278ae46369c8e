# SPDX-License-Identifier: BSD-3-Clause
"""Scripts in a dry run: as under python, in steps, and where they were ended."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from torchtraceap_dryrun.record import Op
from torchtraceap_dryrun.script.ended import Ended

from ..conftest import python
from .scripts import Write, run

# --- As under python -----------------------------------------------------------------

_TELLS = """
    import os, sys, pickle
    import beside
    class Kept: pass
    assert type(pickle.loads(pickle.dumps(Kept()))) is Kept  # found in __main__
    print(__name__, os.path.abspath(__file__), sys.argv, sys.path[0], os.getcwd())
    print(__doc__, __package__, sys.modules["__main__"].Kept is Kept)
"""


def test_script_sees_what_it_sees_under_python(
    script: Write, capfd: pytest.CaptureFixture[str]
) -> None:
    script("", "sub/beside.py")
    path = script(_TELLS, "sub/prog.py")
    expected = python(path, "-x", "--epochs=1")
    assert expected.stderr == ""
    assert run(path, "-x", "--epochs=1")[1].well
    assert capfd.readouterr().out == expected.stdout


def test_module_sees_what_it_sees_under_python(
    script: Write, capfd: pytest.CaptureFixture[str]
) -> None:
    script("", "pack/__init__.py")
    script(
        "import os, sys\nfrom . import __path__\n"
        "print(__name__, __package__, __spec__.name, sys.argv, sys.path[0])",
        "pack/prog.py",
    )
    expected = python("-m", "pack.prog", "a")
    assert expected.stderr == ""
    assert run("pack.prog", "a", is_module=True)[1].well
    assert capfd.readouterr().out == expected.stdout


_LEAVES = """
    import atexit, threading, time
    def late():
        threading.main_thread().join()
        time.sleep(0.05)
        print("thread", file=log)
    threading.Thread(target=late).start()
    log = open("log", "w")  # Never closed.
    atexit.register(lambda: print("atexit", file=log))
"""


def test_a_script_ends_as_under_python(script: Write, tmp_path: Path) -> None:
    assert run(script(_LEAVES))[1].well
    assert (tmp_path / "log").read_text() == "thread\natexit\n"


# --- How it ends ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ("sys.exit()", ""),
        ("sys.exit(0)", ""),
        ("sys.exit(3)", "prog.py ended itself with exit code 3"),
        ("sys.exit('no data')", "prog.py ended itself: no data"),
        ("torch.cuda.CUDAGraph()", "prog.py:3: a CUDA graph cannot be had"),
    ],
)
def test_ends_of_a_script(script: Write, end: str, message: str) -> None:
    _, ended = run(script(f"import sys, torch\n\n{end}\n"))
    assert ended.well == (not message) and not ended.failure
    assert ended.message.startswith(message)


_RAISES = """
    from beside import fail
    try:
        fail()
    except ValueError:
        raise KeyError("later")
"""


@pytest.mark.parametrize("code", [_RAISES, "x = (1\n"])
def test_error_is_shown_as_python_shows_it(script: Write, code: str) -> None:
    script("def fail():\n    raise ValueError('deep')\n", "beside.py")
    path = script(code)
    expected = python(path)
    _, ended = run(path)
    assert not ended.well
    # From Python 3.13 on, names of files and carets may differ in their colors only.
    assert ended.failure == expected.stderr.rstrip("\n")


_OPERATOR = """
    import torch
    try:
        torch.ones(3, device="cuda") @ torch.ones(4, device="cuda")
    except RuntimeError as error:
        raise ValueError("later") from error
"""


def test_error_inside_of_an_operator_shows_no_line_of_ours(script: Write) -> None:
    _, ended = run(script(_OPERATOR))
    assert 'prog.py", line 4' in ended.failure and "line 6" in ended.failure
    assert "direct cause" in ended.failure and "RuntimeError: " in ended.failure
    assert f"torchtraceap{os.sep}" not in ended.failure and "runpy" not in ended.failure


_MODEL = """
import torch
model = torch.nn.Linear(4, 4).cuda()
first = torch.optim.SGD(model.parameters(), lr=0.1)
second = torch.optim.AdamW(model.parameters())
def work():
    model(torch.ones(4, device="cuda")).sum().backward()
"""


# --- Steps ---------------------------------------------------------------------------


_LOOP = "for i in range(9): work(); first.step()"
_OF_THE_HOST = """
import threading
host = torch.nn.Linear(4, 4)
other = torch.optim.SGD(host.parameters())
def train():
    for i in range(9): other.step()
thread = threading.Thread(target=train); thread.start(); thread.join()
for i in range(3): work(); second.step()
"""
# What a script does, the limit of its steps, what ends them, and how many there are.
STEPS = {
    "of an optimizer": (_LOOP, 4, "SGD.step()", 4),
    "all there are": (_LOOP, 20, "SGD.step()", 9),
    "of one after another that is gone": (
        "work(); first.step(); del first\nfor i in range(3): work(); second.step()",
        20, "AdamW.step()", 4,
    ),
    "none": ("work()\nprint('end')\n", 2, "", 0),
    "of another thread on the host": (_OF_THE_HOST, 2, "AdamW.step()", 2),
}  # fmt: skip


@pytest.mark.parametrize(("code", "limit", "by", "count"), STEPS.values(), ids=STEPS)
def test_steps_end_with_those_of_the_optimizer(
    script: Write, code: str, limit: int, by: str, count: int
) -> None:
    going, ended = run(script(_MODEL + code), steps=limit)
    assert ended == Ended(by) and going.record.steps == count and going.ops
    if code is _LOOP:
        assert len({step.ops for step in going.steps[1:]}) == 1


def test_of_two_optimizers_the_first_ends_it(script: Write) -> None:
    path = script(
        _MODEL + "for i in range(9):\n"
        "    work(); first.step(); work(); second.step()\n    print(i)\n"
    )
    going, ended = run(path, steps=4)
    assert ended.steps_by == "SGD.step()" and going.record.steps == 4
    # Each step but the first has both; in the second AdamW makes its state.
    assert going.steps[2] == going.steps[3]
    adamw = {e.step for e in going.ops if e.name.startswith("aten::_foreach_addcdiv")}
    assert adamw == {1, 2, 3}


def test_steps_of_a_profiler_count_if_there_is_one(script: Write) -> None:
    path = script(
        _MODEL + "with torch.profiler.profile() as profiler:\n"
        "    for i in range(9):\n"
        "        work(); first.step(); work(); first.step(); profiler.step()\n"
    )
    going, ended = run(path, steps=3)
    assert ended.steps_by == "step() of the profiler" and going.record.steps == 3
    assert len({s.ops for s in going.steps[1:]}) == 1
    of_first = [e for e in going.record.entries if isinstance(e, Op) and e.step == 0]
    assert sum(e.name == "aten::_foreach_add_" for e in of_first) == 2
    assert {e.step for e in going.record.entries} == {0, 1, 2}


_TAIL = """
for i in range(9):
    x = torch.ones(4).to("cuda")
    first.zero_grad()
    loss = model(x).sum()
    loss.backward()
    first.step()
    {after}
    if i > 0: raise SystemExit("a second step was made")
    print(loss.item())
"""


@pytest.mark.parametrize("after", ["first.zero_grad()", "model2(loss)", "pass"])
def test_one_step_has_what_follows_the_optimizer(script: Write, after: str) -> None:
    tail = _TAIL.format(after=after)
    path = script(_MODEL + "model2 = torch.nn.Identity()\n" + tail)
    going, ended = run(path, steps=1)
    assert ended == Ended("SGD.step()")
    assert going.record.steps == 1
    apis = [sync.api for sync in going.syncs if sync.step == 0]
    assert apis.count("aten::_local_scalar_dense") == 1
    # Two for the model, and the copy of the batch: not that of the next one too.
    assert len(apis) == going.steps[0].waits == 4


def test_tail_of_a_loop_that_ends_by_itself_counts(script: Write) -> None:
    path = script(_MODEL + "work(); first.step()\nmodel.weight.sum().item()\n")
    going, _ = run(path, steps=1)
    assert going.steps[0].waits == 3


_TRIES = "for i in range(9):\n    work()\n    try: first.step()\n    except"
CAUGHT = {
    "around the loop": f"try:\n    {_LOOP}\nexcept: pass\n",
    "in the loop": f"{_TRIES}: pass\n",
    "as an error": f"{_TRIES} Exception: raise SystemExit('caught')\n",
    "finally": f"try:\n    {_LOOP}\nfinally: model.weight.sum().item()\n",
}


@pytest.mark.parametrize("loop", CAUGHT.values(), ids=CAUGHT)
def test_what_it_does_when_it_is_told_to_end_is_forgotten(
    script: Write, loop: str
) -> None:
    path = script(f"{_MODEL}{loop}model.weight.sum().item()\n")
    going, ended = run(path, steps=2)
    assert ended == Ended("SGD.step()") and going.record.steps == 2
    assert {entry.step for entry in going.record.entries} == {0, 1}
    assert {sync.step for sync in going.syncs} == {0}


# --- A function ----------------------------------------------------------------------

_FUNCTIONS = _MODEL + (
    "import sys\n"
    "assert __name__ == 'prog' and sys.argv == ['prog.py', 'x']\n"
    "calls = []\n"
    "def step():\n    calls.append(work())\n    first.step()\n"
    "class Trainer:\n    step = staticmethod(step)\n"
    "trainer = Trainer()\n"
    "def takes(batch): ...\n"
    "def gives():\n    yield\n"
    "if __name__ == '__main__': raise SystemExit('as main')\n"
)


@pytest.mark.parametrize("name", ["step", "trainer.step"])
def test_function_is_called_as_often_as_said(script: Write, name: str) -> None:
    going, ended = run(script(_FUNCTIONS), "x", function=name, steps=5)
    assert ended == Ended(f"each call of {name}()")
    assert going.record.steps == 5 and len({s.ops for s in going.steps[1:]}) == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("stp", r"prog.py has no stp; did you mean step\?"),
        ("takes", r"cannot be called without arguments: .*'batch'"),
        ("gives", "async or a generator"),
        ("model.weight", "is not a function"),
    ],
)
def test_function_that_is_none_is_refused(
    script: Write, name: str, message: str
) -> None:
    _, ended = run(script(_FUNCTIONS), "x", function=name, steps=5)
    assert re.search(message, ended.message)


def test_error_of_a_function_is_the_users_own(script: Write) -> None:
    path = script("def step():\n    1 / 0\n")
    _, ended = run(path, function="step", steps=3)
    assert ended.failure.startswith("Traceback (most recent call last):\n")
    assert ended.failure.count("File ") == 1 and "ZeroDivisionError" in ended.failure


# --- Where a program was ended, and what it never got to ------------------------------


_TRAINING = """\
import torch
def train(model, optimizer):
    for epoch in range(2):
        for batch in range(9):
            model(torch.ones(4, 4, device="cuda")).sum().backward()
            optimizer.step()
        print("after an epoch")
    print("trained")
def main():
    model = torch.nn.Linear(4, 4).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    try:
        train(model, optimizer)
    finally:
        print("done")
    with torch.no_grad():
        score = model.eval()
    def of_no_use(): pass
    if score:
        torch.save(model, "model.pt")
if __name__ == "__main__":
    main()
    print("bye")
"""


def test_lines_after_the_loop_of_its_steps_are_not_reached(script: Write) -> None:
    path = script(_TRAINING)
    found, ended = run(path, steps=3)
    assert ended.well and ended.stopped
    stopped = found.record.stopped
    assert stopped and stopped.line and stopped.line.line == 6
    name = os.path.basename(path)
    at = [rest.rpartition(f"{name}:")[2] for rest in stopped.not_reached]
    assert at == [
        "8 (print)",
        "16-20 (torch.no_grad, model.eval, torch.save)",
        "23 (print)",
    ]
    text = " ".join(found.summary().split())
    assert f"It was ended after 3 steps, at {stopped.line}; --steps 0 runs it" in text
    assert "Not reached: " in text and "16-20 (torch.no_grad" in text
    form = found.to_dict()["stopped"]
    assert form["after_steps"] == 3 and form["location"]["line"] == 6
    assert form["not_reached"] == list(stopped.not_reached)


def test_what_a_loop_may_have_come_to_before_is_not_named(script: Write) -> None:
    """The first call of one_step() ran to its end."""
    found, _ = run(
        script(
            "import torch\n"
            "model = torch.nn.Linear(4, 4).cuda()\n"
            "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "def one_step():\n"
            "    model(torch.ones(4, 4, device='cuda')).sum().backward()\n"
            "    optimizer.step()\n"
            "    print('stepped')\n"
            "while True:\n"
            "    one_step()\n"
            "    print('and again')\n"
        ),
        steps=2,
    )
    assert found.record.stopped and found.record.stopped.not_reached == ()
    assert "Not reached" not in found.summary()


def test_a_program_that_runs_to_its_end_is_not_stopped(script: Write) -> None:
    found, ended = run(script(_TRAINING))
    assert ended.stopped is None and found.to_dict()["stopped"] is None
    assert "--steps" not in found.summary()
