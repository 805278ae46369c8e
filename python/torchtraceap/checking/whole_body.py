# SPDX-License-Identifier: BSD-3-Clause
"""whole_body.py: tests whose body is watched as a whole, and what their body is.

Asked about every test of every project, so it imports next to nothing.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import pytest

#: The marker, and the fixture of the same name.
NAME = "no_sync_stalls"


def options_of(item: pytest.Item) -> dict[str, Any] | None:
    """Return the options with which all of a test's body is watched; None: it is not.

    Raises TypeError if the marker has options without names.
    """
    mark = _closest_mark(item)
    if mark is not None:
        if mark.args:
            raise TypeError("options need their names, such as max_count=1")
        return dict(mark.kwargs)
    # A fixture that is only named would watch nothing, without any notice.
    used = [name for mark in item.iter_markers("usefixtures") for name in mark.args]
    used += item.config.getini("usefixtures")
    return {} if NAME in used else None


def _closest_mark(item: pytest.Item) -> pytest.Mark | None:
    """Return the marker that counts. One of a parameter is the closest there is, though
    pytest puts it after the function's own."""
    call = getattr(item, "callspec", None)
    for mark in getattr(call, "marks", ()):
        if mark.name == NAME:
            return cast("pytest.Mark", getattr(mark, "mark", mark))
    return item.get_closest_marker(NAME)


def asks_for_fixture(item: pytest.Item) -> bool:
    """Tell whether the test itself, not another fixture, asks for the fixture."""
    function = getattr(item, "function", None)
    return function is not None and NAME in inspect.signature(function).parameters


def is_unittest(item: pytest.Item) -> bool:
    """Tell whether a test is a method of a unittest.TestCase."""
    import unittest

    cls = getattr(item, "cls", None)
    return isinstance(cls, type) and issubclass(cls, unittest.TestCase)
