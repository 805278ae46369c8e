# SPDX-License-Identifier: BSD-3-Clause
"""test_pytest_dry.py: `no_sync_stalls` where there is no GPU: what a dry run finds, and
how it is asked for, as the tests of somebody else's project see it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from .dry_project import LINE, run  # noqa: E402

pytest_plugins = ["pytester"]

if torch.cuda.is_available():
    pytest.skip(
        "these are dry runs, for machines without a GPU", allow_module_level=True
    )


# --- What is found -----------------------------------------------------------------


def test_a_model_from_a_fixture(dry_project: pytest.Pytester) -> None:
    result = run(
        dry_project,
        """
def test_clean(no_sync_stalls, built):
    assert next(built[0].parameters()).is_cuda
    with no_sync_stalls() as check:
        for _ in range(2):
            train.step(*built)
            check.step()

def test_item(built, no_sync_stalls):
    with no_sync_stalls() as check:
        for _ in range(3):
            train.step(*built, log=[])
            check.step()

@pytest.mark.no_sync_stalls
def test_marked(built):
    train.step(*built, log=[])

def test_plain(built):
    assert not on_gpu() and not next(built[0].parameters()).is_cuda
""",
        "--junitxml=out.xml",
    )
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            "torchtraceap: 3 tests use its checks; no GPU here: *runs tests dry*",
            f"{LINE}: * (aten::_local_scalar_dense) waits for *[[]no_sync_stalls[]]",
            f"  {LINE}  * (aten::_local_scalar_dense)  ×1 per step (value guessed)",
            "FAILED no_sync_stalls [[]dry run: operators that would wait for a GPU[]]",
            "*> log.append(loss.item())  # line 16",
            "*.item()*one value is read back to Python",
            "*instead: keep the value on the device*",
            "Checked in a dry run: nothing ran on a GPU*",
            "Not known here: times; waits of the driver and of NCCL*",
            "3 values that were read are guesses*",
            f"To tolerate a line: allow=['{LINE}']",
            f"FAILED test_it.py::test_item - Failed: {LINE}*",
            f"FAILED test_it.py::test_marked - Failed: {LINE}*",
        ]
    )
    cases = {c.attrib["name"]: c for c in ET.parse("out.xml").iter("testcase")}
    found = {
        p.attrib["name"]: p.attrib["value"] for p in cases["test_item"].iter("property")
    }
    assert found["torchtraceap.stalls"] == "3"
    assert found["torchtraceap.mode"].startswith("dry run")


def test_only_what_is_in_a_block_is_checked(dry_project: pytest.Pytester) -> None:
    result = run(
        dry_project,
        """
def test_blocks(built, no_sync_stalls):
    train.step(*built, log=[])
    with no_sync_stalls():
        train.step(*built)
    train.step(*built, log=[])
    with no_sync_stalls(allow=["item"]):
        train.step(*built, log=[])
    with no_sync_stalls(allow=["train.py:16"], warmup=1) as check:
        train.step(*built, log=[])
        check.step()
        train.step(*built, log=[])
    with no_sync_stalls(max_per_step=1) as check:
        for _ in range(3):
            train.step(*built, log=[])
            check.step()
""",
    )
    result.assert_outcomes(passed=1)


def test_the_samplers(dry_project: pytest.Pytester) -> None:
    notebooks = Path(__file__).resolve().parents[2] / "notebooks"
    dry_project.makepyfile(
        sampler=(notebooks / "sampler.py").read_text(encoding="utf-8")
    )
    result = run(
        dry_project,
        """
import sampler

@pytest.mark.parametrize("form", [sampler.sample_by_mask, sampler.sample_static])
@pytest.mark.no_sync_stalls
def test_draw(form):
    form(*torch.randn(2, 8, 32000, device=train.device()), 50)
""",
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["FAILED *[[]sample_by_mask[]] - Failed: sampler.py:*"])


def test_code_without_a_gpu_is_watched_on_the_cpu(dry_project: pytest.Pytester) -> None:
    result = run(
        dry_project,
        """
def test_it(no_sync_stalls):
    with no_sync_stalls():
        torch.ones(3).sum().item()
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "FAILED no_sync_stalls [[]no GPU: operators that would wait for one[]]",
            "The code put nothing on a GPU, though a dry run offered one*",
        ]
    )


def test_launches(dry_project: pytest.Pytester) -> None:
    result = run(
        dry_project,
        """
def test_after(built, no_sync_stalls):
    with no_sync_stalls() as check:
        train.step(*built)
    check.assert_launches(max_per_step=10)
    check.assert_launches(max_per_step=1500)

def test_inside(built, no_sync_stalls):
    with no_sync_stalls() as check:
        check.assert_launches(max_per_step=11)
        train.step(*built, log=[])

@pytest.mark.no_sync_stalls
def test_marked(built, no_sync_stalls):
    for _ in range(2):
        train.step(*built)
        no_sync_stalls.step()
    no_sync_stalls.assert_launches(max_per_step=12)

@pytest.mark.no_sync_stalls(device="cpu")
def test_cpu(no_sync_stalls):
    no_sync_stalls.assert_launches(max_per_step=13)

def test_misplaced(no_sync_stalls, trace_check):
    with trace_check() as check:
        with pytest.raises(RuntimeError, match="check.max_kernels_per_step"):
            no_sync_stalls.assert_launches(max_per_step=14)
    check.max_step_us(60e6)
    with pytest.raises(RuntimeError, match="of code that is being watched, and none"):
        no_sync_stalls.assert_launches(max_per_step=14)
    with no_sync_stalls(unknown="pass"):
        pass
""",
    )
    result.assert_outcomes(passed=1, failed=4)
    result.stdout.fnmatch_lines(
        [
            "step 0 launched * kernels, max_per_step = 10 [[]no_sync_stalls[]]",
            "FAILED no_sync_stalls assert_launches(10) [[]dry run: *",
            "*  train.py:*  * kernels",
            "passed no_sync_stalls assert_launches(1500) [[]dry run: *",
            "step 0 launched * kernels, max_per_step = 11 [[]no_sync_stalls[]]",
            "*  kernels of each step: *",
            "NOT CHECKED no_sync_stalls assert_launches(13) [[]no GPU: *",
            "*launches cannot be told: a run on the CPU does not show *",
            "  test_it.py::test_cpu: no_sync_stalls assert_launches(13)",
            f"FAILED *::test_inside - Failed: {LINE}: * and 1 more failing check",
        ]
    )


# --- --traceap-device --------------------------------------------------------------

WHERE = """
def test_fixture(no_sync_stalls):
    with no_sync_stalls(unknown="pass"):
        print("on_gpu", on_gpu())
        torch.ones(3, device=train.device()) + 1

@pytest.mark.no_sync_stalls(device="dry")
def test_marked():
    print("marked", on_gpu())
    torch.ones(3, device=train.device()) + 1

def test_block(no_sync_stalls):
    with no_sync_stalls(device="cpu"):
        print("block", on_gpu())
    print("outside", on_gpu())
"""


@pytest.mark.parametrize(
    ("options", "dry"),
    [
        ((), True),
        (("--traceap-device=auto",), True),
        (("--traceap-device=dry",), True),
        (("--traceap-device=cpu",), False),
        (("--traceap-device=cuda",), False),
        (("-otraceap_device=cpu",), False),
        (("-otraceap_device=cpu", "--traceap-device=dry"), True),
    ],
)
def test_the_closest_device_counts(
    dry_project: pytest.Pytester, options: tuple[str, ...], dry: bool
) -> None:
    result = run(dry_project, WHERE, "-rP", *options)
    result.assert_outcomes(passed=3)
    for line in (f"on_gpu {dry}", "marked True", "block False", f"outside {dry}"):
        assert line in result.outlines
    if "--traceap-device=cuda" in options:
        result.stdout.fnmatch_lines(["*Nothing was checked: there is no GPU here. *"])


def test_wrong_devices(dry_project: pytest.Pytester) -> None:
    result = run(
        dry_project, "@pytest.mark.no_sync_stalls(device='gpu')\ndef test_it(): pass"
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["marker no_sync_stalls: device must be one of * but is 'gpu'"]
    )
    result = dry_project.runpytest_inprocess("-otraceap_device=gpu")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: traceap_device: device must be one of *"])
