# SPDX-License-Identifier: BSD-3-Clause
"""test_script_steps.py: when a step of a script ends, and functions that make one."""

from __future__ import annotations

import re

import pytest

from torchtraceap_dryrun.record import Op
from torchtraceap_dryrun.script.ended import Ended

from .scripts import Write, run

_MODEL = """
import torch
model = torch.nn.Linear(4, 4).cuda()
first = torch.optim.SGD(model.parameters(), lr=0.1)
second = torch.optim.AdamW(model.parameters())
def work():
    model(torch.ones(4, device="cuda")).sum().backward()
"""


# --- Steps ----------------------------------------------------------------------------


def test_step_ends_with_that_of_the_optimizer(script: Write) -> None:
    path = script(_MODEL + "for i in range(9):\n    work()\n    first.step()\n")
    going, ended = run(path, steps=4)
    assert ended == Ended("SGD.step()")
    assert going.record.steps == 4
    of_steps = [s.ops for s in going.steps]
    assert of_steps[1] == of_steps[2] == of_steps[3] > 0
    going, ended = run(path)
    assert ended.well and going.record.steps == 9


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


def test_optimizer_that_is_gone_ends_none(script: Write) -> None:
    path = script(
        _MODEL + "work(); first.step(); del first\n"
        "for i in range(3):\n    work(); second.step()\n"
    )
    going, _ = run(path)
    assert going.record.steps == 4


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


_LOOP = "for i in range(9): work(); first.step()"
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


def test_program_without_steps_runs_to_its_end(script: Write) -> None:
    going, ended = run(script(_MODEL + "work()\nprint('end')\n"), steps=2)
    assert ended == Ended() and going.record.steps == 0 and going.ops


def test_steps_on_the_host_of_another_thread_end_none(script: Write) -> None:
    going, ended = run(
        script(
            _MODEL + "import threading\n"
            "host = torch.nn.Linear(4, 4)\n"
            "other = torch.optim.SGD(host.parameters())\n"
            "def train():\n    for i in range(9): other.step()\n"
            "thread = threading.Thread(target=train); thread.start(); thread.join()\n"
            "for i in range(3):\n    work(); second.step()\n"
        ),
        steps=2,
    )
    assert ended == Ended("AdamW.step()") and going.record.steps == 2


# --- A function -----------------------------------------------------------------------

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
        ("model.weight", "is no function"),
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
