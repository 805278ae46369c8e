# SPDX-License-Identifier: BSD-3-Clause
"""test_script.py: scripts in a dry run behave, and fail, as under python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .scripts import Write, run

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
    expected = subprocess.run(
        [sys.executable, "-m", "pack.prog", "a"], capture_output=True, text=True
    )
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
    log = open("log", "w")  # Which nobody closes.
    atexit.register(lambda: print("atexit", file=log))
"""


def test_a_script_ends_as_under_python(script: Write, tmp_path: Path) -> None:
    assert run(script(_LEAVES))[1].well
    assert (tmp_path / "log").read_text() == "thread\natexit\n"


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
    path = script(code)
    expected = subprocess.run([sys.executable, path], capture_output=True, text=True)
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
