# SPDX-License-Identifier: BSD-3-Clause
"""transformers_loading.py: Hugging Face's models are loaded by one thread.

`from_pretrained(device_map="cuda")` else moves weights to the device in a pool, whose
threads a dry run does not follow.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_NAME = "HF_DEACTIVATE_ASYNC_LOAD"


@contextmanager
def installed() -> Iterator[None]:
    """Tell transformers so, by the variable that it has for that."""
    former = os.environ.get(_NAME)
    os.environ[_NAME] = "1"
    try:
        yield
    finally:
        if former is None:
            os.environ.pop(_NAME, None)
        else:
            os.environ[_NAME] = former
