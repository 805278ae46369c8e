# SPDX-License-Identifier: BSD-3-Clause
"""test_script.py: scripts in a dry run behave as under python, and end in time."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if torch.cuda.is_available():
    pytest.skip("a GPU is here", allow_module_level=True)

from torchtraceap.dryrun.dry_run import DryRun, dry_run  # noqa: E402
from torchtraceap.dryrun.record import Op  # noqa: E402
from torchtraceap.dryrun.script import (  # noqa: E402
    Ended,
    run_function,
    run_module,
    run_script,
)
from torchtraceap.dryrun.script_function import FunctionError  # noqa: E402

Write = Callable[..., str]

_MODEL = """
import torch
model = torch.nn.Linear(4, 4).cuda()
first = torch.optim.SGD(model.parameters(), lr=0.1)
second = torch.optim.AdamW(model.parameters())
def work():
    model(torch.ones(4, device="cuda")).sum().backward()
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.chdir(tmp_path)

    def write(code: str, name: str = "prog.py") -> str:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(code))
        return name

    return write


def run(path: str, *arguments: str, steps: int = 0) -> tuple[DryRun, Ended]:
    with dry_run() as going:
        return going, run_script(going, path, arguments, steps)


# --- As under python ------------------------------------------------------------------

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
    expected = subprocess.run(
        [sys.executable, path, "-x", "--epochs=1"], capture_output=True, text=True
    )
    assert expected.stderr == ""
    before = sys.argv[:], sys.path[:], os.getcwd(), sys.modules["__main__"]
    assert run(path, "-x", "--epochs=1")[1].well
    assert capfd.readouterr().out == expected.stdout
    assert before == (sys.argv, sys.path, os.getcwd(), sys.modules["__main__"])
    sys.modules.pop("beside", None)


def test_module_sees_what_it_sees_under_python(
    script: Write, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script("", "pack/__init__.py")
    script(
        "import os, sys\nfrom . import __path__\n"
        "print(__name__, __package__, __spec__.name, sys.argv, sys.path[0])",
        "pack/prog.py",
    )
    expected = subprocess.run(
        [sys.executable, "-m", "pack.prog", "a"], capture_output=True, text=True
    )
    assert expected.stderr == ""
    with dry_run() as going:
        assert run_module(going, "pack.prog", ["a"]).well
    assert capfd.readouterr().out == expected.stdout
    for name in ("pack", "pack.prog"):
        sys.modules.pop(name, None)


def test_what_a_script_changes_is_put_back(script: Write) -> None:
    path = script(
        """
        import io, os, sys
        os.chdir("/")
        sys.argv.clear(); sys.path.clear()
        sys.stdout = io.StringIO()
        """
    )
    before = sys.argv[:], sys.path[:], os.getcwd(), sys.stdout
    assert run(path)[1].well
    assert before == (sys.argv, sys.path, os.getcwd(), sys.stdout)


# --- How it ends ----------------------------------------------------------------------


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
    sys.modules.pop("beside", None)
    path = script(code)
    expected = subprocess.run([sys.executable, path], capture_output=True, text=True)
    _, ended = run(path)
    sys.modules.pop("beside", None)
    assert not ended.well
    # From Python 3.13 on, names of files and carets may differ in their colors only.
    assert ended.failure == expected.stderr.rstrip("\n")


def test_error_inside_of_an_operator_shows_no_line_of_ours(script: Write) -> None:
    _, ended = run(
        script(
            "import torch\n"
            "torch.ones(3, device='cuda') @ torch.ones(4, device='cuda')\n"
        )
    )
    assert 'prog.py", line 2' in ended.failure
    assert f"torchtraceap{os.sep}" not in ended.failure and "runpy" not in ended.failure


def test_interrupt_is_passed_on(script: Write) -> None:
    path = script("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        run(path)
    assert not torch.cuda.is_available()


# --- Steps ----------------------------------------------------------------------------


def test_step_ends_with_that_of_the_optimizer(script: Write) -> None:
    path = script(_MODEL + "for i in range(9):\n    work()\n    first.step()\n")
    going, ended = run(path, steps=4)
    assert ended == Ended("SGD.step()") and going.record.steps == 4
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


def test_ending_is_not_caught_as_an_exception(script: Write) -> None:
    path = script(
        _MODEL + "for i in range(9):\n    work()\n"
        "    try: first.step()\n    except Exception: raise SystemExit('caught')\n"
    )
    assert run(path, steps=2)[1].well


def test_program_without_steps_runs_to_its_end(script: Write) -> None:
    going, ended = run(script(_MODEL + "work()\nprint('end')\n"), steps=2)
    assert ended == Ended() and going.record.steps == 0 and going.ops


def test_hooks_are_gone_afterwards(script: Write) -> None:
    of_torch = torch.profiler.profile.step
    run(script(_MODEL + "work()\nfirst.step()\n"), steps=1)
    assert torch.profiler.profile.step is of_torch
    layer = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(layer.parameters())
    for _ in range(3):  # would raise
        optimizer.step()


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
    path = script(_FUNCTIONS)
    with dry_run() as going:
        ended = run_function(going, path, name, ["x"], steps=5)
    assert ended == Ended(f"each call of {name}()")
    assert going.record.steps == 5 and len({s.ops for s in going.steps[1:]}) == 1
    assert "prog" not in sys.modules


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
    path = script(_FUNCTIONS)
    with pytest.raises(FunctionError, match=message), dry_run() as going:
        run_function(going, path, name, ["x"])


def test_error_of_a_function_is_the_users_own(script: Write) -> None:
    path = script("def step():\n    1 / 0\n")
    with dry_run() as going:
        ended = run_function(going, path, "step")
    assert ended.failure.startswith("Traceback (most recent call last):\n")
    assert ended.failure.count("File ") == 1 and "ZeroDivisionError" in ended.failure
