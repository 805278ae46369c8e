# SPDX-License-Identifier: BSD-3-Clause
"""test_sync_check_limits.py: without a GPU and without pytest: how much SyncCheck lets
pass in a dry run, launches too, and the assertions of `torchtraceap.dry_run`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.checking.launch_verdict import Launches, LaunchVerdict
from torchtraceap.checking.sync_check import SyncCheck, SyncStalls

from .small_training import MOVE, run
from .wait_heads import head

torch = pytest.importorskip("torch")

if torch.cuda.is_available():
    pytest.skip(
        "these are dry runs, for machines without a GPU", allow_module_level=True
    )

HERE = Path(__file__).resolve()


def item(loss: Any) -> None:
    loss.item()


# --- Limits ------------------------------------------------------------------------


def test_max_per_step() -> None:
    with SyncCheck(allow=MOVE, max_per_step=1) as check:
        run(check, 3, item)

    def twice_at_the_end(losses: list[int]) -> Callable[[Any], object]:
        def read(loss: Any) -> None:
            losses.append(1)
            loss.item()
            if len(losses) == 3:
                loss.item()

        return read

    check = SyncCheck(allow=MOVE, max_per_step=1)
    with pytest.raises(SyncStalls, match=r"max_per_step=1, step 2 has 2\)"), check:
        run(check, 3, twice_at_the_end([]))
    assert check.verdict is not None
    assert [place.rpartition("  ")[2] for place in check.verdict.places] == [
        "×1 per step (value guessed)",
        "×1 in 1 of 3 steps (value guessed)",
    ]
    # Both hold where both are given.
    with pytest.raises(SyncStalls, match=r"max_count=2, max_per_step=1\)"):  # noqa: SIM117
        with SyncCheck(allow=MOVE, max_count=2, max_per_step=1) as check:
            run(check, 3, item)


def test_what_follows_the_last_step_is_one_too() -> None:
    check = SyncCheck(max_per_step=1, allow=MOVE)
    with pytest.raises(SyncStalls, match="step 2 has 2"), check:
        run(check, 2, item)
        x = torch.ones(3, device="cuda")
        x.sum().item()
        x.sum().item()


def test_max_per_step_on_the_cpu() -> None:
    with SyncCheck(device="cpu", max_per_step=1) as check:
        run(check, 3, item)
    with pytest.raises(SyncStalls, match="step 0 has 1"):  # noqa: SIM117
        with SyncCheck(device="cpu", max_per_step=0) as check:
            run(check, 3, item)


def test_lines_of_a_library_are_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "library.py").write_text("\ndef read(x):\n    return x.sum().item()\n")
    monkeypatch.syspath_prepend(str(folder))
    library = importlib.import_module("library")
    monkeypatch.delitem(importlib.sys.modules, "library")  # type: ignore[attr-defined]

    def code() -> None:
        library.read(torch.ones(3, device="cuda"))

    with SyncCheck(allow=["library.py:3"]):
        code()
    with pytest.raises(SyncStalls) as caught, SyncCheck(allow=["library.py:2"]):
        code()
    line = code.__code__.co_firstlineno + 1
    assert f"{HERE.name}:{line}: {head('.read()')} waits" in str(caught.value)
    assert "library.py:3" in str(caught.value)


def test_warmup() -> None:
    """The dry run is on from the beginning: the model has to be built on its GPU."""
    with SyncCheck(warmup=1) as check:
        run(check, 3)
    check = SyncCheck(warmup=1)
    with pytest.raises(SyncStalls, match="×1 per step"), check:
        run(check, 3, item)
    with pytest.raises(ValueError, match="nothing was checked"), SyncCheck(warmup=9):
        torch.ones(3, device="cuda")
    assert not torch.cuda.is_available()


# --- Launches ----------------------------------------------------------------------


def launches_of(steps: int = 1) -> int:
    with torchtraceap.dry_run() as dry:
        run(dry, steps)
    return dry.steps[-1].launches


def test_launches_of_a_check() -> None:
    most = launches_of(3)
    for where in ("in", "after"):
        for limit in (most, most - 1):
            check = SyncCheck(allow=MOVE, warmup=1)
            too_many = None
            try:
                with check:
                    run(check, 3)
                    if where == "in":
                        check.assert_launches(max_per_step=limit)
                if where == "after":
                    check.assert_launches(max_per_step=limit)
            except AssertionError as error:
                too_many = str(error)
            assert (too_many is None) == (limit == most)
            if too_many:
                assert f"launched {most} kernels, max_per_step = {limit}" in too_many


def test_launches_are_told_by_line() -> None:
    check = SyncCheck()
    with pytest.raises(AssertionError) as caught, check:
        x = torch.ones(8, device="cuda")
        for _ in range(5):
            x = x + 1
        check.assert_launches(max_per_step=1)
    lines = str(caught.value).splitlines()
    assert lines[0] == "step 0 launched 6 kernels, max_per_step = 1"
    assert [line.rpartition("  ")[2] for line in lines[1:]] == ["5 kernels", "1 kernel"]


def test_launches_cannot_be_told_on_the_cpu() -> None:
    check = SyncCheck(device="cpu")
    with check:
        torch.ones(3)
    with pytest.raises(SyncStalls, match="launches cannot be told: a run on the CPU"):
        check.assert_launches(max_per_step=99)


def test_the_words_for_launches() -> None:
    many = tuple((f"f.py:{n}", 100 - n) for n in range(10))
    verdict = LaunchVerdict(Launches((3, 1945, 1945), many, 4, problem=""), 1500)
    assert not verdict.ok
    assert verdict.headline == "step 5 launched 1,945 kernels, max_per_step = 1,500"
    assert verdict.details[0] == "  f.py:0  100 kernels"
    assert verdict.details[8:] == (
        "  2 more lines  183 kernels",
        "  kernels of each step: 3, 1,945, 1,945",
    )


# --- torchtraceap.dry_run ----------------------------------------------------------


def test_assertions_of_a_dry_run() -> None:
    most = launches_of(3)

    def only_at_first(loss: Any) -> None:
        if not seen:
            seen.append(loss.item())

    seen: list[float] = []
    with torchtraceap.dry_run() as dry:
        run(dry, 3, only_at_first)
    dry.assert_no_sync(after_step=1)
    dry.assert_no_sync(allow=["to", "item"])
    dry.assert_no_sync(max_count=3)
    dry.assert_no_sync(max_per_step=3)
    with pytest.raises(SyncStalls, match="_local_scalar_dense"):
        dry.assert_no_sync(allow=MOVE)
    dry.assert_launches(max_per_step=most, after_step=1)
    with pytest.raises(AssertionError, match=rf"step 1 launched {most} kernels"):
        dry.assert_launches(max_per_step=most - 1, after_step=1)


def test_assertions_of_nothing_are_refused() -> None:
    with torchtraceap.dry_run() as dry:
        run(dry, 2)
    with pytest.raises(ValueError, match=r"nothing follows step 2 .* called 2 times"):
        dry.assert_no_sync(after_step=2)
    with pytest.raises(ValueError, match="after_step must be at least 0"):
        dry.assert_launches(max_per_step=1, after_step=-1)
    with torchtraceap.dry_run() as dry:
        torch.ones(3)
    with pytest.raises(ValueError, match="put nothing on the GPU"):
        dry.assert_launches(max_per_step=1)
