# SPDX-License-Identifier: BSD-3-Clause
"""extras.py: says before a training that something is missing, not after it."""

from __future__ import annotations

from importlib import import_module

from torchtraceap.base.errors import TrainingError


def need(module: str, called: str, what_for: str) -> None:
    """Import a module of the extra ``train``.

    Raises:
        TrainingError: It is not installed, or cannot be loaded; names the extra.
    """
    try:
        import_module(module)
    except (ImportError, OSError) as error:
        raise TrainingError(
            f"{what_for} needs {called}, which cannot be imported ({error}): "
            "pip install 'torchtraceap[train]'"
        ) from error
