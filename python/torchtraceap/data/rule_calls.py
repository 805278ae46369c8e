# SPDX-License-Identifier: BSD-3-Clause
"""rule_calls.py: runs a user's own rule for the core, and checks what it claims."""

from __future__ import annotations

import operator
import traceback
from collections.abc import Iterator, Mapping

from torchtraceap import _core
from torchtraceap.base.arguments import of_type
from torchtraceap.base.errors import RuleError
from torchtraceap.data.rule_view import RuleView
from torchtraceap.data.rules import Claim, Rule

# begin_ns, end_ns, row, device, busy
Request = tuple[int, int, int, int | None, bool]
# No event's time is beyond; the core adds times up in 64 bits.
_MOST_NS = 2**61


def core_rule(
    rule: Rule, thresholds: Mapping[str, float], trace: _core.Trace
) -> _core.OwnRule:
    """Return what the core takes for a rule, of which one analysis of a trace is made.

    What goes wrong in the rule becomes a RuleError, with its cause; not Ctrl-C.
    """

    def propose(context: _core.RuleContext) -> list[Request]:
        view = RuleView(context, trace, thresholds)
        try:
            return list(_requests(rule, view))
        except RuleError:
            raise
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            raise RuleError(
                f"the rule {rule.name} failed{_where(rule, error)}: {what}", rule.name
            ) from error

    return _core.OwnRule(
        name=rule.name,
        side=rule.side,
        summary=rule.summary,
        advice=rule.advice,
        min_share=float(thresholds["min_share"]),
        before=rule.before,
        propose=propose,
    )


def _requests(rule: Rule, view: RuleView) -> Iterator[Request]:
    claims = rule(view)
    if claims is None:
        raise _wrong(rule, "must give claims, but gave None; yield them, or return []")
    for claim in claims:
        if not isinstance(claim, Claim):
            raise _wrong(
                rule, f"must give torchtraceap.Claim, but gave one {of_type(claim)}"
            )
        yield _request(rule, claim, view)


def _request(rule: Rule, claim: Claim, view: RuleView) -> Request:
    row = _integer(rule, "row", claim.row)
    if not 0 <= row < len(view.trace):
        raise _wrong(rule, f"claims with row {row}, which is not in the trace")
    columns = view.columns
    if None in (claim.begin_ns, claim.end_ns) and view.lanes[row] < 0:
        raise _wrong(
            rule,
            f"claims the time of row {row}, which takes none on a thread or stream",
        )
    begin = int(columns["ts"][row])
    end = begin + int(columns["dur"][row])
    if claim.begin_ns is not None:
        begin = _integer(rule, "begin_ns", claim.begin_ns)
    if claim.end_ns is not None:
        end = _integer(rule, "end_ns", claim.end_ns)
    if end < begin:
        raise _wrong(rule, f"claims time that ends before it begins: [{begin}, {end})")
    device, busy = claim.device, claim.busy
    on_device = view.is_device_work(row)
    if device is None and on_device:
        device = view.device_of(row)
    if device is not None:
        device = _integer(rule, "device", device)
        if device not in view.devices:
            known = ", ".join(map(str, view.devices)) or "none"
            raise _wrong(
                rule, f"claims time of device {device}; those that worked: {known}"
            )
    elif busy:
        raise _wrong(rule, f"claims busy time with row {row} but names no device")
    if busy is None:
        busy = on_device
    return _clamped(begin), _clamped(end), row, device, bool(busy)


def _integer(rule: Rule, name: str, value: object) -> int:
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise _wrong(
            rule, f"claims with a {name} that is not an integer but {of_type(value)}"
        ) from None


def _clamped(time: int) -> int:
    return min(max(time, -_MOST_NS), _MOST_NS)


def _wrong(rule: Rule, what: str) -> RuleError:
    return RuleError(f"the rule {rule.name} {what}", rule.name)


def _where(rule: Rule, error: BaseException) -> str:
    """Return the place in the rule's own file where it went wrong, if it is known."""
    file = getattr(getattr(rule.function, "__code__", None), "co_filename", None)
    lines = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    return f" at {file}:{lines[-1].lineno}" if lines else ""
