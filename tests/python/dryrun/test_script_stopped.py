# SPDX-License-Identifier: BSD-3-Clause
"""test_script_stopped.py: where a program was ended that had made its steps."""

from __future__ import annotations

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


def test_the_line_is_told_at_which_it_had_made_its_steps(script: Write) -> None:
    found, ended = run(script(_TRAINING), steps=3)
    assert ended.well and ended.stopped
    stopped = found.record.stopped
    assert stopped and stopped.line and stopped.line.line == 6
    text = " ".join(found.summary().split())
    assert f"It was ended after 3 steps, at {stopped.line}; --steps 0 runs it" in text
    form = found.to_dict()["stopped"]
    assert form["after_steps"] == 3 and form["location"]["line"] == 6


def test_a_program_that_runs_to_its_end_is_not_stopped(script: Write) -> None:
    found, ended = run(script(_TRAINING))
    assert ended.stopped is None and found.to_dict()["stopped"] is None
    assert "--steps" not in found.summary()
