# SPDX-License-Identifier: BSD-3-Clause
"""test_profile_steps.py: the decorator ``torchtraceap.profile_steps``, and profiles
every N steps."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

import torchtraceap

from .small_work import profile_elsewhere, steps_of, work

torch = pytest.importorskip("torch")

from .torch_forks import TorchForks  # noqa: E402


def numbers(function: Any) -> list[list[int]]:
    reports = function.session.reports
    return [[step.number for step in report.steps] for report in reports]


def test_without_parentheses(capsys: pytest.CaptureFixture[str]) -> None:
    @torchtraceap.profile_steps
    def train_step(a: int, *, b: int = 2) -> int:
        """Does a step."""
        work()
        return a + b

    assert [train_step(i, b=i) for i in range(7)] == [0, 2, 4, 6, 8, 10, 12]
    assert numbers(train_step) == [[2, 3, 4]]
    assert capsys.readouterr().out.count("<profiler: steps 2 to 4>") == 1
    assert train_step.__doc__ == "Does a step."
    assert list(inspect.signature(train_step).parameters) == ["a", "b"]


def test_with_options(tmp_path: Path) -> None:
    options = {"wait": 0, "warmup": 1, "active": 1, "repeat": 2, "folder": tmp_path}
    train_step = torchtraceap.profile_steps(quiet=True, **options)(work)

    for _ in range(4):
        train_step()
    assert numbers(train_step) == [[1], [3]]
    assert (tmp_path / "report-step2.json").exists()


def test_what_lies_between_calls_is_in_the_step() -> None:
    train_step = torchtraceap.profile_steps(quiet=True)(work)

    for _ in range(5):
        time.sleep(0.005)
        train_step()
    (report,) = train_step.session.reports
    assert min(step.end_us - step.start_us for step in report.steps) > 5000


def test_a_method_of_several_objects() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.calls = 0

        @torchtraceap.profile_steps(quiet=True)
        def step(self) -> None:
            self.calls += 1
            work()

    trainers = [Trainer(), Trainer()]
    for _ in range(3):
        for trainer in trainers:
            trainer.step()
    assert [trainer.calls for trainer in trainers] == [3, 3]
    assert numbers(Trainer.step) == [[2, 3, 4]]
    assert trainers[0].step.session is Trainer.step.session


def test_nothing_is_called_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """But a look at a flag: it stays in the code for good."""

    train_step = torchtraceap.profile_steps(quiet=True)(work)

    for _ in range(6):
        train_step()
    session = train_step.session
    assert not session.is_running

    called: list[str] = []

    def note(frame: Any, event: str, _: object) -> None:
        if event == "call":
            called.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        train_step()
    finally:
        sys.setprofile(before)
    assert called[1:] == ["work"]  # After what wraps it.


def test_what_it_raises_comes_out_and_counts() -> None:
    @torchtraceap.profile_steps(quiet=True)
    def train_step(step: int) -> None:
        work()
        if step in (1, 3):
            raise KeyError(step)

    for step in range(5):
        if step in (1, 3):
            with pytest.raises(KeyError):
                train_step(step)
        else:
            train_step(step)
    assert numbers(train_step) == [[2, 3, 4]]


def test_calls_inside_a_call_are_part_of_it() -> None:
    @torchtraceap.profile_steps(quiet=True)
    def train_step(depth: int = 0) -> None:
        work()
        if depth < 3:
            train_step(depth + 1)

    for _ in range(5):
        train_step()
    (report,) = train_step.session.reports
    assert [s.number for s in report.steps] == [2, 3, 4]
    items = [o.count for o in report.operators if o.name == "aten::item"]
    assert items == [3 * 4]


def test_calls_of_other_threads_pass_by() -> None:
    seen: list[int] = []

    @torchtraceap.profile_steps(quiet=True)
    def train_step(number: int) -> None:
        seen.append(number)
        work()

    train_step(0)
    threads = [threading.Thread(target=train_step, args=(i,)) for i in range(10, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(1, 5):
        train_step(i)
    assert sorted(seen) == [0, 1, 2, 3, 4, *range(10, 20)]
    assert numbers(train_step) == [[2, 3, 4]]


def test_two_take_turns() -> None:
    """As the two steps of a GAN would."""

    @torchtraceap.profile_steps(quiet=True)
    def first() -> None:
        work()

    @torchtraceap.profile_steps(quiet=True)
    def second() -> None:
        work()

    with pytest.warns(RuntimeWarning, match="calls of second are not profiled") as all:
        for _ in range(12):
            first()
            second()
    assert len(all) == 1
    assert numbers(first) == numbers(second) == [[2, 3, 4]]


def test_while_another_profiler_runs() -> None:
    train_step = torchtraceap.profile_steps(quiet=True)(work)

    with (
        pytest.warns(RuntimeWarning, match="another profiler is running") as caught,
        torch.profiler.profile() as prof,
    ):
        for _ in range(3):
            train_step()
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert torchtraceap.analyze(prof).operators
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(5):
            train_step()
    assert numbers(train_step) == [[2, 3, 4]]


@pytest.mark.parametrize(
    ("calls", "says"),
    [
        (0, ""),
        (1, "train_step() was called once, but the schedule"),
        (2, "train_step() was called 2 times, but the schedule"),
        (4, "The cycle is incomplete: train_step() was called 4 times"),
    ],
)
def test_a_program_that_ends_early(
    calls: int, says: str, torch_forks: TorchForks, tmp_path: Path
) -> None:
    program = (
        "import torch, torchtraceap\n"
        "@torchtraceap.profile_steps\n"
        "def train_step():\n"
        "    torch.ones(3).sum().item()\n"
        f"for _ in range({calls}): train_step()\n"
        "print('done')\n"
    )
    ended = torch_forks.run(program, cwd=tmp_path)
    assert ended.code == 0
    assert ended.out.splitlines()[0] == "done"
    assert (len(ended.out.splitlines()) > 1) == (calls > 2)
    assert says in " ".join((ended.out + ended.err).split())


def test_around_a_compiled_function(torch_forks: TorchForks, tmp_path: Path) -> None:
    """In a process of its own: torch.compile changes the one it is in for good."""
    program = (
        "import functools, torch, torchtraceap\n"
        "@torchtraceap.profile_steps(quiet=True)\n"
        "@functools.partial(torch.compile, backend='eager')\n"
        "def train_step(x):\n"
        "    return (x @ x).relu()\n"
        "for _ in range(5): train_step(torch.ones(4, 4))\n"
        "(report,) = train_step.session.reports\n"
        "print([step.number for step in report.steps])\n"
    )
    ended = torch_forks.run(program, cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert ended.out == "[2, 3, 4]\n"


async def a_coroutine() -> None: ...


def a_generator() -> Any:
    yield


async def both() -> Any:
    yield


class Later:
    async def __call__(self) -> None: ...


@pytest.mark.parametrize(
    ("what", "match"),
    [
        (3, "decorates a function, but got one of type int"),
        *((one, "a coroutine or a generator") for one in (a_coroutine, a_generator)),
        *((one, "does it later") for one in (both, Later(), functools.partial(both))),
    ],
)
def test_what_is_no_function(what: Any, match: str) -> None:
    with pytest.raises(TypeError, match=match):
        torchtraceap.profile_steps(what)


def test_wrong_options_are_refused_where_they_stand() -> None:
    with pytest.raises(TypeError, match="did you mean 'active'"):

        @torchtraceap.profile_steps(actve=2)
        def train_step() -> None: ...


# --- every=N --------------------------------------------------------------------------


def test_between_cycles_others_may_profile() -> None:
    with torchtraceap.profile(every=10, active=2, quiet=True) as prof:
        for step in range(25):
            work()
            prof.step()
            if step in (6, 8, 17):
                profile_elsewhere()
    assert steps_of(prof) == [[2, 3], [12, 13], [22, 23]]
