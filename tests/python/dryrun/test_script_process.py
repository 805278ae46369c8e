# SPDX-License-Identifier: BSD-3-Clause
"""test_script_process.py: whatever happens to the process of a script, the findings
until then are reported."""

from __future__ import annotations

import atexit
import errno
import fcntl
import gzip
import json
import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from torchtraceap_dryrun.script import child

from .scripts import BEGIN, ENDING, WAIT, Dry, once_ready, waits

# --- By what it does to its process ---------------------------------------------------


LEFT = "prog.py left its process without telling how it ended: the end of what it did"


@pytest.mark.parametrize(
    ("end", "says"),
    [
        ("os._exit(0)", ""),
        ("os._exit(3)", "prog.py ended itself with exit code 3"),
        ("os._exit(-5)", "prog.py ended itself with exit code 251"),
        ("sys.exit(-5)", "prog.py ended itself with exit code 251"),
        ("sys.exit(256)", ""),  # Of which the system tells 8 bits.
        (
            "class Odd:\n    __str__ = None\nsys.exit(Odd())",
            "prog.py ended itself: a Odd",
        ),
        ("threading.Thread(target=os._exit, args=[0]).start(); time.sleep(60)", ""),
        ("os.kill(os.getpid(), 9)", "prog.py was ended by SIGKILL, as when memory"),
        ("os.kill(os.getpid(), 40)", "prog.py was ended by signal 40"),
        ("import ctypes; ctypes.CDLL(None)._exit(0)", LEFT),
        ("os.execv('/bin/sh', ['sh', '-c', ':'])", LEFT),
        ("sys.stdout.close()", ""),
        ("import gc; gc.disable(); os.chdir('/'); sys.argv.clear()", ""),
    ],
)
def test_what_it_does_to_its_process_loses_nothing(
    dry: Dry, end: str, says: str
) -> None:
    found, ended = dry(end)
    assert ended.message.startswith(says) and ended.well == (not says)
    assert not ended.failure and waits(found) == [(WAIT, 1)]


@pytest.mark.parametrize(
    ("end", "why"),
    [
        ("os.closerange(3, 100)", ""),
        ("os.closerange(3, 4096)", ""),
        ("os.closerange(3, 4096); again = range(200, 260)", ""),
        (
            # As a full disk does, it cuts a write short, and refuses the next one.
            "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (7000, 7000))",
            "File too large",
        ),
    ],
    ids=["as daemons do", "all", "and uses them", "no room"],
)
def test_a_record_that_cannot_be_written_disturbs_nothing(
    dry: Dry, capfd: pytest.CaptureFixture[str], end: str, why: str
) -> None:
    found, ended = dry(
        f"{end}\nout = open('out.bin', 'wb'); out.write(b'mine')\n"
        # Of the descriptors that were written to, others become its file's.
        "for high in globals().get('again', ()): os.dup2(out.fileno(), high)\n"
        "for _ in range(20): step()\nout.close(); os.write(1, b'done\\n')"
    )
    assert capfd.readouterr() == ("done\n", "")
    assert Path("out.bin").read_bytes() == b"mine"
    told = f"the record could not be written to its end: {why}; results cover"
    assert ended.message.startswith(told) if why else ended.well
    ((line, count),) = waits(found)
    assert line == WAIT and (1 <= count < 21 if why else count == 21)


def test_it_ends_as_under_python(
    dry: Dry, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # What is the parent's is neither ended by the child nor written a second time.
    at_exit = partial(os.write, 1, b"of the parent")
    atexit.register(at_exit)
    with open("out.txt", "w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        print("before", flush=False)
        found, ended = dry("""
import atexit, ctypes, gzip, tempfile
print("in it")
c = ctypes.CDLL(None)
c.fopen.restype = ctypes.c_void_p
c.fputs(b"of C", ctypes.c_void_p(c.fopen(b"of_c.txt", b"w")))
packed = gzip.open("out.gz", "wt")
packed.write("all of it")
plain = open("plain.txt", "w")
plain.write("and this")
plain.itself = [plain]
removed = tempfile.NamedTemporaryFile(dir=".", prefix="left")
class Told:
    def __del__(self): os.write(1, b"let go\\n")
_told = Told()
def late():  # It goes on while Python ends.
    while sys: time.sleep(0)
    raise ValueError("has lost its names")
threading.excepthook = threading.__excepthook__  # Not that of pytest.
threading.Thread(target=late, daemon=True).start()
class Waits:  # So that the thread runs.
    def __del__(self, sleep=time.sleep): sleep(0.1)
waits = Waits()
atexit.register(lambda: os.write(1, packed.name.encode() + b"\\n"))
""")
    atexit.unregister(at_exit)
    assert ended.well and waits(found) == [(WAIT, 1)]
    assert Path("out.txt").read_text() == "before\nin it\n"
    assert capfd.readouterr() == ("out.gz\nlet go\n", "")
    assert Path("of_c.txt").read_text() == "of C"
    with gzip.open("out.gz", "rt") as packed:
        assert packed.read() == "all of it"
    assert Path("plain.txt").read_text() == "and this" and not [*Path().glob("left*")]


@pytest.mark.parametrize(
    ("end", "code"),
    [("sys.exit(3)", 3), ("sys.exit('child')", 1), ("raise ValueError('child')", 1)],
)
def test_a_child_that_it_forks_tells_nothing(
    dry: Dry, capfd: pytest.CaptureFixture[str], end: str, code: int
) -> None:
    found, ended = dry(
        f"child = os.fork()\nif child == 0:\n    {end}\nelse:\n    step()\n"
        "    print(os.waitpid(child, 0)[1] >> 8, 'is its code')\n"
    )
    said = capfd.readouterr()
    assert ended.well and waits(found) == [(WAIT, 2)]
    assert f"{code} is its code" in said.out
    assert ("child" in said.err) == (code == 1)


def test_a_child_that_it_forks_writes_nothing(dry: Dry, endings: None) -> None:
    # Nor does it wait for the lock of a thread that it does not have.
    found, ended = dry(
        f"""{ENDING}
held, done = threading.Event(), threading.Event()
def hold():
    with ending.journal._lock:
        held.set()
        done.wait()
thread = threading.Thread(target=hold)
thread.start()
held.wait()
if os.fork() == 0:
    signal.alarm(30)  # Should it wait nonetheless.
    ending._record.entries.clear()
    ending.journal.again()
    ending.write()
    os._exit(0)
assert os.wait()[1] == 0
done.set()
thread.join()
"""
    )
    assert ended.well and waits(found) == [(WAIT, 1)] and len(found.ops) > 5


def test_a_thread_that_is_refused_the_gpu_ends_it(dry: Dry, impatient: None) -> None:
    found, ended = dry(
        "import queue\nbatches = queue.Queue()\n"
        "def load(): batches.put(torch.ones(3).to('cuda'))\n"
        "threading.Thread(target=load, name='loads').start()\nbatches.get()"
    )
    line = BEGIN.count("\n") + 3
    assert ended.message.startswith(
        f"the thread 'loads' uses the GPU at prog.py:{line}, but a dry run follows only"
    )
    assert waits(found) == [(WAIT, 1)]


def test_it_is_waited_for_where_children_are_ignored(dry: Dry) -> None:
    """As some supervisors leave it to what they start."""
    former = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert dry("")[1].well
        assert signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGCHLD, former)


def test_it_does_not_begin_for_a_process_that_is_gone(
    dry: Dry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 1)
    assert not dry("time.sleep(60)")[1].well


def test_where_no_standard_descriptor_is_open(tmp_path: Path) -> None:
    """What is printed in C does not get into a file of ours."""
    end = "import ctypes; ctypes.CDLL(None).puts(b'here'); step()"
    (tmp_path / "prog.py").write_text(BEGIN + end)
    line = f"{sys.executable} -m torchtraceap dryrun --json - prog.py <&- 2>&-"
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, stdout=subprocess.PIPE)
    assert done.returncode == 0 and len(json.loads(done.stdout)["steps"]) == 2


@pytest.mark.parametrize("refused", ["os.fork", "tempfile.mkstemp"])
def test_what_the_system_refuses_is_said(
    dry: Dry, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    def refuse(**_: object) -> NoReturn:
        raise OSError(errno.EAGAIN, "Try again later")

    monkeypatch.setattr(f"{child.__name__}.{refused}", refuse)
    _, ended = dry("")
    assert ended.message == (
        "prog.py cannot be run dry: Try again later. It needs a process and a "
        "temporary file"
    )


# --- By Ctrl-C ------------------------------------------------------------------------


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("then", ["raise", "pass"])
def test_ctrl_c_that_the_child_did_not_get_is_passed_on(
    dry: Dry, impatient: None, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    once_ready(monkeypatch, interrupt)
    found, ended = dry(
        # A shell lets what runs in its background ignore it.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "while True:\n    try:\n"
        "        open('ready', 'w').close()\n        while True: pass\n"
        f"    except KeyboardInterrupt: {then}\n"
    )
    assert ended.interrupted and found.record.interrupted
    assert waits(found) == [(WAIT, 1)]


def start(tmp_path: Path, end: str, terminal: int) -> subprocess.Popen[str]:
    def begin() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

    (tmp_path / "prog.py").write_text(BEGIN + end)
    return subprocess.Popen(
        [sys.executable, "-m", "torchtraceap", "dryrun", "prog.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        pass_fds=[terminal],
        preexec_fn=begin,
    )


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """The two ends of one: of who types, and of what runs there."""
    ends = pty.openpty()
    yield ends
    for end in ends:
        os.close(end)


def test_ctrl_c_of_a_terminal_tells_what_was_found(
    tmp_path: Path, terminal: tuple[int, int]
) -> None:
    process = start(
        tmp_path,
        "try:\n    print('ready', flush=True)\n    while True: pass\n"
        # Ctrl-C is not passed on to it while it cleans up.
        "finally:\n    time.sleep(1.5); print('cleaned up')\n",
        terminal[1],
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.write(terminal[0], b"\x03")
    out, err = process.communicate(timeout=120)
    assert out.startswith("cleaned up\n")
    assert process.returncode == 130 and f"prog.py:{WAIT}" in out
    assert "The run was interrupted: this is what was found until then." in out
    assert err == ("torchtraceap: interrupted: the results cover the run until then\n")


def test_a_program_ends_with_the_process_that_began_it(
    tmp_path: Path, terminal: tuple[int, int]
) -> None:
    end = "print('ready', flush=True)\nwhile True: pass\n"
    process = start(tmp_path, end, terminal[1])
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    process.communicate(timeout=120)  # Until the child ends, which has the pipes.
    assert process.returncode == -signal.SIGTERM
