# SPDX-License-Identifier: BSD-3-Clause
"""extra.py: says how to install what an integration is for, where it is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def of_extra(name: str) -> Iterator[None]:
    """Stands around imports of what the extra `name` of this package installs.

    Raises ImportError, which names the extra and the command, if they fail.
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"torchtraceap.integrations.{name} needs the extra {name}: "
            f"pip install 'torchtraceap[{name}]' ({error})"
        ) from error
