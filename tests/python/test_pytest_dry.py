# SPDX-License-Identifier: BSD-3-Clause
"""test_pytest_dry.py: `no_sync_stalls` where there is no GPU: the dry run that a test
is in, as the tests of somebody else's project see it."""

from __future__ import annotations

import importlib.util
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

pytest_plugins = ["pytester"]

if torch.cuda.is_available():
    pytest.skip(
        "these are dry runs, for machines without a GPU", allow_module_level=True
    )

TRAIN = """
import torch

def device():
    return "cuda" if torch.cuda.is_available() else "cpu"

def build():
    model = torch.nn.Linear(64, 64).to(device())
    return model, torch.optim.AdamW(model.parameters())

def step(model, optimizer, log=None):
    loss = model(torch.randn(8, 64, device=device())).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if log is not None:
        log.append(loss.item())  # line 16
"""
HEAD = """
import pytest, unittest, torch, torchtraceap
import train

def on_gpu():
    return torch.cuda.is_available()

@pytest.fixture
def built():
    return train.build()

"""
LINE = "train.py:16"
STRICT = ["-Werror", "-Wignore:Module already imported so cannot be rewritten"]


@pytest.fixture
def project(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> pytest.Pytester:
    monkeypatch.setenv("COLUMNS", "200")
    pytester.makepyfile(train=TRAIN)
    pytester.syspathinsert()
    return pytester


def run(project: pytest.Pytester, tests: str, *options: str) -> pytest.RunResult:
    project.makepyfile(test_it=HEAD + tests)
    result = project.runpytest_inprocess(*STRICT, *options)
    assert not torch.cuda.is_available(), "a dry run is left behind"
    return result


# --- What is found -----------------------------------------------------------------


def test_a_model_from_a_fixture(project: pytest.Pytester) -> None:
    result = run(
        project,
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
            f"{LINE}: aten::_local_scalar_dense waits for *[[]no_sync_stalls[]]",
            f"  {LINE}  aten::_local_scalar_dense  ×1 per step (value guessed)",
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


def test_only_what_is_in_a_block_is_checked(project: pytest.Pytester) -> None:
    result = run(
        project,
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


def test_the_samplers(project: pytest.Pytester) -> None:
    notebooks = Path(__file__).resolve().parents[2] / "notebooks"
    project.makepyfile(sampler=(notebooks / "sampler.py").read_text(encoding="utf-8"))
    result = run(
        project,
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


def test_code_without_a_gpu_is_watched_on_the_cpu(project: pytest.Pytester) -> None:
    result = run(
        project,
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


def test_launches(project: pytest.Pytester) -> None:
    result = run(
        project,
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


# --- Where the dry run is on -------------------------------------------------------


def test_fixtures_of_the_test_and_of_more(project: pytest.Pytester) -> None:
    """What outlives the test is made, and ended, as without a dry run."""
    result = run(
        project,
        """
ends = []

def wide(scope):
    @pytest.fixture(scope=scope)
    def fixture():
        assert not on_gpu()
        yield torch.ones(2)
        assert not on_gpu()
        torch.ones(2)
        ends.append(scope)
    return fixture

of_module, of_class, of_session = map(wide, ("module", "class", "session"))

@pytest.fixture(scope="module", params=[1, 2])
def each(request):
    assert not on_gpu()
    yield request.param
    assert not on_gpu()

def setup_module():
    assert not on_gpu()

def teardown_module():
    assert not on_gpu() and sorted(ends) == ["class", "module", "session"][:2]

@pytest.fixture
def around():
    assert on_gpu()
    yield torch.ones(2, device="cuda")
    assert on_gpu()

@pytest.fixture
def before(request):
    assert on_gpu()
    value = request.getfixturevalue("of_module")
    assert on_gpu() and not value.is_cuda
    return value

class TestOne:
    @classmethod
    def setup_class(cls): assert not on_gpu()
    def setup_method(self): assert on_gpu()
    def teardown_method(self): assert on_gpu()
    def test_it(self, of_class, around, of_session, before, no_sync_stalls):
        assert on_gpu() and around.is_cuda
        with no_sync_stalls():
            around + 1

@pytest.mark.no_sync_stalls
def test_each(each, around):
    around + each

def test_others_in_between(each):
    assert not on_gpu()
""",
    )
    result.assert_outcomes(passed=5)


def test_unittest(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
class Base:
    @classmethod
    def setUpClass(cls): assert not on_gpu()
    @classmethod
    def tearDownClass(cls): assert not on_gpu()
    def tearDown(self): self.built[0].weight.sum().item()

@pytest.mark.no_sync_stalls
class TestUnit(Base, unittest.TestCase):
    def setUp(self): self.built = train.build()
    def test_clean(self): train.step(*self.built)
    def test_stalls(self): train.step(*self.built, log=[])
    def test_dlpack(self): self.built[0].weight.detach().__dlpack__()

@pytest.mark.no_sync_stalls
class TestAsync(Base, unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self): self.built = train.build()
    async def test_clean(self): train.step(*self.built)
    async def test_stalls(self): train.step(*self.built, log=[])
    async def test_dlpack(self): self.built[0].weight.detach().__dlpack__()
""",
    )
    result.assert_outcomes(passed=2, failed=4)
    for name in ("TestUnit", "TestAsync"):
        result.stdout.fnmatch_lines([f"FAILED *{name}::test_stalls - Failed: {LINE}*"])
        result.stdout.fnmatch_lines(
            [f"FAILED *{name}::test_dlpack - Failed: test_it.py:*it cannot be told*"]
        )


def test_async_functions(project: pytest.Pytester) -> None:
    if importlib.util.find_spec("anyio") is None:
        pytest.skip("anyio, whose plugin runs them, is not installed")
    result = run(
        project,
        """
@pytest.fixture
def anyio_backend(): return "asyncio"

@pytest.fixture
async def later():
    assert on_gpu()
    yield train.build()
    assert on_gpu()

@pytest.mark.anyio
@pytest.mark.no_sync_stalls
@pytest.mark.parametrize("log", [None, []])
async def test_it(later, log):
    train.step(*later, log=log)
""",
    )
    result.assert_outcomes(passed=1, failed=1)


def test_how_a_test_ends_otherwise(project: pytest.Pytester) -> None:
    """Whatever happens, the dry run ends with the test."""
    result = run(
        project,
        """
@pytest.fixture
def broken():
    raise KeyError("own")

def test_setup(no_sync_stalls, broken): pass
def test_then(): assert not on_gpu()
@pytest.mark.no_sync_stalls
def test_error(built): train.step(*built); assert built[0].weight.sum().item() is None
def test_after_that(): assert not on_gpu()
@pytest.mark.no_sync_stalls
def test_skip(): pytest.skip("not today")
@pytest.mark.xfail(raises=ZeroDivisionError)
@pytest.mark.no_sync_stalls
def test_xfail(): 1 / 0
def test_raises(built, no_sync_stalls):
    with pytest.raises(KeyError), no_sync_stalls():
        train.step(*built, log=[])
        raise KeyError
def test_last(): assert not on_gpu()
""",
    )
    result.assert_outcomes(passed=4, failed=1, errors=1, skipped=1, xfailed=1)
    # Values are not those of a GPU: whoever sees this error has to know.
    result.stdout.fnmatch_lines(
        ["*test_error*", "This test ran dry, as there is no GPU here: *"]
    )


def test_xdist(project: pytest.Pytester) -> None:
    if importlib.util.find_spec("xdist") is None:
        pytest.skip("pytest-xdist is not installed")
    project.makepyfile(
        test_it=HEAD
        + """
@pytest.mark.no_sync_stalls
@pytest.mark.parametrize("log", [None, None, [], []])
def test_it(built, log): train.step(*built, log=log)
"""
    )
    result = project.runpytest_subprocess("-n1")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["Checked in a dry run: *"])


# --- What cannot be run dry --------------------------------------------------------

DLPACK = """
@pytest.fixture
def data():
    return torch.ones(3, device="cuda").__dlpack__()  # line 14

def test_fixture(data, no_sync_stalls): pass

def test_block(no_sync_stalls):
    with no_sync_stalls():
        torch.ones(3, device="cuda").__dlpack__()  # line 20
    raise KeyError("not reached")

@pytest.mark.no_sync_stalls
def test_marked():
    torch.ones(3, device="cuda").__dlpack__()  # line 25

def test_outside_of_a_block(no_sync_stalls):
    torch.ones(3, device="cuda").__dlpack__()  # line 28
"""


@pytest.mark.parametrize(
    ("unknown", "outcomes"),
    [
        ("fail", {"failed": 3, "errors": 1}),
        ("skip", {"skipped": 4}),
        ("pass", {"passed": 3, "skipped": 1}),
    ],
)
def test_what_cannot_be_run_dry(
    project: pytest.Pytester, unknown: str, outcomes: dict[str, int]
) -> None:
    result = run(project, DLPACK, f"--traceap-unknown={unknown}", "-rA")
    result.assert_outcomes(**outcomes)
    result.stdout.fnmatch_lines(["Checks that could not be made, of 4 tests:"])
    for line in (14, 20, 25, 28):
        result.stdout.fnmatch_lines(
            [f"*test_it.py:{line}: it cannot be told: __dlpack__ needs memory *"]
        )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*During handling*")
    result.stdout.no_fnmatch_line("*not reached*")


def test_a_dry_run_inside_is_refused(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
def test_it(no_sync_stalls):
    with torchtraceap.dry_run():
        pass

@pytest.mark.no_sync_stalls(device="cpu")
def test_cpu():
    with torchtraceap.dry_run() as run:
        torch.ones(3, device="cuda") + 1
    run.assert_launches(max_per_step=2)
""",
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            ">       with torchtraceap.dry_run():*",
            "E *a dry run is under way already, begun by no_sync_stalls, *",
        ]
    )


def test_a_profiler_and_a_recording_inside(project: pytest.Pytester) -> None:
    """torch's own records the CPU alone, trace_check what runs without a dry run."""
    result = run(
        project,
        """
from torch.profiler import ProfilerActivity

def test_it(built, no_sync_stalls, trace_check):
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with no_sync_stalls(), torch.profiler.profile(activities=activities) as prof:
        train.step(*built)
    assert prof.events()
    with trace_check() as check:
        assert not on_gpu()
        torch.ones(3).sum()
    assert on_gpu()
    check.max_step_us(60e6)
""",
        "-rP",
    )
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["Of this run: torch's profiler recorded the CPU *"])
    assert "CUDA event" not in result.stderr.str()


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
    project: pytest.Pytester, options: tuple[str, ...], dry: bool
) -> None:
    result = run(project, WHERE, "-rP", *options)
    result.assert_outcomes(passed=3)
    for line in (f"on_gpu {dry}", "marked True", "block False", f"outside {dry}"):
        assert line in result.outlines
    if "--traceap-device=cuda" in options:
        result.stdout.fnmatch_lines(["*Nothing was checked: there is no GPU here. *"])


def test_wrong_devices(project: pytest.Pytester) -> None:
    result = run(
        project, "@pytest.mark.no_sync_stalls(device='gpu')\ndef test_it(): pass"
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["marker no_sync_stalls: device must be one of * but is 'gpu'"]
    )
    result = project.runpytest_inprocess("-otraceap_device=gpu")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: traceap_device: device must be one of *"])
