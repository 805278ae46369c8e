# SPDX-License-Identifier: BSD-3-Clause
"""torchtraceap: where a PyTorch profiler trace wastes time, by what, on which line."""

import sys


def _names() -> dict[str, str]:
    """Return of each public name the module that it comes from. The one list of them is
    the stub beside this file."""
    with open(__file__.rpartition(".")[0] + ".pyi", encoding="utf-8") as file:
        lines = [line.split() for line in file if line.startswith("from ")]
    return {line[3]: line[1] for line in lines}


_MODULE_OF = _names()
# `import *` works without torch, which dry_run needs.
__all__ = [name for name in _MODULE_OF if name != "dry_run"]


def __getattr__(name: str) -> object:
    """Import what only some users need when it is used."""
    from importlib import import_module

    if (module := _MODULE_OF.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if module == __name__:
        return import_module(f"{module}.{name}")
    return getattr(import_module(module), name)


def _is_the_program() -> bool:
    """Tell whether ``torchtraceap`` or ``python -m torchtraceap`` starts."""
    called = sys.argv[0] if getattr(sys, "argv", None) else ""
    return called == "-m" or called.rpartition("/")[2] == "torchtraceap"


# The program loads the rest where Ctrl-C meets its own handler (cli/__init__.py).
if not _is_the_program():
    from torchtraceap import analysis as _analysis  # noqa: F401


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
