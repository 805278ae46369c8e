# SPDX-License-Identifier: BSD-3-Clause
"""rules.py: users' own rules: how one is defined, and found by a name.

docs/reference/rules.md is for users; cpp/patterns/own_rule.h explains how claims are
granted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torchtraceap import _core
from torchtraceap.base.arguments import instead_of, of_type, wrong_number
from torchtraceap.base.errors import ConfigError
from torchtraceap.data.rule_view import RuleView

ENTRY_POINTS = "torchtraceap.rules"
# What the balance calls the rest of the time.
_RESERVED = ("unattributed", "unexplained")


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
    """Return the rules themselves; ``"module:function"`` and the names of entry points
    of the group ``torchtraceap.rules`` are looked up.

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
    from importlib.metadata import entry_points

    module, colon, path = text.partition(":")
    try:
        if not colon:
            points = entry_points(group=ENTRY_POINTS)
            if text not in points.names:
                hint = instead_of(text, sorted(points.names))
                raise ConfigError(
                    f"no installed package has a rule {text!r} ({hint}). A rule of "
                    "your own is named as in my_rules:slow_checkpoint."
                )
            return points[text].load()
        found: Any = import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
        return found
    except ConfigError:
        raise
    except Exception as error:  # Whatever the module does when it is imported.
        raise ConfigError(
            f"cannot import the rule {text!r}: {type(error).__name__}: {error}"
        ) from error
