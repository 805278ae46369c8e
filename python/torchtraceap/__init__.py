# SPDX-License-Identifier: BSD-3-Clause
"""torchtraceap: where a PyTorch profiler trace wastes time, by what, on which line."""

import sys

TYPE_CHECKING = False  # What type checkers take for typing's, which takes a while.
if TYPE_CHECKING:
    from torchtraceap import edits
    from torchtraceap._core import Trace, __version__
    from torchtraceap.analysis import analyze, load
    from torchtraceap.budget import Budget, PatternLimits, Violation, read_budget
    from torchtraceap.checking.sync_check import SyncCheck, SyncStalls
    from torchtraceap.checking.trace_check import TraceCheck
    from torchtraceap.comparison import Change, Comparison, FindingChange, compare
    from torchtraceap.detection.detection import Agreement, Detection
    from torchtraceap.errors import (
        ConfigError,
        DryRunError,
        DryRunLimit,
        RuleError,
        TraceError,
    )
    from torchtraceap.events import Event, Unexplained
    from torchtraceap.facts import Balance, Device, Note, Quality, Step, TraceFacts
    from torchtraceap.features import FeatureColumn, Features
    from torchtraceap.findings import Finding
    from torchtraceap.location import Location
    from torchtraceap.profiling.analyzer import Analyzer
    from torchtraceap.profiling.profile import profile
    from torchtraceap.profiling.session import Session
    from torchtraceap.profiling.step_function import profile_steps
    from torchtraceap.recovery import (
        CriticalPath,
        Fidelity,
        Gain,
        PathPlace,
        Recomputed,
        Recovery,
    )
    from torchtraceap.replaying import StepTimes, WhatIf, what_if
    from torchtraceap.report import Report
    from torchtraceap.rule_outcomes import RuleOutcome
    from torchtraceap.rule_view import RuleView
    from torchtraceap.rules import Claim, Rule, rule
    from torchtraceap.story import Stage
    from torchtraceap.threads import Thread
    from torchtraceap.windows import Label, Node, Window
    from torchtraceap.work import Copy, Counts, Kernel, KernelCounts, Operator, Overlap

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
    "DryRunError",
    "DryRunLimit",
    # What these give and take; docs/api.md tells of each.
    "Agreement",
    "Balance",
    "Budget",
    "Change",
    "Copy",
    "Counts",
    "CriticalPath",
    "Detection",
    "Device",
    "Event",
    "FeatureColumn",
    "Features",
    "Fidelity",
    "Finding",
    "FindingChange",
    "Gain",
    "Kernel",
    "KernelCounts",
    "Label",
    "Location",
    "Node",
    "Note",
    "Operator",
    "Overlap",
    "PathPlace",
    "PatternLimits",
    "Quality",
    "Recomputed",
    "Recovery",
    "RuleOutcome",
    "Session",
    "Stage",
    "Step",
    "StepTimes",
    "Thread",
    "TraceCheck",
    "TraceFacts",
    "Unexplained",
    "Violation",
    "WhatIf",
    "Window",
    "read_budget",
    "__version__",
]

# Where names come from: what only some users need is imported when it is used.
_NAMES = {
    "_core": "Trace __version__",
    "analysis": "analyze load",
    "errors": "TraceError ConfigError RuleError DryRunError DryRunLimit",
    "profiling.analyzer": "Analyzer",
    "profiling.profile": "profile",
    "profiling.step_function": "profile_steps",
    "comparison": "Comparison compare Change FindingChange",
    "report": "Report",
    "rule_view": "RuleView",
    "rules": "Claim Rule rule",
    "replaying": "what_if StepTimes WhatIf",
    "checking.sync_check": "SyncCheck SyncStalls",
    "dryrun.dry_run": "dry_run",
    "budget": "Budget PatternLimits Violation read_budget",
    "checking.trace_check": "TraceCheck",
    "detection.detection": "Agreement Detection",
    "events": "Event Unexplained",
    "facts": "Balance Device Note Quality Step TraceFacts",
    "features": "FeatureColumn Features",
    "findings": "Finding",
    "location": "Location",
    "profiling.session": "Session",
    "recovery": "CriticalPath Fidelity Gain PathPlace Recomputed Recovery",
    "rule_outcomes": "RuleOutcome",
    "story": "Stage",
    "threads": "Thread",
    "windows": "Label Node Window",
    "work": "Copy Counts Kernel KernelCounts Operator Overlap",
}
_ON_FIRST_USE = {name: of for of, names in _NAMES.items() for name in names.split()}


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
