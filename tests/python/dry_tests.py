# SPDX-License-Identifier: BSD-3-Clause
"""dry_tests.py: tests of somebody else's project, run dry for want of a GPU, and what
has to become of each.

One file, though long: it is one project, run once, and each test is beside its
expected outcome.
"""

from __future__ import annotations

import importlib.util

from .other_project import PASSED, Table, failed, passed

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
STALLS = failed(f"{LINE}: *")

# --- What is found -----------------------------------------------------------------

FOUND = """
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
def test_marked(built): train.step(*built, log=[])

def test_plain(built):
    assert not on_gpu() and not next(built[0].parameters()).is_cuda

def test_blocks(built, no_sync_stalls):
    train.step(*built, log=[])
    with no_sync_stalls():
        train.step(*built)
    train.step(*built, log=[])
    with no_sync_stalls(allow=["item"]):
        train.step(*built, log=[])

def test_without_gpu(no_sync_stalls):
    with no_sync_stalls():
        torch.ones(3).sum().item()
"""
OF_FOUND: Table = {
    **passed("test_clean", "test_plain", "test_blocks"),
    "test_item": failed(
        f"{LINE}: * (aten::_local_scalar_dense) waits for *[[]no_sync_stalls[]]",
        f"  {LINE}  * (aten::_local_scalar_dense)  ×1 per step (value guessed)",
        "FAILED no_sync_stalls [[]dry run: operators that would wait for a GPU[]]",
        "Checked in a dry run: nothing ran on a GPU*",
    ),
    "test_marked": STALLS,
    "test_without_gpu": failed(
        "Nothing was checked: the code put nothing on the GPU, *[[]no_sync_stalls[]]",
        "NOT CHECKED no_sync_stalls [[]dry run: operators that would wait *",
        'To check code for the CPU *: device="cpu".',
    ),
}

LAUNCHES = """
def test_after(built, no_sync_stalls):
    with no_sync_stalls() as check:
        train.step(*built)
    check.assert_launches(max_per_step=10)
    check.assert_launches(max_per_step=1500)

@pytest.mark.no_sync_stalls
def test_marked_launches(built, no_sync_stalls):
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
"""
OF_LAUNCHES: Table = {
    "test_after": failed(
        "step 0 launched * kernels, max_per_step = 10 [[]no_sync_stalls[]]",
        "FAILED no_sync_stalls assert_launches(10) [[]dry run: *",
        "*  train.py:*  * kernels",
        "passed no_sync_stalls assert_launches(1500) [[]dry run: *",
    ),
    "test_marked_launches": failed("*  kernels of each step: *"),
    "test_cpu": failed(
        "*launches are unknown: a run on the CPU does not show *",
        "NOT CHECKED no_sync_stalls assert_launches(13) [[]no GPU: *",
    ),
    **passed("test_misplaced"),
}

# --- When the dry run is on --------------------------------------------------------

# What outlives the test is made, and ended, as without a dry run.
SCOPES = """
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
    assert not on_gpu() and sorted(ends) == ["class", "module"]

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

class TestScopes:
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
"""
OF_SCOPES: Table = passed(
    "TestScopes.test_it",
    *(f"test_{name}[{n}]" for name in ("each", "others_in_between") for n in (1, 2)),
)

UNITTEST = """
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
    def test_own(self):
        train.step(*self.built, log=[])
        self.fail("own")

@pytest.mark.no_sync_stalls
class TestAsync(Base, unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self): self.built = train.build()
    async def test_clean(self): train.step(*self.built)
    async def test_stalls(self): train.step(*self.built, log=[])
    async def test_dlpack(self): self.built[0].weight.detach().__dlpack__()
"""
OF_UNITTEST: Table = {
    "TestUnit.test_own": failed("E *AssertionError: own"),
    **{
        f"{name}.{test}": became
        for name in ("TestUnit", "TestAsync")
        for test, became in {
            "test_clean": PASSED,
            "test_stalls": failed(f"*{LINE}: *"),
            "test_dlpack": failed("*test_unittest.py:*it is unknown*"),
        }.items()
    },
}

# For the plugin of anyio.
ASYNC = """
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
async def test_async(later, log):
    train.step(*later, log=log)
"""
OF_ASYNC: Table = {"test_async[None]": PASSED, "test_async[log1]": STALLS}

# Whatever happens, the dry run ends with the test.
ENDS = """
@pytest.fixture
def broken():
    raise KeyError("own")

def test_setup(no_sync_stalls, broken): pass
@pytest.mark.no_sync_stalls
def test_error(built): train.step(*built); assert built[0].weight.sum().item() is None
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
"""
OF_ENDS: Table = {
    "test_setup": ("error", []),
    # Values are not those of a GPU: the error has to mention that.
    "test_error": failed("This test ran dry, as there is no GPU here: *"),
    "test_skip": ("skipped", []),
    "test_xfail": ("xfailed", []),
    **passed("test_raises", "test_last"),
}

# torch's own profiler records the CPU alone, trace_check what runs without a dry run.
INSIDE = """
from torch.profiler import ProfilerActivity

def test_dry_run_inside(no_sync_stalls):
    with torchtraceap.dry_run():
        pass

@pytest.mark.no_sync_stalls(device="cpu")
def test_dry_run_on_cpu():
    with torchtraceap.dry_run() as run:
        torch.ones(3, device="cuda") + 1
    run.assert_launches(max_per_step=2)

@pytest.mark.filterwarnings("ignore:Warning. Profiler clears")  # Before torch 2.13.
def test_profiler(built, no_sync_stalls, trace_check):
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with no_sync_stalls(), torch.profiler.profile(activities=activities) as prof:
        train.step(*built)
    assert prof.events()
    with trace_check() as check:
        assert not on_gpu()
        torch.ones(3).sum()
    assert on_gpu()
    check.max_step_us(60e6)
"""
OF_INSIDE: Table = {
    "test_dry_run_inside": failed(
        ">       with torchtraceap.dry_run():*",
        "E *a dry run is under way already, begun by no_sync_stalls, *",
    ),
    **passed("test_dry_run_on_cpu"),
    "test_profiler": (
        "passed",
        ["Of this run: torch's profiler recorded only the CPU*"],
    ),
}

# --- What cannot be run dry --------------------------------------------------------

REFUSED = """
@pytest.fixture
def data():
    return torch.ones(3, device="cuda").__dlpack__()  # line 14

def test_fixture(data, no_sync_stalls): pass

def test_block(no_sync_stalls):
    with no_sync_stalls():
        torch.ones(3, device="cuda").__dlpack__()  # line 20
    raise KeyError("not reached")

@pytest.mark.no_sync_stalls
def test_body():
    torch.ones(3, device="cuda").__dlpack__()  # line 25

def test_outside_of_a_block(no_sync_stalls):
    torch.ones(3, device="cuda").__dlpack__()  # line 28
"""


def refused(fixture: str, others: str) -> Table:
    """Return what becomes of these tests: of one without its fixture, and of others."""
    places = {"test_block": 20, "test_body": 25, "test_outside_of_a_block": 28}
    told = "*test_refused.py:{}: it is unknown: __dlpack__ needs memory *"
    return {
        "test_fixture": (fixture, [told.format(14)] if fixture == "error" else []),
        **{
            name: (others, [told.format(line)] if others != "skipped" else [])
            for name, line in places.items()
        },
    }


# --- Where a test is run, as it says itself or the command line does ----------------

WHERE = """
def test_where(no_sync_stalls):
    with no_sync_stalls(unknown="pass"):
        print("on_gpu", on_gpu())
        torch.ones(3, device=train.device()) + 1

@pytest.mark.no_sync_stalls(device="dry")
def test_where_marked():
    print("marked", on_gpu())
    torch.ones(3, device=train.device()) + 1

def test_where_block(no_sync_stalls):
    with no_sync_stalls(device="cpu"):
        print("block", on_gpu())
    print("outside", on_gpu())
"""


def where(dry: bool) -> Table:
    """Return what these tests print where the command line means a dry run, or not."""
    return {
        "test_where": ("passed", [f"on_gpu {dry}"]),
        "test_where_marked": ("passed", ["marked True"]),
        "test_where_block": ("passed", ["block False", f"outside {dry}"]),
    }


PARTS = {
    "found": (FOUND, OF_FOUND),
    "launches": (LAUNCHES, OF_LAUNCHES),
    "scopes": (SCOPES, OF_SCOPES),
    "unittest": (UNITTEST, OF_UNITTEST),
    "async": (ASYNC, OF_ASYNC),
    "ends": (ENDS, OF_ENDS),
    "inside": (INSIDE, OF_INSIDE),
    "refused": (REFUSED, refused("error", "failed")),
    "where": (WHERE, where(True)),
}
OPTIONS: tuple[str, ...] = ("-p", "anyio")
if importlib.util.find_spec("anyio") is None:
    del PARTS["async"]
    OPTIONS = ()
FILES = {
    "train.py": TRAIN,
    **{f"test_{name}.py": HEAD + tests for name, (tests, _) in PARTS.items()},
}
ALL: Table = {name: was for _, table in PARTS.values() for name, was in table.items()}
