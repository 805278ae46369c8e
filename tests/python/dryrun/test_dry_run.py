# SPDX-License-Identifier: BSD-3-Clause
"""What a dry run tells: steps, waits with their lines, launches, memory, limits."""

from __future__ import annotations

import gc
import inspect
import json

import pytest
import torch
from torch import nn

import torchtraceap
from torchtraceap.base.errors import DryRunError, DryRunLimit
from torchtraceap.base.source_lines import display_path
from torchtraceap_dryrun.dry_run import DryRun, dry_run
from torchtraceap_dryrun.record import INTERRUPTED

from ..wait_heads import head
from .small_models import Transformer, batch, train_step

HERE = display_path(__file__)


def _here() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def test_a_wait_is_at_its_line_with_its_step_and_module() -> None:
    class Clamped(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.line = _here() + 1
            return x.clamp(max=x.max().item())

    net = nn.Sequential(nn.Linear(3, 3), Clamped())
    with torchtraceap.dry_run() as run:
        net.cuda()
        x = torch.ones(2, 3, device="cuda")
        for _ in range(3):
            run.step()
            net(x)
        run.step()
    items = [wait for wait in run.waits if wait.api == "aten::_local_scalar_dense"]
    (wait,) = items
    assert wait.line is not None
    assert (wait.line.file, wait.line.line) == (__file__, net[1].line)
    assert (wait.count, wait.steps, wait.per_step) == (3, 3, 1)
    assert wait.module == "Sequential.1"
    assert run.waits[0] is not wait and run.waits[0] == wait  # first: in most steps
    assert [step.waits for step in run.steps] == [2, 1, 1, 1]


def test_memory_is_what_lives_at_once() -> None:
    kib = 1024
    with torchtraceap.dry_run() as run:
        a = torch.empty(256 * kib, device="cuda")  # 1 MiB
        b = a * 2
        del a
        gc.collect()
        assert torch.cuda.memory_allocated() == kib * kib
        c = b + 1
        view = c.view(-1)[::2]
        del c
        assert torch.cuda.memory_allocated() == 2 * kib * kib
        del view, b
        assert torch.cuda.memory_allocated() == 0
    assert run.peak_bytes == 2 * kib * kib


def test_activations_live_until_backward() -> None:
    with torchtraceap.dry_run() as run:
        x = torch.ones(1024, 1024, device="cuda", requires_grad=True)
        y = x.exp().exp().exp().sum()  # each keeps its result, 4 MiB
        assert torch.cuda.memory_allocated() >= 16 * 2**20
        y.backward()
        del y
        assert torch.cuda.memory_allocated() == 8 * 2**20  # x and its gradient
    assert run.peak_bytes >= 20 * 2**20


def test_launches_by_step_module_and_line_add_up() -> None:
    with torchtraceap.dry_run() as run:
        net = Transformer().to("cuda")
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            train_step(net, optimizer, *(t.to("cuda") for t in batch(net)))
            run.step()
    first, second, third = run.steps
    assert second.launches == third.launches > 100
    assert first.copies > second.copies == 2
    for found in (run.by_module(2), run.by_line(2)):
        assert sum(t.launches for t in found.values()) == third.launches
        assert sum(t.device_us for t in found.values()) == pytest.approx(
            third.device_us
        )
    assert run.by_module(2)["Transformer.head"].launches >= 2
    assert run.launch_bound_us == pytest.approx(
        third.device_us / (third.launches + third.copies)
    )
    assert run.usual_step == third
    assert not run.unknown_ops


def test_a_loop_that_hangs_on_a_guess_is_ended() -> None:
    with torchtraceap.dry_run(max_ops=500) as run, pytest.raises(DryRunLimit) as error:
        done = torch.randn(1000, 1000, device="cuda").sum() > 1e9
        while not done:
            done = torch.randn(1000, 1000, device="cuda").sum() > 1e9
    line = next(wait.line for wait in run.waits[::-1] if wait.value == "guessed")
    message = str(error.value)
    assert f"ended at {HERE}:" in message and "after 500 operators (max_ops)" in message
    assert f'guessed value, read last at {line}, take values="all"' in message
    assert message.endswith("Results until then are in run.summary()")
    assert (
        "--max-ops" in error.value.in_options
        and "summary()" not in error.value.in_options
    )
    assert len(run.ops) == 500


def test_a_run_that_takes_too_long_is_ended() -> None:
    x = None
    with torchtraceap.dry_run(max_seconds=0.05), pytest.raises(DryRunLimit) as error:
        x = torch.ones(3, device="cuda")
        while True:
            x += 1
    message = str(error.value)
    assert "after 0.05 s and " in message and "raise max_seconds" in message
    assert "guessed" not in message and f"ended at {HERE}:" in message


def test_a_limit_that_is_caught_again_and_again_keeps_no_frame_of_before() -> None:
    def caught() -> int:
        with pytest.raises(DryRunLimit) as error:
            x.add_(1)
        return len(error.traceback)

    with torchtraceap.dry_run(max_ops=1) as run:
        x = torch.ones(3, device="cuda")
        assert len({caught() for _ in range(3)}) == 1
    assert run.limits.hit is not None and run.limits.hit.__traceback__ is None


def test_a_step_outside_of_the_block_is_an_error() -> None:
    run = torchtraceap.dry_run()
    with pytest.raises(DryRunError, match="before the dry run was entered"):
        run.step()
    with run:
        torch.ones(3, device="cuda")
        run.step()
        with (
            run.suspended(),
            pytest.raises(DryRunError, match="while the dry run was suspended"),
        ):
            run.step()
        run.step()
    with pytest.raises(DryRunError, match="after the dry run had ended, ") as error:
        run.step()
    assert "in the block of the run" in str(error.value)
    with torchtraceap.dry_run(), pytest.raises(DryRunError, match="had ended"):
        run.step()
    assert len(run.steps) == 2


def test_ctrl_c_ends_the_block_and_leaves_what_was_found() -> None:
    model = nn.Linear(2, 2)
    with pytest.raises(KeyboardInterrupt), torchtraceap.dry_run() as run:
        model.to("cuda")(torch.ones(1, 2, device="cuda")).sum().item()
        raise KeyboardInterrupt
    assert not torch.cuda.is_available()
    assert next(model.parameters()).device.type == "cpu"
    assert run.waits and INTERRUPTED in run.summary()
    assert run.to_dict()["notes"][0] == INTERRUPTED
    with torchtraceap.dry_run() as other:
        torch.ones(1, device="cuda")
    assert INTERRUPTED not in other.summary()


def test_options_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="H100 SXM"):
        torchtraceap.dry_run(gpu="Voodoo 2")
    with pytest.raises(TypeError, match="gpu must be a name"):
        torchtraceap.dry_run(gpu=None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="small"):
        torchtraceap.dry_run(values="some")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_ops"):
        torchtraceap.dry_run(max_ops=0)
    with pytest.raises(ValueError, match="max_seconds"):
        torchtraceap.dry_run(max_seconds=-1)
    with pytest.raises(TypeError, match="seed"):
        torchtraceap.dry_run(seed="x")  # type: ignore[arg-type]


def test_the_text_and_the_form_say_what_was_found() -> None:
    with torchtraceap.dry_run() as run:
        x = torch.randn(1000, 1000, device="cuda")
        for _ in range(2):
            if x.sum() > 0:
                x = x + 1
            run.step()
    line = next(wait.line for wait in run.waits)
    text = run.summary()
    assert "no time here was measured" in text and "H100 SXM" in text
    assert f"{line}  {head('`if t:`')}  ×2, 1 a step (value guessed)" in text
    assert "> if x.sum() > 0:" in text and "instead: keep the value" in text
    form = json.loads(json.dumps(run.to_dict()))
    assert form["origin"] == "dry-run"
    assert form["waits"][0]["count"] == 2
    assert form["waits"][0]["location"]["line"] == line.line


def test_a_run_without_waits_says_so() -> None:
    with torchtraceap.dry_run() as run:
        torch.ones(3, device="cuda") * 2
    assert "Nothing in it waits for the GPU." in run.summary()
    with torchtraceap.dry_run() as run:
        pass
    assert "Nothing was put on the GPU" in run.summary()


def test_the_same_tensors_and_lines_are_held_once() -> None:
    with dry_run() as run:
        data = torch.ones(300, 300, device="cuda")
        for _ in range(5):
            data + data
    adds = [op for op in run.ops if op.name == "aten::add"]
    assert len(adds) == 5
    assert len({id(op.stack) for op in adds}) == 1
    assert len({id(info) for op in adds for info in (*op.args, *op.outputs)}) == 1


_AFTER = "in no step, as it came after the last step(): "


def launch(count: int) -> None:
    for _ in range(count):
        torch.ones(8, device="cuda")


def said(run: DryRun) -> str:
    notes = " ".join(run.to_dict()["notes"])
    summary = " ".join(run.summary().split())
    assert (_AFTER in summary) == (_AFTER in notes)
    return notes


def test_what_is_in_no_step_is_said() -> None:
    with dry_run() as run:
        launch(1)
        run.step()
        launch(2)
        torch.ones((), device="cuda").item()
    assert f"{_AFTER}4 operators and 1 wait" in said(run)
    with dry_run() as run:
        for _ in range(2):
            launch(3)
            run.step()
    assert _AFTER not in said(run)
    with dry_run() as run:  # Without steps there are no numbers by step.
        launch(3)
    assert _AFTER not in said(run)
