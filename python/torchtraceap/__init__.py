# SPDX-License-Identifier: BSD-3-Clause
"""torchtraceap: where a PyTorch profiler trace wastes time, by what, on which line."""

import sys

TYPE_CHECKING = False  # What type checkers take for typing's, which takes a while.
if TYPE_CHECKING:
    from torchtraceap import edits
    from torchtraceap._core import Trace, __version__
    from torchtraceap.analysis import analyze, load
    from torchtraceap.base.errors import ConfigError, RuleError, TraceError
    from torchtraceap.checking.sync_check import SyncCheck
    from torchtraceap.comparison import Comparison, compare
    from torchtraceap.data.rule_view import RuleView
    from torchtraceap.data.rules import Claim, Rule, rule
    from torchtraceap.profiling.analyzer import Analyzer
    from torchtraceap.profiling.profile import profile
    from torchtraceap.profiling.step_function import profile_steps
    from torchtraceap.replaying import what_if
    from torchtraceap.report import Report
    from torchtraceap.waits.verdict import SyncStalls

__all__ = [
    "analyze",
    "load",
    "profile",
    "profile_steps",
    "Analyzer",
    "what_if",
    "compare",
    "edits",
    "Comparison",
    "Report",
    "Trace",
    "rule",
    "Claim",
    "Rule",
    "RuleView",
    "SyncCheck",
    "SyncStalls",
    "TraceError",
    "ConfigError",
    "RuleError",
    "__version__",
]

# Where names come from: what only some users need is imported when it is used.
_ON_FIRST_USE = {
    "Trace": "torchtraceap._core",
    "__version__": "torchtraceap._core",
    "analyze": "torchtraceap.analysis",
    "load": "torchtraceap.analysis",
    "TraceError": "torchtraceap.base.errors",
    "ConfigError": "torchtraceap.base.errors",
    "RuleError": "torchtraceap.base.errors",
    "Analyzer": "torchtraceap.profiling.analyzer",
    "profile": "torchtraceap.profiling.profile",
    "profile_steps": "torchtraceap.profiling.step_function",
    "Comparison": "torchtraceap.comparison",
    "compare": "torchtraceap.comparison",
    "Report": "torchtraceap.report",
    "RuleView": "torchtraceap.data.rule_view",
    "Claim": "torchtraceap.data.rules",
    "Rule": "torchtraceap.data.rules",
    "rule": "torchtraceap.data.rules",
    "what_if": "torchtraceap.replaying",
    "SyncCheck": "torchtraceap.checking.sync_check",
    "dry_run": "torchtraceap_dryrun.dry_run",
    "SyncStalls": "torchtraceap.waits.verdict",
}


def __getattr__(name: str) -> object:
    if name == "edits":
        from importlib import import_module

        return import_module("torchtraceap.edits")
    if module := _ON_FIRST_USE.get(name):
        from importlib import import_module

        return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _is_the_program() -> bool:
    """Tell whether ``torchtraceap`` or ``python -m torchtraceap`` starts."""
    called = sys.argv[0] if getattr(sys, "argv", None) else ""
    return called == "-m" or called.rpartition("/")[2] == "torchtraceap"


# The program loads the rest where Ctrl-C meets its own handler (cli/__init__.py).
if not _is_the_program():
    from torchtraceap import analysis as _analysis  # noqa: F401


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ON_FIRST_USE})
