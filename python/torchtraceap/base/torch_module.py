# SPDX-License-Identifier: BSD-3-Clause
"""torch_module.py: the module ``_torch``, or why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def load_torch_module() -> ModuleType:
    """Return the extension module ``_torch``; the first call imports torch.

    Raises ImportError with one sentence: there is no torch, the package was built where
    there was none, or it was built for another version.
    """
    try:
        # First, so that its libraries are those that the module finds.
        import torch
    except ImportError as error:
        raise ImportError(
            "the learned detector needs torch: pip install 'torchtraceap[torch]'"
        ) from error
    again = "build it again with this torch (pip install --no-build-isolation)"
    try:
        from torchtraceap import _torch
    except ImportError as error:
        if "was built for torch" in str(error):
            raise
        # What another torch has under other names is missed before anyone can ask.
        if "undefined symbol" in str(error) or "shared object" in str(error):
            raise ImportError(
                "torchtraceap's module _torch was built for another torch than the "
                f"{torch.__version__} that is installed: {again}"
            ) from error
        raise ImportError(
            f"this torchtraceap was built where no torch was: {again}"
        ) from error
    return _torch
