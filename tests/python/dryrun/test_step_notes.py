# SPDX-License-Identifier: BSD-3-Clause
"""test_step_notes.py: what numbers by step hang on is said with them."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
if torch.cuda.is_available():
    pytest.skip("a GPU is here", allow_module_level=True)

from torchtraceap.dryrun.dry_run import DryRun, dry_run  # noqa: E402

_AFTER = "in no step, as it came after the last step(): "


def launch(count: int) -> None:
    for _ in range(count):
        torch.ones(8, device="cuda")


def said(run: DryRun) -> str:
    notes = " ".join(run.to_dict()["notes"])
    summary = " ".join(run.summary().split())
    assert (_AFTER in summary) == (_AFTER in notes)
    return notes


def test_nothing_is_said_where_all_is_in_steps_or_nothing() -> None:
    with dry_run() as run:
        launch(3)
        run.step()
        launch(3)
        run.step()
    assert _AFTER not in said(run)
    with dry_run() as run:  # Without steps there are no numbers by step.
        launch(3)
    assert _AFTER not in said(run)


def test_what_is_in_no_step_is_said() -> None:
    with dry_run() as run:
        launch(1)
        run.step()
        launch(2)
        torch.ones((), device="cuda").item()
    assert f"{_AFTER}4 operators and 1 wait" in said(run)
