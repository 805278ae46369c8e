# SPDX-License-Identifier: BSD-3-Clause
"""profile.py: ``torchtraceap.profile``, torch's profiler with a report at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torchtraceap.base.arguments import checked_int, instead_of, of_type
from torchtraceap.data.config import Config
from torchtraceap.data.rules import Rule
from torchtraceap.data.wish import AUTO, Wish
from torchtraceap.gate.budget import Budget
from torchtraceap.profiling.analyzer import Analyzer, Handler
from torchtraceap.profiling.plan import Plan
from torchtraceap.profiling.session import Session
from torchtraceap.report import Report

_OVERHEAD = 0.01


def profile(
    *,
    wait: int = 1,
    warmup: int = 1,
    active: int = 3,
    repeat: int | None = None,
    every: int | None = None,
    overhead: float | None = None,
    schedule: Callable[[int], Any] | None = None,
    reserve: bool = True,
    quiet: bool = False,
    folder: str | os.PathLike[str] | None = None,
    formats: Iterable[str] | None = None,
    budget: str | os.PathLike[str] | Mapping[str, Any] | Budget | None = None,
    verbosity: int = 1,
    callbacks: Callable[[Report], object] | Iterable[Callable[[Report], object]] = (),
    on_trace_ready: Handler | Iterable[Handler] | None = None,
    keep: int = 10,
    name: str = "report",
    max_events: int | None = None,
    config: Config | None = None,
    rules: Iterable[Rule | str] = (),
    detector: Wish = AUTO,
    **torch_options: Any,
) -> Session:
    """Profile a few steps of a loop and say what wastes time in them::

        with torchtraceap.profile() as prof:
            for batch in loader:
                train_step(batch)
                prof.step()

    The first two steps are left out, the next three are recorded, with Python's stacks
    and the shapes of tensors, on all devices there are. The report is printed as soon
    as they are over; after that, `step` costs next to nothing. It is ``prof.report``.

    Without `step` the whole block is recorded. If there are too few steps, the first
    one is what the report is about, and a warning says how many are needed.

    Args:
        wait: Steps that pass before each cycle; with ``every`` before the first.
        warmup: Steps in which the profiler runs but does not record yet.
        active: Steps that are recorded.
        repeat: How many such cycles; each has a report. 0: as long as there are steps.
            None: one, with ``every`` 0.
        every: A cycle begins every so many steps, for a run of days. What each costs
            is measured: ``prof.overhead``.
        overhead: The share of the run's time that these cycles may cost, 1e-6 to 1 (no
            limit); 0.01 if None. See below.
        schedule: Instead of these, as ``torch.profiler.schedule`` returns it.
        reserve: Record the first step too, if the schedule waits then, in case nothing
            else comes. False spares that, such as where the first step compiles. It is
            never done with ``acc_events`` or ``execution_trace_observer``, which would
            have it among the cycles, nor with ``every``.
        quiet: Print nothing: ``verbosity=0``.
        on_trace_ready: Handlers of yours, one or several, called with torch's profiler
            after the analysis.
        folder: As for ``Analyzer``; so are formats, budget, verbosity, callbacks, keep,
            name, max_events, config, rules and detector.
        **torch_options: Options of ``torch.profiler.profile``, such as ``activities``
            or ``profile_memory``. ``with_stack`` and ``record_shapes`` are True unless
            given.

    With ``every`` a cycle's cost is the time from its begin to the end of the first
    step after it, analysis included, beyond what as many steps take without it: the
    median of those around it. A cycle begins only if all cycles so far and this one,
    should it cost what the dearest of the last three did, are within ``overhead`` of
    the time since the start. What the first one costs nobody knows before, so it
    begins anyway: the share is above the budget until the run has lasted its cost /
    ``overhead``, and above it later only where a cycle costs more than those before,
    by what it costs more and until that is made up for.

    Cycles that cost more than ``overhead`` of the time of ``every`` steps come every
    2nd, 4th, 8th ... time only. Each rank of a job decides alone, without talking to
    others, on a time that is nearly the same in all of them, as they wait for the
    slowest in the next collective. Where they do not agree, those distances divide
    each other: most of what the rank with the fewest cycles records, all others do.

    Raises:
        ValueError, TypeError: An option makes no sense.
        OSError: ``folder`` cannot be made.
        ImportError: torch is not installed.
    """
    if isinstance(on_trace_ready, Analyzer):
        raise TypeError(
            "profile analyzes by itself: give it the options of the Analyzer instead"
        )
    plan = _plan(wait, warmup, active, repeat, schedule, every, overhead)
    analyzer = Analyzer(
        folder,
        formats=formats,
        budget=budget,
        verbosity=0 if quiet else verbosity,
        callbacks=callbacks,
        then=() if on_trace_ready is None else on_trace_ready,
        keep=keep,
        name=name,
        max_events=max_events,
        config=config,
        rules=rules,
        detector=detector,
    )
    options = {"with_stack": True, "record_shapes": True, **torch_options}
    _refuse_unknown(options)
    if options.get("activities") is not None:
        options["activities"] = _checked_activities(options["activities"])
    if plan.every and options.get("acc_events"):
        raise ValueError(
            "acc_events keeps the events of all cycles in memory, which every has no "
            "end of: give one of the two"
        )
    return Session(plan, analyzer, options, reserve=reserve)


def _plan(
    wait: int,
    warmup: int,
    active: int,
    repeat: int | None,
    schedule: Callable[[int], Any] | None,
    every: int | None,
    overhead: float | None,
) -> Plan:
    if every is None:
        if overhead is not None:
            raise ValueError(
                "overhead is what cycles every so many steps may cost: give every too"
            )
        return Plan(wait, warmup, active, 1 if repeat is None else repeat, schedule)
    budget = _OVERHEAD if overhead is None else overhead
    checked_int("every", every, 1, 2**31)
    return Plan(wait, warmup, active, repeat or 0, schedule, every, budget)


def _checked_activities(activities: object) -> list[object]:
    """Raises here what torch would only say at the start, and less clearly."""
    from torch.profiler import ProfilerActivity

    given = list(activities) if isinstance(activities, Iterable) else [activities]
    wrong = [one for one in given if not isinstance(one, ProfilerActivity | dict)]
    if wrong or not given:
        raise TypeError(
            "activities must be a list of torch.profiler's, such as "
            "[ProfilerActivity.CPU, ProfilerActivity.CUDA], but "
            + (f"one is {of_type(wrong[0])}" if wrong else "it is empty")
        )
    return given


def _refuse_unknown(options: Mapping[str, Any]) -> None:
    import inspect

    import torch

    known = inspect.signature(torch.profiler.profile).parameters
    for option in options:
        if option not in known:
            own = inspect.signature(profile).parameters
            names = [name for name in (*own, *known) if name != "torch_options"]
            raise TypeError(
                f"profile() got an unexpected option {option!r}: "
                + instead_of(option, names)
            )
