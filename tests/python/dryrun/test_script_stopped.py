# SPDX-License-Identifier: BSD-3-Clause
"""test_script_stopped.py: where a program was ended, and what it never got to."""

from __future__ import annotations

import os

from .scripts import Write, run

_TRAINING = """\
import torch
def train(model, optimizer):
    for epoch in range(2):
        for batch in range(9):
            model(torch.ones(4, 4, device="cuda")).sum().backward()
            optimizer.step()
        print("after an epoch")
    print("trained")
def main():
    model = torch.nn.Linear(4, 4).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    try:
        train(model, optimizer)
    finally:
        print("done")
    with torch.no_grad():
        score = model.eval()
    def of_no_use(): pass
    if score:
        torch.save(model, "model.pt")
if __name__ == "__main__":
    main()
    print("bye")
"""


def test_lines_after_the_loop_of_its_steps_are_not_reached(script: Write) -> None:
    path = script(_TRAINING)
    found, ended = run(path, steps=3)
    assert ended.well and ended.stopped
    stopped = found.record.stopped
    assert stopped and stopped.line and stopped.line.line == 6
    name = os.path.basename(path)
    at = [rest.rpartition(f"{name}:")[2] for rest in stopped.not_reached]
    assert at == [
        "8 (print)",
        "16-20 (torch.no_grad, model.eval, torch.save)",
        "23 (print)",
    ]
    text = " ".join(found.summary().split())
    assert f"It was ended after 3 steps, at {stopped.line}; --steps 0 runs it" in text
    assert "Not reached: " in text and "16-20 (torch.no_grad" in text
    form = found.to_dict()["stopped"]
    assert form["after_steps"] == 3 and form["location"]["line"] == 6
    assert form["not_reached"] == list(stopped.not_reached)


def test_what_a_loop_may_have_come_to_before_is_not_named(script: Write) -> None:
    """The first call of one_step() ran to its end."""
    found, _ = run(
        script(
            "import torch\n"
            "model = torch.nn.Linear(4, 4).cuda()\n"
            "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "def one_step():\n"
            "    model(torch.ones(4, 4, device='cuda')).sum().backward()\n"
            "    optimizer.step()\n"
            "    print('stepped')\n"
            "while True:\n"
            "    one_step()\n"
            "    print('and again')\n"
        ),
        steps=2,
    )
    assert found.record.stopped and found.record.stopped.not_reached == ()
    assert "Not reached" not in found.summary()


def test_a_program_that_runs_to_its_end_is_not_stopped(script: Write) -> None:
    found, ended = run(script(_TRAINING))
    assert ended.stopped is None and found.to_dict()["stopped"] is None
    assert "--steps" not in found.summary()
