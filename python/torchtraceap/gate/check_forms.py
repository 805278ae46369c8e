# SPDX-License-Identifier: BSD-3-Clause
"""check_forms.py: the forms in which checks are written to files: one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchtraceap.gate.checked import Checked


@dataclass(frozen=True)
class CheckForm:
    """A form of the checks of several traces together."""

    name: str  # Of the option, ``--name``.
    help: str
    # The whole file; with the folder that names of source files are relative to.
    text: Callable[[Sequence[Checked], str | None], str]


def _json(checks: Sequence[Checked], root: str | None) -> str:
    from torchtraceap import _core
    from torchtraceap.json_form import json_text

    return json_text(
        {
            "schema_version": 1,
            "tool": {"name": "torchtraceap", "version": _core.__version__},
            "passes": not any(checked.broken for checked in checks),
            "traces": [checked.to_dict() for checked in checks],
        }
    )


def _sarif(checks: Sequence[Checked], root: str | None) -> str:
    from torchtraceap.gate.check_sarif import check_sarif
    from torchtraceap.json_form import json_text

    return json_text(check_sarif(checks, root))


def _markdown(checks: Sequence[Checked], root: str | None) -> str:
    from torchtraceap.gate.check_text import check_markdown

    return check_markdown(checks)


FORMS = (
    CheckForm("json", "write what became of each limit as JSON", _json),
    CheckForm(
        "sarif", "write what breaks a limit as SARIF 2.1.0, for code review", _sarif
    ),
    CheckForm("markdown", "write a summary in Markdown, for a pull request", _markdown),
)
