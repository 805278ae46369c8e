# SPDX-License-Identifier: BSD-3-Clause
"""step_function.py: ``torchtraceap.profile_steps``, a decorator for a step."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ParamSpec, Protocol, TypeVar, cast, overload

from torchtraceap.base.arguments import of_type
from torchtraceap.profiling import slot
from torchtraceap.profiling.notices import warn
from torchtraceap.profiling.profile import profile
from torchtraceap.profiling.session import Session

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class SteppedFunction(Protocol[P, R_co]):
    """A function whose calls are profiled as steps."""

    session: Session

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    def __get__(self, obj: Any, owner: Any = None) -> Callable[..., R_co]: ...


@overload
def profile_steps(function: Callable[P, R_co], /) -> SteppedFunction[P, R_co]: ...
@overload
def profile_steps(
    **options: Any,
) -> Callable[[Callable[P, R_co]], SteppedFunction[P, R_co]]: ...
def profile_steps(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Profile a few calls of a function, each as a step, and report::

        @torchtraceap.profile_steps
        def train_step(batch): ...

        @torchtraceap.profile_steps(active=5, folder="reports")
        def train_step(self, batch): ...

    The cycle begins with the first call; a step ends with its call and begins where
    the call before ended, so what feeds the function is in it. Once the report is
    there, a call costs what one more Python call costs. If the program ends before, it
    reports what it has.

    What ``with torchtraceap.profile(...) as prof`` gives as ``prof`` is here
    ``train_step.session``: ``train_step.session.report``. Calls of other threads, calls
    inside a call, and calls while another profiler runs are not profiled; of the last
    there is one warning, and a later call tries again. Put it outside of
    ``torch.compile``.

    Args:
        function: A function or a method; no coroutine, no generator.
        **options: As for ``torchtraceap.profile``.

    Raises what ``profile`` raises, TypeError if it is no such function.
    """
    if function is None:
        return partial(profile_steps, **options)
    if not callable(function):
        raise TypeError(
            f"profile_steps decorates a function, but got one {of_type(function)}; "
            "options are given by name"
        )
    if _works_later(function):
        raise TypeError(
            "profile_steps decorates a function that does a step when it is called; "
            "a coroutine or a generator does it later. Use torchtraceap.profile."
        )
    steps = _Steps(getattr(function, "__name__", "the function"), options)

    @wraps(function)
    def stepped(*args: Any, **kwargs: Any) -> Any:
        if steps.are_over or not steps.begin():
            return function(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        finally:
            steps.end()

    out = cast("SteppedFunction[..., Any]", stepped)
    out.session = steps.session
    return out


def _works_later(function: Callable[..., Any]) -> bool:
    """Tells whether a call returns before its work is done, or even begun."""
    while isinstance(function, partial):
        function = function.func
    return any(
        inspect.iscoroutinefunction(one)
        or inspect.isgeneratorfunction(one)
        or inspect.isasyncgenfunction(one)
        for one in (function, vars(type(function)).get("__call__"))
    )


class _Steps:
    """The calls of one function, as steps of a session."""

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.session = profile(**options)
        self.session.step_call = f"{name}()"
        self.are_over = False
        self._name = name
        self._thread: threading.Thread | None = None
        self._inside = False
        self._is_refused = False
        self._lock = threading.Lock()

    def begin(self) -> bool:
        """Tells whether the call that begins is a step."""
        with self._lock:
            here = threading.current_thread()
            if self._thread is not None and not self._thread.is_alive():
                self.session.stop()  # no other thread can do it any more
                self.are_over = True
                return False
            if self._inside or self._thread not in (None, here):
                return False
            if self._thread is None and not self._start():
                return False
            self._thread = here
            self._inside = True
            return True

    def end(self) -> None:
        """Ends the call that is a step."""
        self._inside = False
        self.session.step()
        self.are_over = not (self.session.is_running or slot.is_anything_left())

    def _start(self) -> bool:
        try:
            self.session.start()
        except Exception as error:
            if not self._is_refused:
                self._is_refused = True
                warn(f"calls of {self._name} are not profiled yet: {error}")
            return False
        return True
