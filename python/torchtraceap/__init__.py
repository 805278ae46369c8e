# SPDX-License-Identifier: BSD-3-Clause
"""torchtraceap: where a PyTorch profiler trace wastes time, by what, on which line."""

from typing import TYPE_CHECKING

from torchtraceap._core import Trace, __version__
from torchtraceap.analysis import analyze, load
from torchtraceap.errors import ConfigError, RuleError, TraceError

if TYPE_CHECKING:
    from torchtraceap import edits
    from torchtraceap.checking.sync_check import SyncCheck, SyncStalls
    from torchtraceap.comparison import Comparison, compare
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

# Where names come from that only some users need.
_ON_FIRST_USE = {
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
    # Every start of pytest imports this package; what only a report needs can wait.
    if module := _ON_FIRST_USE.get(name):
        from importlib import import_module

        return getattr(import_module(f"torchtraceap.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
