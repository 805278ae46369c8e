# SPDX-License-Identifier: BSD-3-Clause
"""handler.py: analyzes what a torch profiler recorded, as its handler or afterwards."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from traceback import walk_stack
from types import FrameType
from typing import Any

from torchtraceap.analysis_plan import AnalysisPlan
from torchtraceap.data.load import refuse_loading
from torchtraceap.profiling import cycle_files, live
from torchtraceap.profiling.kept_trace import inner_profile
from torchtraceap.profiling.notices import guarded, is_inside, reason, show, warn
from torchtraceap.report import Report
from torchtraceap.views.answer_text import answer_lines, screen_width


def analyze_profiler(
    prof: Any,
    plan: Callable[[], AnalysisPlan],
    loading: Sequence[str] = (),
    *,
    quiet: bool = False,
) -> Report | None:
    """Analyzes the last cycle of a profiler and keeps the report on the profiler.

    ``torchtraceap.analyze`` calls this for a profiler, whether as the
    ``on_trace_ready`` handler, inside one, or after the ``with`` block. The report is
    appended to ``prof.torchtraceap_reports``: one for each recorded cycle, a second
    analysis of the same cycle replacing the first.

    As the handler itself it also prints, unless `quiet`, because the profiler drops a
    handler's return value. A user's handler has the report.

    Inside a handler, no error here ends the user's run: it becomes a RuntimeWarning,
    the cycle has no report, and None is returned. Elsewhere it raises the errors of
    `live.load`, ``analyze`` and ``plan``, which checks its options, also if
    ``loading``, the names of the loading options that were given, is not empty.
    """
    try:
        analysis = plan()
        refuse_loading(
            loading, "a profiler", "Export the trace and analyze that file with them"
        )
        report = analysis.report(live.load(prof))
    except Exception as error:
        if not _inside_handler(prof):
            raise
        warn(f"this cycle was not analyzed: {reason(error)}")
        return None
    # The path of an unlinked file means nothing to the user.
    report.name_trace("<profiler>")
    _keep(prof, report)
    if not quiet and _is_handler(prof) and not cycle_files.rank():
        guarded("the report was not printed", lambda: _show(report))
    return report


def _show(report: Report) -> None:
    more = "print(prof.torchtraceap_reports[-1].summary(windows=True))"
    text = "\n".join(answer_lines(report, screen_width(), more))
    show(f"torchtraceap: {text}\n")


def _keep(prof: Any, report: Report) -> None:
    results = inner_profile(prof).kineto_results
    state = vars(prof)
    reports: list[Report] = state.setdefault("torchtraceap_reports", [])
    last = state.get("_torchtraceap_results")
    if last is not None and last() is results:
        reports[-1] = report
    else:
        reports.append(report)
        state["_torchtraceap_results"] = weakref.ref(results)


def _is_handler(prof: Any) -> bool:
    """Tells whether torch called us as the handler of `prof`, directly or through a
    lambda: either way the return value is lost."""
    for frame, _ in walk_stack(sys._getframe()):
        if _calls_handler(frame, prof):
            return True
        code = frame.f_code
        if not is_inside(code.co_filename) and code.co_name != "<lambda>":
            break
    return False


def _inside_handler(prof: Any) -> bool:
    """Tells whether `prof` is further up the stack, calling its on_trace_ready."""
    return any(_calls_handler(frame, prof) for frame, _ in walk_stack(sys._getframe()))


def _calls_handler(frame: FrameType, prof: Any) -> bool:
    return frame.f_code.co_name == "_trace_ready" and frame.f_locals.get("self") is prof
