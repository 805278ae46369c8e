# SPDX-License-Identifier: BSD-3-Clause
"""unittest_body.py: watches the method of a unittest.TestCase, without its setUp."""

from __future__ import annotations

import functools
import inspect
from contextlib import AbstractContextManager
from typing import Any


def watch_body(item: Any, block: AbstractContextManager[Any]) -> None:
    """Put ``block`` around the method that a pytest item of a TestCase runs."""
    method = item.obj
    if inspect.iscoroutinefunction(method):

        @functools.wraps(method)
        async def watched_later(*args: Any, **kwargs: Any) -> Any:
            with block:
                return await method(*args, **kwargs)

        # unittest looks such a method up by itself.
        setattr(item.instance, item.instance._testMethodName, watched_later)
        return

    @functools.wraps(method)
    def watched(*args: Any, **kwargs: Any) -> Any:
        with block:
            return method(*args, **kwargs)

    item.obj = watched
