# SPDX-License-Identifier: BSD-3-Clause
"""torchtraceap: where a PyTorch profiler trace wastes time, by what, on which line."""

import sys

TYPE_CHECKING = False  # What type checkers take for typing's, which takes a while.
if TYPE_CHECKING:
    from torchtraceap import edits
    from torchtraceap._core import Trace, __version__
    from torchtraceap.analysis import analyze, load
    from torchtraceap.base.errors import (
        ConfigError,
        DryRunError,
        DryRunLimit,
        RuleError,
        TraceError,
    )
    from torchtraceap.base.location import Location
    from torchtraceap.checking.sync_check import SyncCheck
    from torchtraceap.checking.trace_check import TraceCheck
    from torchtraceap.comparison import Comparison, compare
    from torchtraceap.data.events import Event, Label, Node, Unexplained, Window
    from torchtraceap.data.facts import (
        Balance,
        Device,
        Note,
        Quality,
        RuleOutcome,
        Stage,
        Step,
        TraceFacts,
    )
    from torchtraceap.data.features import FeatureColumn, Features
    from torchtraceap.data.findings import Finding
    from torchtraceap.data.replay import (
        CriticalPath,
        Fidelity,
        Gain,
        PathPlace,
        Recomputed,
        Recovery,
    )
    from torchtraceap.data.rule_view import RuleView
    from torchtraceap.data.rules import Claim, Rule, rule
    from torchtraceap.data.work import (
        Copy,
        Counts,
        Kernel,
        KernelCounts,
        Operator,
        Overlap,
        Thread,
    )
    from torchtraceap.detection.detection import Agreement, Detection
    from torchtraceap.gate.budget import Budget, read_budget
    from torchtraceap.gate.budget_data import PatternLimits, Violation
    from torchtraceap.gate.changes import Change, FindingChange
    from torchtraceap.profiling.analyzer import Analyzer
    from torchtraceap.profiling.profile import profile
    from torchtraceap.profiling.session import Session
    from torchtraceap.profiling.step_function import profile_steps
    from torchtraceap.replaying import StepTimes, WhatIf, what_if
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
    "._core": "Trace __version__",
    ".analysis": "analyze load",
    ".base.errors": "TraceError ConfigError RuleError DryRunError DryRunLimit",
    ".profiling.analyzer": "Analyzer",
    ".profiling.profile": "profile",
    ".profiling.step_function": "profile_steps",
    ".comparison": "Comparison compare",
    ".gate.changes": "Change FindingChange",
    ".report": "Report",
    ".data.rule_view": "RuleView",
    ".data.rules": "Claim Rule rule",
    ".replaying": "what_if StepTimes WhatIf",
    ".checking.sync_check": "SyncCheck",
    ".waits.verdict": "SyncStalls",
    "torchtraceap_dryrun.dry_run": "dry_run",
    ".gate.budget": "Budget read_budget",
    ".gate.budget_data": "PatternLimits Violation",
    ".checking.trace_check": "TraceCheck",
    ".detection.detection": "Agreement Detection",
    ".data.events": "Event Unexplained Label Node Window",
    ".data.facts": "Balance Device Note Quality Step TraceFacts RuleOutcome Stage",
    ".data.features": "FeatureColumn Features",
    ".data.findings": "Finding",
    ".base.location": "Location",
    ".profiling.session": "Session",
    ".data.replay": "CriticalPath Fidelity Gain PathPlace Recomputed Recovery",
    ".data.work": "Thread Copy Counts Kernel KernelCounts Operator Overlap",
}
_ON_FIRST_USE = {name: of for of, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name == "edits":
        from importlib import import_module

        return import_module("torchtraceap.edits")
    if module := _ON_FIRST_USE.get(name):
        from importlib import import_module

        return getattr(import_module(module, __name__), name)
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
