# SPDX-License-Identifier: BSD-3-Clause
"""patterns.py: the command ``patterns``: the patterns and their thresholds."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator
from typing import Any

from torchtraceap import _core
from torchtraceap.base.arguments import instead_of
from torchtraceap.base.errors import ConfigError
from torchtraceap.base.text_table import align
from torchtraceap.cli.options import Options
from torchtraceap.cli.output import OK, Commands, say
from torchtraceap.views.json_form import json_text

_WIDTH = 88
EXAMPLES = (
    ("torchtraceap patterns", "all patterns"),
    ("torchtraceap patterns sync_stall", "one pattern, with its thresholds"),
    ("torchtraceap patterns --json | jq '.[].thresholds[].name'", "for a program"),
)


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "patterns", help="list the patterns and their thresholds"
    )
    command.add_argument(
        "name", nargs="?", metavar="NAME", help="show only this pattern, in full"
    )
    Options(command)("--json", "print a JSON array, one object per pattern")


def run(options: argparse.Namespace) -> int:
    forms = pattern_forms(options.name)
    say(json_text(forms) if options.json else patterns_text(forms))
    return OK


def pattern_forms(name: str | None = None) -> list[dict[str, Any]]:
    """Return the description of all patterns, in order of precedence, or of one.

    Raises ConfigError if there is none of this name.
    """
    thresholds: dict[str, list[dict[str, Any]]] = {}
    for row in _core.thresholds():
        form = {name: getattr(row, name) for name in ("name", "default", "unit", "why")}
        thresholds.setdefault(row.pattern, []).append(form)
    forms: list[dict[str, Any]] = [
        {
            "name": pattern.name,
            "side": pattern.side,
            "user_finding": pattern.user_finding,
            "basis": "estimate" if pattern.estimate else "measured",
            "summary": pattern.summary,
            "advice": pattern.advice,
            "edit": pattern.edit,
            "subtypes": pattern.subtypes,
            "docs": f"docs/patterns/{pattern.name}.md",
            "thresholds": thresholds[pattern.name],
        }
        for pattern in _core.patterns()
    ]
    if name is None:
        return forms
    found = [form for form in forms if form["name"] == name]
    if not found:
        hint = instead_of(name, (pattern.name for pattern in _core.patterns()))
        raise ConfigError(f"there is no pattern {name!r}; {hint}")
    return found


def patterns_text(forms: list[dict[str, Any]]) -> str:
    """Return one pattern in full, or a table of several."""
    if len(forms) == 1:
        return "\n".join(_in_full(forms[0]))
    rows = [("pattern", "side", "summary")]
    rows += [(form["name"], form["side"], form["summary"]) for form in forms]
    # Patterns of the balance alone are not the user's, so they are counted apart.
    aside = [form["name"] for form in forms if not form["user_finding"]]
    return "\n".join(
        [
            f"{len(forms) - len(aside)} patterns, in order of precedence, with "
            f"{len(aside)} that only the balance has: {', '.join(aside)}",
            "(details: torchtraceap patterns NAME):",
            *(f"  {line}" for line in align(rows)),
        ]
    )


def _in_full(form: dict[str, Any]) -> Iterator[str]:
    yield f"{form['name']} ({form['side']}): {form['summary']}"
    if not form["user_finding"]:
        yield "Accounted for in the balance, never reported as a finding."
    if form["subtypes"]:
        yield "Sub-types: " + ", ".join(form["subtypes"])
    yield from textwrap.wrap(f"What helps: {form['advice']}", _WIDTH)
    what = dict(_core.pattern_edits())[form["edit"]]
    yield from textwrap.wrap(f"Replayed without: {what} ({form['edit']})", _WIDTH)
    yield "Thresholds:"
    for row in form["thresholds"]:
        text = f"{row['name']} = {row['default']:g} {row['unit']}: {row['why']}"
        yield from textwrap.wrap(
            text, _WIDTH, initial_indent="  ", subsequent_indent="    "
        )
    yield f"More: {form['docs']}"
