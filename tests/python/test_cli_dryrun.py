# SPDX-License-Identifier: BSD-3-Clause
"""test_cli_dryrun.py: `torchtraceap dryrun`, as users run it."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap import cli
from torchtraceap.views.outputs import OUTPUTS
from torchtraceap_dryrun.outcome import Outcome
from torchtraceap_dryrun.record import INTERRUPTED
from torchtraceap_dryrun.script import child

from .conftest import python

torch = pytest.importorskip("torch")
if torch.cuda.is_available():
    pytest.skip("a GPU is here", allow_module_level=True)

Program = Callable[..., "tuple[int, str, str]"]

# One wait in a step, which begins with the second one's: loss.item().
_TRAIN = """\
import argparse
import torch
from torch.cuda import get_device_name

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--gpu")
options = parser.parse_args()
print("training on", get_device_name())
model = torch.nn.Linear(4, 4, device="cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.ones(2, 4, device="cuda")
for epoch in range(options.epochs):
    loss = model(x).sum()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())

def train_step():
    model(x).sum().backward()
    optimizer.step()
"""
_WAITS_AT = _TRAIN.split("\n").index("    print(epoch, loss.item())") + 1


@pytest.fixture
def dryrun(here: Path, capfd: pytest.CaptureFixture[str]) -> Program:
    with torchtraceap.dry_run():  # What it loads is loaded once, and not by each child.
        pass
    (here / "train.py").write_text(_TRAIN)

    def run(*arguments: object) -> tuple[int, str, str]:
        try:
            code = cli.main(["dryrun", *map(str, arguments)])
        except SystemExit as end:  # as argparse does
            code = int(str(end.code))
        return code, *capfd.readouterr()

    return run


def test_says_where_a_script_waits(dryrun: Program) -> None:
    code, out, err = dryrun("train.py")
    assert (code, err) == (0, "")
    assert out.startswith("training on NVIDIA H100 80GB HBM3\n0 ")
    assert "Dry run as if on one H100 SXM: 3 steps." in out
    assert re.search(rf"train\.py:{_WAITS_AT}  .* \(aten::_local_scalar_dense\)", out)
    assert "a step ends with SGD.step()" in " ".join(out.split())
    assert not re.search("^3 ", out, re.MULTILINE)  # The program was ended.


def test_arguments_go_to_the_script(dryrun: Program) -> None:
    code, out, _ = dryrun("--steps", 0, "--gpu", "T4", "train.py", "--epochs", 5)
    assert code == 0 and "on Tesla T4\n" in out and "one T4: 5 steps." in out
    code, out, err = dryrun("train.py", "--steps", 2)
    assert code == 2 and "unrecognized arguments: --steps 2" in err
    assert "The script received --steps: put torchtraceap's options before it" in err


def test_function_is_a_step(dryrun: Program) -> None:
    code, out, _ = dryrun(
        "--step", "train_step", "--steps", 4, "train.py", "--epochs=1"
    )
    assert code == 0 and "4 steps." in out and "each call of train_step()" in out


def test_module(dryrun: Program, tmp_path: Path) -> None:
    (tmp_path / "as_module.py").write_text(_TRAIN)
    code, out, _ = dryrun("-m", "as_module", "--epochs", "2")
    assert code == 0 and "2 steps." in out


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (["--max-syncs", 1], 0),
        (["--max-syncs", 0], 1),
        (["--max-launches", 1000], 0),
        (["--max-launches", 2], 1),
        (["--max-syncs", 0, "--warmup", 9], 2),
    ],
)
def test_limits(dryrun: Program, limits: list[object], code: int) -> None:
    found, out, err = dryrun("-q", *limits, "train.py")
    assert found == code and "Dry run" not in out
    if code == 1 and "--max-syncs" in limits:
        assert err == (
            "torchtraceap: step 1 has 1 wait, and --max-syncs 0 was given: "
            f"train.py:{_WAITS_AT} (1)\n"
        )
    elif code == 1:
        assert "launches, and --max-launches 2 was given: train.py:" in err
    elif code == 2:
        assert "Use more --steps, or less --warmup" in err


def test_json_alone_is_on_standard_output(dryrun: Program, tmp_path: Path) -> None:
    of_c = "import os; os.write(1, b'of C'); "
    (tmp_path / "train.py").write_text(of_c + _TRAIN)
    code, out, err = dryrun("--json", "-", "train.py")
    form = json.loads(out)
    assert code == 0 and "training on" in err and "of C" in err
    assert form["origin"] == "dry-run" and len(form["steps"]) == 3
    assert form["waits"][0]["location"]["line"] == _WAITS_AT
    code, _, err = dryrun("--json", "train.py", "train.py")
    assert code == 2 and "would overwrite train.py" in err
    code, _, _ = dryrun("-q", "--json", "found.json", "train.py")
    assert json.loads(Path("found.json").read_text()) == form


def test_every_form_is_written(dryrun: Program, tmp_path: Path) -> None:
    forms = [o for o in OUTPUTS if o.name not in ("json", "review")]
    wanted = [(f"--{form.name}", tmp_path / f"out{form.suffix}{i}") for i, form in
              enumerate(forms)]  # fmt: skip
    trace = tmp_path / "trace.json"
    code, _, err = dryrun(
        "-q", "--trace-out", trace, *(word for pair in wanted for word in pair),
        "--host-us", 20, "train.py",
    )  # fmt: skip
    assert (code, err) == (0, "")
    for form, (_, target) in zip(forms, wanted, strict=True):
        assert os.listdir(target) if not form.suffix else target.stat().st_size > 500
    report = torchtraceap.analyze(trace)
    assert "assuming 20 µs of host time" in report.summary()
    assert f"train.py:{_WAITS_AT}" in report.summary()


def test_values_can_be_worked_out(dryrun: Program, tmp_path: Path) -> None:
    code = (
        "import torch\ntorch.manual_seed(3)\n"
        "model = torch.nn.Linear(64, 256).to(D)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "x = torch.randn(64, 64).to(D)\n"
        "for _ in range(3):\n"
        "    loss = model(x).square().mean()\n"
        "    loss.backward(); optimizer.step(); print(loss.item())\n"
    )
    (tmp_path / "large.py").write_text(f"D = 'cuda'\n{code}")
    plain = io.StringIO()
    with redirect_stdout(plain):
        exec(code, {"D": "cpu"})
    _, out, _ = dryrun("-q", "--values", "all", "--steps", 0, "large.py")
    assert [float(loss) for loss in out.split()] == pytest.approx(
        [float(loss) for loss in plain.getvalue().split()], rel=1e-5
    )
    _, out, _ = dryrun("large.py")
    assert "value guessed" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nope.py"], "there is no script nope.py"),
        (["--gpu", "H1000", "train.py"], "no GPU 'H1000'; known are T4"),
        (["--step", "train_stp", "train.py", "--epochs=1"], "did you mean train_step"),
        (["--step", "f", "-m", "train"], "--step FUNCTION takes a file"),
        (["--step", "f", "--steps", "0", "train.py"], "--steps of 1 or more"),
        (["--host-us", "0", "train.py"], "not a time above 0"),
        (["--max-ops", "40", "train.py"], ", after 40 operators (--max-ops). "),
        (["--max-ops", "40", "train.py"], "take fewer --steps, or raise --max-ops\n"),
        (["--max-seconds", "0.1", "hangs.py"], " after 0.1 s and 0 op"),
        (["--html", "no/such/f.html", "train.py"], "cannot write no/such/f.html"),
        (["cpu.py"], "would have run on a GPU"),
        (["exits.py"], "exits.py ended itself with exit code 3"),
        (["raises.py"], "ZeroDivisionError: division by zero\n"),
        ([], "are required: SCRIPT"),
    ],
)
def test_what_goes_wrong_is_said(
    dryrun: Program, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "cpu.py").write_text("import torch\ntorch.ones(3) + 1\n")
    (tmp_path / "exits.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "raises.py").write_text("1 / 0\n")
    (tmp_path / "hangs.py").write_text("while True: pass\n")
    code, _, err = dryrun(*arguments)
    assert code == 2 and message in err
    assert f"torchtraceap{os.sep}" not in err  # no line of ours in a traceback
    assert "max_ops" not in err  # as Python has it
    assert not torch.cuda.is_available()


def test_an_error_comes_after_what_was_found(dryrun: Program, tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(
        "import torch\ntorch.ones(3, device='cuda').sum().item()\nraise ValueError\n"
    )
    code, out, err = dryrun("late.py")
    assert code == 2 and "late.py:2" in out
    assert err.startswith("Traceback (most recent call last):\n")
    assert err.endswith("torchtraceap: the program failed, see above\n")


@pytest.mark.parametrize("early", [False, True])
def test_ctrl_c_tells_what_was_found(
    dryrun: Program, tmp_path: Path, early: bool
) -> None:
    wait = "" if early else "torch.ones(3, device='cuda').sum().item()"
    (tmp_path / "stops.py").write_text(f"import torch\n{wait}\nraise KeyboardInterrupt")
    files = ["--json", "found.json", "--trace-out", "trace.json"]
    limit = ["--max-syncs", "0", "--warmup", "0"]
    code, out, err = dryrun(*files, *limit, "stops.py")
    assert code == 130
    if early:
        assert out == "" and not Path("found.json").exists()
        assert err == (
            "torchtraceap: interrupted: nothing had been put on the GPU, so there are "
            "no results\n"
        )
        return
    assert "stops.py:2" in out and INTERRUPTED in out
    assert err == ("torchtraceap: interrupted: the results cover the run until then\n")
    form = json.loads(Path("found.json").read_text())
    assert form["notes"] == [INTERRUPTED] and form["waits"][0]["location"]["line"] == 2
    assert torchtraceap.analyze("trace.json").findings


def test_ctrl_c_while_files_are_written_is_said(
    dryrun: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(Outcome, "trace", interrupted)
    code, _, err = dryrun("-q", "--html", "found.html", "train.py")
    assert code == 130 and not Path("found.html").exists()
    assert "interrupted before all results were printed and written" in err


def test_what_had_to_be_broken_off_is_said(
    dryrun: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "GRACE_S", 0.1)
    left = "import threading\nthreading.Thread(target=threading.Event().wait).start()\n"
    (tmp_path / "left.py").write_text(left + _TRAIN)
    code, out, err = dryrun("left.py")
    assert code == 0 and "3 steps." in out
    assert err.startswith(
        "torchtraceap: left.py was asked to end: it did not end in 0.1"
    )


def test_only_the_child_loads_torch() -> None:
    code = (
        "import sys\nfrom torchtraceap import cli\n"
        "from torchtraceap_dryrun.script import ending\n"
        "try: cli.main(['dryrun', '--help'])\nexcept SystemExit: pass\n"
        "print('torch' in sys.modules)"
    )
    done = python("-c", code)
    assert done.stdout.endswith("False\n") and "SCRIPT ..." in done.stdout
