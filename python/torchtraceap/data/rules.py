# SPDX-License-Identifier: BSD-3-Clause
"""rules.py: users' own rules: defined, found by a name, and run for the core, which is
given only claims that make sense.

docs/reference/rules.md is for users; cpp/patterns/own_rule.h explains how claims are
granted.
"""

from __future__ import annotations

import operator
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from torchtraceap import _core
from torchtraceap.base.arguments import instead_of, of_type, wrong_number
from torchtraceap.base.errors import ConfigError, RuleError
from torchtraceap.data.rule_view import RuleView

# What the balance calls the rest of the time.
_RESERVED = ("unattributed", "unexplained")
# begin_ns, end_ns, row, device, busy
_Request = tuple[int, int, int, int | None, bool]
# No event's time is beyond; the core adds times up in 64 bits.
_MOST_NS = 2**61


@dataclass(frozen=True)
class Claim:
    """Time that a rule blames its pattern for, with the event that proves it.

    By default it is the time of the event. For an event of the host, it claims all time
    of any device that was lost because the thread was busy with the event: the core
    looks for the idle time before each kernel that this thread then launched late. For
    a kernel, copy or memset, it claims that this busy time of its device was wasted.
    Times are nanoseconds on the trace's clock, as in ``RuleView.columns``.
    """

    row: int  #: Of the event that proves it.
    begin_ns: int | None = None  #: None: when the event begins.
    end_ns: int | None = None  #: None: when it ends.
    device: int | None = None  #: Claim time of this device only, for any next launch.
    busy: bool | None = None  #: Busy or idle time of the device. None: as above.


@dataclass(frozen=True)
class Rule:
    """A rule made by ``torchtraceap.rule``. Calling it calls the function."""

    function: Callable[[RuleView], Iterable[Claim]]
    name: str
    side: str
    summary: str
    advice: str
    thresholds: Mapping[str, float] = field(default_factory=dict)  #: With min_share.
    before: str | None = None

    def __call__(self, view: RuleView) -> Iterable[Claim]:
        return self.function(view)


def rule(
    *,
    side: str,
    summary: str,
    advice: str,
    name: str | None = None,
    min_share: float = 0.01,
    thresholds: Mapping[str, float] | None = None,
    before: str | None = None,
) -> Callable[[Callable[[RuleView], Iterable[Claim]]], Rule]:
    """Make a rule of a function of a ``RuleView`` that yields ``Claim`` objects::

        @torchtraceap.rule(
            side="cpu",
            summary="The training loop waited for a checkpoint to be written.",
            advice="Save in the background: torch.distributed.checkpoint.async_save.",
            before="host_bound_python",
        )
        def slow_checkpoint(view):
            for row in view.rows(name="save_checkpoint"):
                yield torchtraceap.Claim(row)


        report = torchtraceap.analyze("trace.json.gz", rules=[slow_checkpoint])

    Args:
        side: Whose code has to change, ``"cpu"`` or ``"gpu"``.
        summary: What happened, one sentence.
        advice: What helps.
        name: The pattern's name in reports; None: the function's. Small letters, digits
            and ``_``.
        min_share: Least share of the analyzed time that all claims together must cost
            for any to count, 0 to 1.
        thresholds: Other numbers that the function uses, with their defaults. It reads
            them from ``view.thresholds``; a configuration can change them.
        before: The built-in pattern that it precedes; each nanosecond goes to the first
            rule that claims it. None: it gets the time that all built-in rules leave.

    Raises:
        ConfigError: One of these is invalid.
        TypeError: The decorated object is not a function.
    """

    def decorate(function: Callable[[RuleView], Iterable[Claim]]) -> Rule:
        if not callable(function):
            raise TypeError(f"a rule must be a function, but is {of_type(function)}")
        made = Rule(
            function,
            getattr(function, "__name__", "") if name is None else name,
            side,
            summary,
            advice,
            {"min_share": min_share, **(thresholds or {})},
            before,
        )
        _check(made)
        return made

    return decorate


def find_rules(rules: Iterable[Rule | str]) -> list[Rule]:
    """Return the rules themselves; ``"module:function"`` is imported.

    Raises ConfigError if there is none, it cannot be imported, or two have one name;
    TypeError if one is something else.
    """
    if isinstance(rules, str | Rule) or not isinstance(rules, Iterable):
        raise TypeError(f"rules must be a list of rules, but is {of_type(rules)}")
    found: list[Rule] = []
    for one in rules:
        made = _named(one) if isinstance(one, str) else one
        if not isinstance(made, Rule):
            what = f"the rule {one!r}" if isinstance(one, str) else "a rule"
            raise TypeError(
                f"{what} must be made by torchtraceap.rule, but is {of_type(made)}"
            )
        if any(made.name == other.name for other in found):
            raise ConfigError(f"two rules have the name {made.name!r}")
        found.append(made)
    return found


def _check(made: Rule) -> None:
    name, built_in = made.name, [pattern.name for pattern in _core.patterns()]
    if not isinstance(name, str) or not re.fullmatch("[a-z][a-z0-9_]*", name):
        raise ConfigError(
            f"a rule's name must be small letters, digits and _, but is {name!r}"
        )
    if name in built_in or name in _RESERVED:
        raise ConfigError(f"a rule cannot have the name {name!r}: it is taken")
    if made.side not in ("cpu", "gpu"):
        raise ConfigError(f"{name}: side must be 'cpu' or 'gpu', but is {made.side!r}")
    for what in ("summary", "advice"):
        text = getattr(made, what)
        if not isinstance(text, str) or not text.strip():
            raise ConfigError(f"{name}: {what} must be a text, but is {text!r}")
    for key, value in made.thresholds.items():
        if not isinstance(key, str) or key == "enabled":
            raise ConfigError(f"{name}: a threshold cannot have the name {key!r}")
        if wrong := wrong_number(value, 1.0 if key == "min_share" else None):
            raise ConfigError(f"{name}: {key} {wrong}")
    if made.before is not None and made.before not in built_in:
        raise ConfigError(
            f"{name}: there is no pattern {made.before!r} to be before; "
            + instead_of(str(made.before), built_in)
        )


def _named(text: str) -> Any:
    from importlib import import_module

    module, colon, path = text.partition(":")
    if not colon:
        raise ConfigError(
            f"no rule is named by {text!r}: write module:function, such as "
            "my_rules:slow_checkpoint"
        )
    try:
        found: Any = import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
        return found
    except Exception as error:  # Whatever the module does when it is imported.
        raise ConfigError(
            f"cannot import the rule {text!r}: {type(error).__name__}: {error}"
        ) from error


# --- One rule, run for the core -----------------------------------------------------


def core_rule(
    rule: Rule, thresholds: Mapping[str, float], trace: _core.Trace
) -> _core.OwnRule:
    """Return what the core takes for a rule, of which one analysis of a trace is made.

    What goes wrong in the rule becomes a RuleError, with its cause; not Ctrl-C.
    """

    def propose(context: _core.RuleContext) -> list[_Request]:
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


def _requests(rule: Rule, view: RuleView) -> Iterator[_Request]:
    claims = rule(view)
    if claims is None:
        raise _wrong(rule, "must give claims, but gave None; yield them, or return []")
    for claim in claims:
        if not isinstance(claim, Claim):
            raise _wrong(
                rule, f"must give torchtraceap.Claim, but gave one {of_type(claim)}"
            )
        yield _request(rule, claim, view)


def _request(rule: Rule, claim: Claim, view: RuleView) -> _Request:
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
