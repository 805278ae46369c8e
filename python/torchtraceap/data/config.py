# SPDX-License-Identifier: BSD-3-Clause
"""config.py: settings from a TOML file or a dict, read and checked for their form.

::

    [patterns.sync_stall]
    min_share = 0.02

    [patterns.gc_pause]
    enabled = false

In ``pyproject.toml``, the section ``[tool.torchtraceap]`` holds the settings.
docs/reference/rules.md is for users.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torchtraceap import _core
from torchtraceap.base.arguments import instead_of, of_type, wrong_number
from torchtraceap.base.errors import ConfigError
from torchtraceap.base.files import read_file
from torchtraceap.base.toml_text import read_toml

Config = str | os.PathLike[str] | Mapping[str, Any]
# By pattern: thresholds by name, and "enabled".
Changes = dict[str, dict[str, float | bool]]

_PROJECT = "pyproject.toml"
_MOST = {"share": 1.0, "percent": 100.0}


def read_changes(
    config: Config | None, own: Mapping[str, Mapping[str, float]]
) -> Changes:
    """Return the settings of a configuration that differ from the defaults.

    ``own`` are the thresholds of the user's own rules, which it may name as well.

    Raises ConfigError listing all its errors, TypeError if it is not a configuration.
    """
    return {} if config is None else _changes(*_section(config), own)


def project_file() -> str | None:
    """Return the ``pyproject.toml`` of the working folder if it has our section.

    Raises ConfigError if there is one that cannot be read.
    """
    path = Path(_PROJECT)
    if not path.is_file() or b"torchtraceap" not in _bytes(path):
        return None
    return _PROJECT if "torchtraceap" in _tools(_parsed(path)) else None


def has_budget(config: str) -> bool:
    """Tell whether a settings file has a budget beside its settings.

    Raises ConfigError if it cannot be read.
    """
    return "budget" in _section(config)[0]


def read_section(path: Path) -> object:
    """Return the settings of a TOML file; from ``pyproject.toml``, our section.

    Raises ConfigError if there is no such file or section, or it is not TOML.
    """
    document = _parsed(path)
    if path.name != _PROJECT:
        return document
    if "torchtraceap" not in _tools(document):
        raise ConfigError(f"{path} has no section [tool.torchtraceap]")
    return _tools(document)["torchtraceap"]


def _section(config: Config) -> tuple[Mapping[str, Any], str]:
    """Return what a configuration says, and what messages call it."""
    if isinstance(config, Mapping):
        return checked_table(config, "config"), "config"
    if not isinstance(config, str | os.PathLike):
        raise TypeError(f"config must be a path or a dict, but is {of_type(config)}")
    path = Path(os.fsdecode(config))
    return checked_table(read_section(path), str(path)), str(path)


def _bytes(path: Path) -> bytes:
    try:
        return read_file(path)
    except (OSError, ValueError) as error:  # ValueError: no name of a file.
        what = getattr(error, "strerror", None) or error
        raise ConfigError(f"cannot read {path}: {what}") from error


def _parsed(path: Path) -> dict[str, Any]:
    content = _bytes(path)
    try:
        return read_toml(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not TOML: it is not UTF-8 ({error})") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error


def _tools(document: dict[str, Any]) -> dict[str, Any]:
    tools = document.get("tool")
    return tools if isinstance(tools, dict) else {}


def _changes(
    section: Mapping[str, Any], origin: str, own: Mapping[str, Mapping[str, float]]
) -> Changes:
    known: dict[str, dict[str, tuple[float, str]]] = {
        pattern.name: {} for pattern in _core.patterns()
    }
    for row in _core.thresholds():
        known[row.pattern][row.name] = (row.default, row.unit)
    for rule, thresholds in own.items():
        known[rule] = {
            name: (value, "share" if name == "min_share" else "")
            for name, value in thresholds.items()
        }
    for key in section:
        # What a budget says is budget.py's to read.
        if key not in ("patterns", "budget"):
            hint = instead_of(key, ["patterns", "budget"])
            raise ConfigError(f"{origin}: unknown key {key!r}; {hint}")
    changes: Changes = {}
    for pattern, table in checked_table(
        section.get("patterns", {}), f"{origin}: patterns"
    ).items():
        where = f"{origin}: patterns.{pattern}"
        if pattern not in known:
            raise ConfigError(
                f"{where}: there is no such pattern; {instead_of(pattern, known)}"
            )
        for name, value in checked_table(table, where).items():
            if _is_change(f"{where}.{name}", name, value, known[pattern]):
                changes.setdefault(pattern, {})[name] = value
    return changes


def _is_change(
    where: str, name: str, value: object, known: dict[str, tuple[float, str]]
) -> bool:
    if name == "enabled":
        if not isinstance(value, bool):
            raise ConfigError(f"{where} must be true or false, but is {of_type(value)}")
        return not value
    if name not in known:
        hint = instead_of(name, [*known, "enabled"])
        raise ConfigError(f"{where}: there is no such threshold; {hint}")
    default, unit = known[name]
    if wrong := wrong_number(value, _MOST.get(unit)):
        raise ConfigError(f"{where} {wrong}" + (f" (unit: {unit})" if unit else ""))
    return value != default


def checked_table(value: object, where: str) -> Mapping[str, Any]:
    """Return ``value`` as a table. Raises ConfigError if it is none."""
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} must be a table, but is {of_type(value)}")
    for key in value:
        if not isinstance(key, str):
            raise ConfigError(f"{where} must have names, but has {key!r}")
    return value
