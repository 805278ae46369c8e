# SPDX-License-Identifier: BSD-3-Clause
"""torch_module.py: the module ``_torch``, or why there is none."""

from __future__ import annotations

import ctypes
import re
import sys
from importlib import util
from pathlib import Path
from types import ModuleType

from torchtraceap import _core

_BUILD = "build torchtraceap from its source (pip install --no-build-isolation .)"


def load_torch_module() -> ModuleType:
    """Return the extension module ``_torch``; the first call loads torch: of a build
    for the CPU its library alone, in a fifth of the time that its import takes.

    Torch's ABI is that of a minor version: ``_torch`` is not even tried with another.

    Raises ImportError with one sentence, which names what the package was built for,
    what is there and what to do: it was built where no torch was, there is no torch, or
    another one.
    """
    built = _core.built_for_torch()
    if not built:
        raise ImportError(
            "this torchtraceap was built where no torch was, so without the learned "
            f"detector: {_BUILD} where torch is installed"
        )
    if "torch" not in sys.modules and _load_library(built):
        try:
            from torchtraceap import _torch
        except ImportError:
            pass  # Of another build: what follows says so.
        else:
            return _torch
    install = f"pip install 'torch=={built}.*'"
    try:
        # First, so that its libraries are those that the module finds.
        import torch
    except (ImportError, OSError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "torch":
            why = "there is none"
        else:  # Its own libraries are missing, for example.
            why = f"that here cannot be imported ({error})"
        raise ImportError(
            f"the learned detector needs torch {built}, and {why}: {install}"
        ) from error
    there = str(torch.__version__)
    if there.split(".")[:2] != built.split("."):
        raise ImportError(
            f"the learned detector was built for torch {built}, and torch is {there}: "
            f"{install}, or {_BUILD} for this one"
        )
    try:
        from torchtraceap import _torch
    except ImportError as error:
        raise ImportError(
            f"the learned detector, built for torch {built}, cannot be loaded with "
            f"torch {there} ({error}): {_BUILD} for this one"
        ) from error
    return _torch


def _load_library(built: str) -> bool:
    """Load libtorch_cpu without Python's torch, which may be imported later. False if
    that is not enough: another version, a build for GPUs, whose library needs what
    ``import torch`` loads, or none where it is expected."""
    try:
        spec = util.find_spec("torch")
        if spec is None or not spec.origin:
            return False
        version = Path(spec.origin).with_name("version.py").read_text("utf-8")
    except (ValueError, OSError):
        return False
    if not re.search(rf"(?m)^__version__ = ['\"]{re.escape(built)}\.", version):
        return False
    folder = Path(spec.origin).parent / "lib"
    if any(
        (folder / f"libtorch_{kind}.so").exists() for kind in ("cuda", "hip", "xpu")
    ):
        return False
    try:
        ctypes.CDLL(str(folder / "libtorch_cpu.so"))
    except OSError:
        return False
    return True
