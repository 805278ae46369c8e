# SPDX-License-Identifier: BSD-3-Clause
"""profile.py: ``torchtraceap.profile``, torch's profiler with a report at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torchtraceap.base.arguments import instead_of, of_type
from torchtraceap.data.config import Config
from torchtraceap.data.detector_choice import AUTO, DetectorChoice
from torchtraceap.data.rules import Rule
from torchtraceap.gate.budget import Budget
from torchtraceap.profiling.analyzer import Analyzer, Handler
from torchtraceap.profiling.plan import Plan
from torchtraceap.profiling.session import Session
from torchtraceap.report import Report


def profile(
    *,
    wait: int = 1,
    warmup: int = 1,
    active: int = 3,
    repeat: int | None = None,
    every: int | None = None,
    schedule: Callable[[int], Any] | None = None,
    memory: bool = False,
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
    detector: DetectorChoice = AUTO,
    **torch_options: Any,
) -> Session:
    """Profile a few steps of a loop and report what wastes time in them::

        with torchtraceap.profile() as prof:
            for batch in loader:
                train_step(batch)
                prof.step()

    The first two steps are left out, the next three are recorded, with Python's stacks
    and the shapes of tensors, on all devices there are. The report is printed as soon
    as they are over; after that, `step` costs next to nothing. It is ``prof.report``.

    If there are too few steps, or `step` is never called, nothing is recorded, and a
    warning says how many steps are needed. ``wait=0, warmup=0`` records from the start,
    also a block without `step`.

    Args:
        wait: Steps that pass before each cycle; with ``every`` before the first.
        warmup: Steps in which the profiler runs but does not record yet.
        active: Steps that are recorded.
        repeat: How many such cycles; each has a report. 0: as long as there are steps.
            None: one, with ``every`` 0.
        every: Steps from the beginning of a cycle to the next, for a run of days.
        schedule: Instead of these, as ``torch.profiler.schedule`` returns it.
        memory: Record each allocation too (torch's ``profile_memory``), for
            ``report.memory``. It makes steps longer.
        quiet: Print nothing: ``verbosity=0``.
        on_trace_ready: Handlers of yours, one or several, called with torch's profiler
            after the analysis.
        folder: As for ``Analyzer``; so are formats, budget, verbosity, callbacks, keep,
            name, max_events, config, rules and detector.
        **torch_options: Options of ``torch.profiler.profile``, such as ``activities``
            or ``with_flops``. ``with_stack`` and ``record_shapes`` are True unless
            given.

    Raises:
        ValueError, TypeError: An option is invalid.
        OSError: ``folder`` cannot be made.
        ImportError: torch is not installed.
    """
    if isinstance(on_trace_ready, Analyzer):
        raise TypeError(
            "profile analyzes by itself: give it the options of the Analyzer instead"
        )
    if repeat is None:
        repeat = 1 if every is None else 0
    plan = Plan(wait, warmup, active, repeat, schedule, every)
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
    if memory:
        options["profile_memory"] = True
    _refuse_unknown(options)
    if options.get("activities") is not None:
        options["activities"] = _checked_activities(options["activities"])
    if every is not None and options.get("acc_events"):
        raise ValueError(
            "acc_events keeps the events of all cycles in memory, which every has no "
            "end of: give one of the two"
        )
    return Session(plan, analyzer, options)


def _checked_activities(activities: object) -> object:
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
    return activities if isinstance(activities, dict) else given  # with settings


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
