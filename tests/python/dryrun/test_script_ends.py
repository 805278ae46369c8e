# SPDX-License-Identifier: BSD-3-Clause
"""test_script_ends.py: whatever way a script ends by, or is ended, what was found until
then is told."""

from __future__ import annotations

import atexit
import errno
import fcntl
import gzip
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from torchtraceap.dryrun.record import Call, Record
from torchtraceap.dryrun.result import Result
from torchtraceap.dryrun.script import child, in_child
from torchtraceap.dryrun.script.ended import Ended
from torchtraceap.dryrun.script.journal import Journal, read_journal

from .scripts import Write, run

# A wait in each of its steps, at line 7.
BEGIN = """\
import os, re, signal, sys, threading, time, torch
weight = torch.ones(3, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
def step():
    loss = (weight * 2).sum()
    loss.backward()
    loss.item()
    optimizer.step()
step()
"""
WAIT = 7
# One call of C, which lets no other thread run.
STUCK = "re.match('(a+)+$', 40 * 'a' + 'b')"

Dry = Callable[..., "tuple[Result, Ended]"]


@pytest.fixture
def dry(script: Write) -> Dry:
    """Runs what follows BEGIN."""
    return lambda end, **options: run(script(BEGIN + end), **options)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break off at once what was told to end. For programs that never do."""
    monkeypatch.setattr(child, "GRACE_S", 0.3)


# What follows has its own `Ending`.
ENDING = """\
from torchtraceap.dryrun.script import in_child
(ending,) = in_child.endings
"""


@pytest.fixture
def endings(monkeypatch: pytest.MonkeyPatch) -> None:
    """For ENDING."""
    begin, found = in_child.Ending.begin, []
    monkeypatch.setattr(in_child, "endings", found, raising=False)
    monkeypatch.setattr(
        in_child.Ending, "begin", lambda one, run: (found.append(one), begin(one, run))
    )


def once_ready(monkeypatch: pytest.MonkeyPatch, then: Callable[[], None]) -> None:
    """Let the first wait for a program end as soon as that writes a file."""
    code, calls = child._code, iter([True])

    def waited(process: int, seconds: float) -> int | None:
        if not next(calls, False):
            return code(process, seconds)
        while not os.path.exists("ready"):
            time.sleep(0.01)
        return then()

    monkeypatch.setattr(child, "_code", waited)


def waits(found: Result) -> list[tuple[int, int]]:
    return [(wait.line.line, wait.count) for wait in found.waits if wait.line]


# --- By a limit -----------------------------------------------------------------------


@pytest.fixture
def ctrl_c_is_ignored() -> Iterator[None]:
    """As in the background of a shell, or after nohup."""
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.mark.parametrize(
    "hangs",
    [
        "while True: pass",
        "while True:\n    try: time.sleep(60)\n    except BaseException: pass",
        STUCK,
        "lock = threading.Lock(); lock.acquire(); lock.acquire()",
    ],
    ids=["spins", "sleeps", "in C", "waits"],
)
def test_the_time_is_over_whatever_it_does(
    dry: Dry,
    endings: None,
    ctrl_c_is_ignored: None,
    monkeypatch: pytest.MonkeyPatch,
    hangs: str,
) -> None:
    # However busy this machine is, the time is over when the program hangs.
    monkeypatch.setattr(in_child, "_STUCK_S", 0.2)
    found, ended = dry(f"{ENDING}ending._end_in(0.1)\n{hangs}")
    last = BEGIN.count("\n") + 4 + hangs.count("\n")
    at, said = re.fullmatch(
        r"the dry run was ended at prog\.py:(\d+), (after 60 s and \d+ operators "
        r"\(--max-seconds\)\. .* or raise --max-seconds)",
        ended.message,
    ).groups()  # type: ignore[union-attr]
    assert last - 2 <= int(at) <= last and " and 0 op" not in said
    assert not ended.remark and not ended.interrupted
    assert waits(found) == [(WAIT, 1)]


@pytest.mark.parametrize("fails", [False, True])
def test_the_time_is_over_of_a_thread_that_it_leaves(
    dry: Dry, endings: None, fails: bool
) -> None:
    found, ended = dry(
        f"""{ENDING}
def late():
    while not ending._told: time.sleep(0.01)
    ending._end_in(0.1)
    threading.Event().wait()
threading.Thread(target=late).start()
{"1 / 0" if fails else ""}
"""
    )
    assert ", after 60 s and " in (ended.remark if fails else ended.message)
    assert not (ended.message if fails else ended.remark)
    assert waits(found) == [(WAIT, 1)]


def test_the_parent_ends_what_takes_the_timer_away(
    dry: Dry, monkeypatch: pytest.MonkeyPatch
) -> None:
    once_ready(monkeypatch, lambda: None)
    timer = "import faulthandler; faulthandler.cancel_dump_traceback_later()\n"
    found, ended = dry(f"{timer}open('ready', 'w').close()\n{STUCK}")
    assert "was ended after 60 s and" in ended.message and waits(found) == [(WAIT, 1)]


@pytest.mark.parametrize("caught", ["Exception", "BaseException"])
def test_a_limit_of_operators_is_told_though_it_is_caught(
    dry: Dry, monkeypatch: pytest.MonkeyPatch, caught: str
) -> None:
    if caught == "BaseException":
        monkeypatch.setattr(child, "GRACE_S", 0.3)
    end = f"""
while True:
    try: weight + 1
    except {caught}: pass
"""
    found, ended = dry(end, options={"max_ops": 40})
    line = BEGIN.count("\n") + 3
    assert f"ended at prog.py:{line}, after 40 operators (--max-ops)" in ended.message
    assert len(found.ops) == 40
    assert bool(ended.remark) == (caught == "BaseException")


# --- By its steps ---------------------------------------------------------------------


def test_it_may_clean_up_and_no_more_counts(
    dry: Dry, capfd: pytest.CaptureFixture[str]
) -> None:
    found, ended = dry(
        "try:\n    while True: step()\nfinally:\n    step(); print('cleaned up')",
        steps=3,
    )
    assert ended == Ended("SGD.step()") and waits(found) == [(WAIT, 3)]
    assert "cleaned up" not in capfd.readouterr().out  # Its step is one too many.
    found, ended = dry(
        "try:\n    while True: step()\nfinally:\n    print('cleaned up')", steps=3
    )
    assert ended == Ended("SGD.step()") and waits(found) == [(WAIT, 3)]
    assert capfd.readouterr().out == "cleaned up\n"


@pytest.mark.parametrize(
    ("goes_on", "at"),
    [
        ("while True:\n    try: step()\n    except BaseException: pass", "prog.py:"),
        (
            "threading.Thread(target=threading.Event().wait).start()\n"
            "while True: step()",
            "",
        ),
    ],
    ids=["catches all", "leaves a thread"],
)
def test_what_goes_on_after_its_steps_is_broken_off(
    dry: Dry, impatient: None, goes_on: str, at: str
) -> None:
    found, ended = dry(goes_on, steps=3)
    assert ended.well and ended.steps_by == "SGD.step()"
    assert ended.remark.startswith(
        "prog.py was told to end: it did not end in 0.3 s, so it was broken off"
    )
    assert at in ended.remark
    assert found.record.steps == 3 and waits(found) == [(WAIT, 3)]


def test_what_follows_its_one_step_is_of_it_also_where_that_is_written(
    dry: Dry, endings: None
) -> None:
    found, ended = dry(
        f"{ENDING}weight.sum().item()\nending.write()\noptimizer.step()",
        steps=1,
    )
    assert ended.well and {sync.step for sync in found.syncs} == {0}
    assert {op.step for op in found.ops} == {0}


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


CLOSED = "the program closed a file of torchtraceap's"


@pytest.mark.parametrize(
    ("end", "why"),
    [
        ("os.closerange(3, 100)", ""),
        ("os.closerange(3, 4096)", CLOSED),
        ("os.closerange(3, 4096); again = range(200, 260)", CLOSED),
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
    told = f"the record could not be written to its end: {why}; what is told was found"
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
        f"prog.py:{line}: the thread 'loads' uses the GPU, but a dry run follows only "
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


@pytest.mark.parametrize("refused", ["os.fork", "tempfile.TemporaryFile"])
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
    assert err == (
        "torchtraceap: interrupted: what is told here, or written, was found until "
        "then\n"
    )


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


# --- What is written as it goes -------------------------------------------------------


def test_a_journal_that_breaks_off_has_what_came_before() -> None:
    file, record = io.BytesIO(), Record()
    journal = Journal(file, pytest.fail)
    record.entries += [Call("event_record", step, None) for step in range(3)]
    journal.write(record, 3)
    for entry in record.entries[1:]:
        entry.step = 7
    journal.again(entries=1)
    record.notes.append("noted")
    journal.write(record, 5)
    whole = file.tell()
    journal.write(record, 6, Ended("x"))
    journal.write(record, 7, Ended("later"))
    written = read_journal(file)
    assert (written.record, written.ops, written.ended) == (record, 6, Ended("x"))
    for end in range(whole, file.tell(), 7):
        cut = read_journal(io.BytesIO(file.getvalue()[:end]))
        assert (cut.record, cut.ops, cut.ended) == (record, 5, None)
