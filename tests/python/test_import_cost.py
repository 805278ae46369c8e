# SPDX-License-Identifier: BSD-3-Clause
"""test_import_cost.py: who does not use torch does not wait for it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from .conftest import python

TRACE = "h100-vit-nsfw-inference.json.gz"
HEAVY = {"torch", "numpy", "pandas", "rich"}


@pytest.mark.parametrize(
    "module", ["torchtraceap", "torchtraceap.cli", "torchtraceap.pytest_plugin"]
)
def test_import_loads_nothing_heavy(module: str) -> None:
    out = python("-c", f"import sys, {module}; print(*sys.modules)", check=True)
    assert HEAVY.isdisjoint(out.stdout.split())


def test_the_program_loads_no_extra_to_start() -> None:
    """Ray alone takes two seconds."""
    code = "import sys, torchtraceap.cli.program as p; p.make_parser().format_help()"
    out = python("-c", f"{code}; print(*sys.modules)", check=True)
    extras = {"duckdb", "fsspec", "mcp", "openai", "pyarrow", "ray", "torch"}
    assert extras.isdisjoint(out.stdout.split())


SCORES = """
import sys
if sys.argv[2] == "first":
    import torch
import torchtraceap
report = torchtraceap.analyze(sys.argv[1])
assert report.detection.run, report.detection.why
print([window.cpu_probability for window in report.windows], "torch" in sys.modules)
import torch
assert torch.ones(3).sum() == 3
"""


def test_the_detector_needs_no_import_of_a_cpu_build_of_torch(data: Path) -> None:
    torch = pytest.importorskip("torch")
    if torch.version.cuda or torch.version.hip:
        pytest.skip("a build for GPUs is imported")

    def scores(when: str) -> tuple[str, str]:
        environment = os.environ | {"TORCHTRACEAP_DETECTOR": "auto"}
        ran = python("-c", SCORES, data / TRACE, when, env=environment, check=True)
        probabilities, _, imported = ran.stdout.strip().rpartition(" ")
        return probabilities, imported

    alone, imported = scores("later")
    assert imported == "False"
    assert scores("first") == (alone, "True")


def test_a_pytest_start_loads_nothing_heavy(pytester: pytest.Pytester) -> None:
    """The plugin is there by its entry point; a test that does not use it is free."""
    pytester.makepyfile(
        f"""
        import sys

        def test_it(request):
            manager = request.config.pluginmanager
            assert manager.get_plugin("torchtraceap").__name__ == (
                "torchtraceap.pytest_plugin")
            assert {HEAVY!r}.isdisjoint(sys.modules)
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


pytest_plugins = ["pytester"]


SUBINTERPRETER = """
import _xxsubinterpreters as own
{before}
code = '''
import sys
sys.path[:] = {path!r}
try:
    import torchtraceap
except ImportError as error:
    print(error)
'''
own.run_string(own.create(), code)
"""


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pybind11 takes care of it")
@pytest.mark.parametrize("before", ["", "import torchtraceap"])
def test_a_subinterpreter_is_refused(before: str) -> None:
    """Before Python 3.12 pybind11 would wait forever."""
    code = SUBINTERPRETER.format(before=before, path=sys.path)
    ran = python("-c", code, timeout=20)
    assert "torchtraceap works in the main interpreter of a process only" in ran.stdout
    assert ran.returncode == 0
