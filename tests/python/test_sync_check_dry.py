# SPDX-License-Identifier: BSD-3-Clause
"""test_sync_check_dry.py: without a GPU and without pytest: what SyncCheck runs dry,
what it finds, how much it lets pass, and how that ends; the assertions of
`torchtraceap.dry_run`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.checking.sync_check import SyncCheck, SyncStalls
from torchtraceap.waits.verdict import Launches, LaunchVerdict

from .wait_heads import head

torch = pytest.importorskip("torch")

if torch.cuda.is_available():
    pytest.skip(
        "these are dry runs, for machines without a GPU", allow_module_level=True
    )

HERE = Path(__file__).resolve()


MOVE = ["to"]  # The model's way to the GPU, once, is not what these are about.


def device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def train(steps: int, after: Callable[[Any], object] = lambda loss: None) -> Any:
    """Yields after each step of a small model."""
    model = torch.nn.Linear(64, 64).to(device())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        loss = model(torch.randn(8, 64, device=device())).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        after(loss)
        yield


def run(check: Any, *args: Any) -> None:
    for _ in train(*args):
        check.step()


# In this file, which is the one that a finding then names.
def item(loss: Any) -> None:
    loss.item()


LINE = item.__code__.co_firstlineno + 1


# --- What is checked on what -------------------------------------------------------


def test_code_that_uses_the_gpu_is_run_dry() -> None:
    check = SyncCheck(allow=MOVE)
    with pytest.raises(SyncStalls) as caught, check:
        run(check, 3, item)
    assert not torch.cuda.is_available()
    text = str(caught.value)
    place = f"{HERE.name}:{LINE}  {head('.item()')}  ×1 per step (value guessed)"
    assert place in text
    assert "> loss.item()" in text
    assert "instead: keep the value on the device" in text
    assert "Checked in a dry run: nothing ran on a GPU" in text
    assert "3 values that were read are guesses" in text
    assert "Not known here: times; waits of the driver and of NCCL" in text
    assert f"allow=['{HERE.name}:{LINE}']" in text
    assert check.verdict is not None and check.verdict.observation.mode.startswith(
        "dry"
    )


@pytest.mark.parametrize("name", ["auto", "dry"])
def test_code_that_puts_nothing_on_the_gpu_is_undetermined(name: Any) -> None:
    """As with a model of a fixture that outlives the test: never a silent pass."""
    data = torch.ones(3)
    with pytest.raises(SyncStalls) as caught, SyncCheck(device=name) as check:
        data.cpu()
    assert check.verdict is not None and not check.verdict.told
    text = str(caught.value)
    assert "Nothing was checked: the code put nothing on the GPU" in text
    assert "build the model in the test" in text and 'device="cpu"' in text
    with SyncCheck(device="cpu"):
        data.cpu()


def test_tensors_of_the_host_are_known_to_be_the_hosts() -> None:
    """What the watch on the CPU cannot tell."""
    with SyncCheck(allow=MOVE) as check:
        run(check, 2, lambda loss: torch.ones(3).sum().item())
    with pytest.raises(SyncStalls), SyncCheck(device="cpu"):
        for _ in train(2, lambda loss: torch.ones(3).sum().item()):
            pass


def test_copies_are_seen() -> None:
    """Nor that."""

    def code() -> None:
        x = torch.ones(4096, device=device())
        x.cpu()
        x.tolist()

    with pytest.raises(SyncStalls) as caught, SyncCheck():
        code()
    first = code.__code__.co_firstlineno
    for line, call in ((2, ".cpu()"), (3, ".tolist()")):
        place = f":{first + line}  {head(call, 'Tensor.cpu')}  ×1"
        assert place in str(caught.value)
    with SyncCheck(device="cpu"):
        code()


def test_each_device_by_name() -> None:
    with (
        pytest.raises(SyncStalls, match="there is no GPU here"),
        SyncCheck(device="cuda"),
    ):
        pass
    with pytest.raises(SyncStalls, match="_local_scalar"), SyncCheck(device="dry"):
        torch.ones(3, device="cuda").sum().item()
    with SyncCheck(device="cpu"):
        assert not torch.cuda.is_available()
    with pytest.raises(ValueError, match=r"device must be one of .*, but is 'gpu'"):
        SyncCheck(device="gpu")  # type: ignore[arg-type]


def test_a_dry_run_around_it_is_the_one_that_counts() -> None:
    """Only what is in the block is checked."""
    with torchtraceap.dry_run() as dry:
        x = torch.ones(4, device="cuda")
        x.sum().item()
        with SyncCheck():
            x + 1
        with pytest.raises(SyncStalls, match="×1"), SyncCheck():
            x.sum().item()
        assert torch.cuda.is_available()
    assert len(dry.syncs) == 2


# --- What cannot be run, and the end of all ----------------------------------------


def test_code_that_cannot_run_dry_is_undetermined() -> None:
    with pytest.raises(SyncStalls) as caught, SyncCheck():
        torch.ones(3, device="cuda").__dlpack__()
    line = test_code_that_cannot_run_dry_is_undetermined.__code__.co_firstlineno + 2
    text = f"{HERE.name}:{line}: it is unknown: __dlpack__ needs memory"
    assert text in str(caught.value)
    assert not torch.cuda.is_available()


def test_an_error_of_the_code_is_its_own() -> None:
    with pytest.raises(KeyError), SyncCheck():
        torch.ones(3, device="cuda").sum().item()
        raise KeyError
    assert not torch.cuda.is_available()


def test_suspended() -> None:
    """Meanwhile all is as without a dry run, whatever mode was entered since."""
    from torch.utils.flop_counter import FlopCounterMode

    with torchtraceap.dry_run() as dry:
        x = torch.ones(3, device="cuda")
        with FlopCounterMode(display=False), dry.suspended():
            with dry.suspended():
                pass
            assert not torch.cuda.is_available()
            host = torch.ones(3)
            assert host.sum().item() == 3
            with pytest.raises((AssertionError, RuntimeError)):
                torch.ones(3, device="cuda")
        before = len(dry.record.entries)
        assert torch.cuda.is_available()
        with torch.autocast("cuda", torch.bfloat16):
            y = torch.ones(3, 3, device="cuda") @ torch.ones(3, 3, device="cuda")
        assert y.dtype == torch.bfloat16
        x.sum().item()
        assert x.device.type == "cuda"
    names = [op.name for op in dry.ops[before:]]
    assert "aten::mm" in names and "aten::_local_scalar_dense" in names
    assert len(dry.syncs) == 1
    assert not torch.cuda.is_available()


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


def test_launches_are_reported_by_line() -> None:
    check = SyncCheck()
    with pytest.raises(AssertionError) as caught, check:
        x = torch.ones(8, device="cuda")
        for _ in range(5):
            x = x + 1
        check.assert_launches(max_per_step=1)
    lines = str(caught.value).splitlines()
    assert lines[0] == "step 0 launched 6 kernels, max_per_step = 1"
    assert [line.rpartition("  ")[2] for line in lines[1:]] == ["5 kernels", "1 kernel"]


def test_launches_are_unknown_on_the_cpu() -> None:
    check = SyncCheck(device="cpu")
    with check:
        torch.ones(3)
    with pytest.raises(SyncStalls, match="launches are unknown: a run on the CPU"):
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
