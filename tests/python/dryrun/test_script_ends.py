# SPDX-License-Identifier: BSD-3-Clause
"""test_script_ends.py: however a script ends or is ended, the findings until then are
reported."""

from __future__ import annotations

import io
import re
import signal
from collections.abc import Iterator

import pytest

from torchtraceap_dryrun.record import Call, Record
from torchtraceap_dryrun.script import child
from torchtraceap_dryrun.script.ended import Ended
from torchtraceap_dryrun.script.journal import Journal, read_journal

from .scripts import BEGIN, ENDING, WAIT, Dry, waits

# One call of C, which lets no other thread run.
STUCK = "re.match('(a+)+$', 40 * 'a' + 'b')"

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
    # What it was at last is looked for several times a second.
    monkeypatch.setattr(child, "_STUCK_S", 0.2)
    found, ended = dry(f"{ENDING}ending._end_in(0.6); time.sleep(0.4)\n{hangs}")
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
        "prog.py was asked to end: it did not end in 0.3 s, so it was broken off"
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


# --- What is written as it goes -------------------------------------------------------


def test_a_journal_that_breaks_off_has_what_came_before() -> None:
    file, record = io.BytesIO(), Record()
    journal = Journal(file.write, pytest.fail)
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
