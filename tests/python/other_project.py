# SPDX-License-Identifier: BSD-3-Clause
"""other_project.py: somebody else's project, whose tests use the plugin."""

from __future__ import annotations

import pytest

# The second is of an editable install's hook, see pyproject.toml.
STRICT = ["-Werror", "-Wignore:Module already imported so cannot be rewritten"]


def lay_out(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    columns: int = 200,
    **modules: str,
) -> pytest.Pytester:
    """Write modules that its tests can import; pytest's lines are that wide."""
    monkeypatch.setenv("COLUMNS", str(columns))
    pytester.makepyfile(**modules)
    pytester.syspathinsert()
    return pytester


def run(
    project: pytest.Pytester,
    tests: str,
    *options: str,
    name: str = "test_it",
    strict: bool = True,
) -> pytest.RunResult:
    """Run tests of the project in this process; if strict, a warning is an error."""
    project.makepyfile(**{name: tests})
    return project.runpytest_inprocess(*(STRICT if strict else ()), *options)
