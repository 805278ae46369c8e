# SPDX-License-Identifier: BSD-3-Clause
"""checks.py: the test to add, so that a finding that was fixed does not come back."""

from __future__ import annotations

import re

from torchtraceap import _core
from torchtraceap._core import Finding
from torchtraceap.base.safe_text import printable
from torchtraceap.data.findings import UNEXPLAINED, WAITS

_TRACE = "trace.json.gz"
_WAITS = """\
def test_{function}_does_not_wait(no_sync_stalls):
    # To fill in: import {function} of {place}, and give it its arguments; a method is
    # called on an object of its class.
    with no_sync_stalls():  # without a GPU: a dry run
        {function}()
"""
_PATTERN = """\
def test_no_{name}(trace_check):
    check = trace_check("{trace}")  # recorded anew{how}
    check.no("{pattern}")
"""
_OWN = """\
def test_no_{name}(trace_check):
    # Recorded anew; the rule is imported from your module.
    check = trace_check("{trace}", rules=[{pattern}])
    check.no("{pattern}")
"""


def check_of(finding: Finding) -> str:
    """Return code of a test; "" of what no test can hold.

    A wait is asked for in the code itself, which needs no GPU; all else in a trace.
    """
    if finding.pattern == UNEXPLAINED:
        return ""
    where = finding.location
    called = where.function if where and where.user else ""
    if where and finding.pattern == WAITS and called.isidentifier():
        place = str(where).replace("\\", "/").rpartition("/")[2]
        return _WAITS.format(function=called, place=printable(place))
    known = {pattern.name for pattern in _core.patterns()}
    form = _PATTERN if finding.pattern in known else _OWN
    how = " on a GPU" if finding.origin == "dry-run" else ""
    name = re.sub(r"\W", "_", finding.pattern, flags=re.ASCII)
    return form.format(name=name, pattern=finding.pattern, trace=_TRACE, how=how)
