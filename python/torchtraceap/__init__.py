# SPDX-License-Identifier: BSD-3-Clause
"""torchtraceap: where a PyTorch profiler trace wastes time, by what, on which line."""

import sys

TYPE_CHECKING = False  # What type checkers take for typing's, which takes a while.
if TYPE_CHECKING:
    from torchtraceap import edits
    from torchtraceap._core import Trace, __version__
    from torchtraceap.analysis import analyze, load
    from torchtraceap.checking.sync_check import SyncCheck, SyncStalls
    from torchtraceap.comparison import Comparison, compare
    from torchtraceap.errors import ConfigError, RuleError, TraceError
    from torchtraceap.profiling.analyzer import Analyzer
    from torchtraceap.profiling.profile import profile
    from torchtraceap.profiling.step_function import profile_steps
    from torchtraceap.replaying import what_if
    from torchtraceap.report import Report
    from torchtraceap.rule_view import RuleView
    from torchtraceap.rules import Claim, Rule, rule

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
    "Trace": "_core",
    "__version__": "_core",
    "analyze": "analysis",
    "load": "analysis",
    "TraceError": "errors",
    "ConfigError": "errors",
    "RuleError": "errors",
    "Analyzer": "profiling.analyzer",
    "profile": "profiling.profile",
    "profile_steps": "profiling.step_function",
    "Comparison": "comparison",
    "compare": "comparison",
    "Report": "report",
    "RuleView": "rule_view",
    "Claim": "rules",
    "Rule": "rules",
    "rule": "rules",
    "what_if": "replaying",
    "SyncCheck": "checking.sync_check",
    "dry_run": "dryrun.dry_run",
    "SyncStalls": "checking.sync_check",
}


def __getattr__(name: str) -> object:
    if name == "edits":
        from importlib import import_module

        return import_module("torchtraceap.edits")
    if module := _ON_FIRST_USE.get(name):
        from importlib import import_module

        return getattr(import_module(f"torchtraceap.{module}"), name)
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
