# SPDX-License-Identifier: BSD-3-Clause
"""deepspeed.py: profiles the steps of a DeepSpeed engine (docs/integrations.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from torchtraceap.integrations.training_profile import STEP_CALL
from torchtraceap.profiling.profile import profile
from torchtraceap.profiling.session import Session

# What updates the weights: of a plain engine, and of one for pipelines.
_STEPS = ("step", "train_batch")


@contextmanager
def profile_engine(engine: Any, **options: Any) -> Iterator[Session]:
    """Profiles a few steps of a DeepSpeed engine and says what wastes time::

        with profile_engine(engine) as prof:
            for batch in loader:
                loss = engine(batch)
                engine.backward(loss)
                engine.step()
        prof.report

    A step is one of the optimizer: ``engine.step()`` at a boundary of gradient
    accumulation, with all micro-batches before it and what fetches them, or
    ``engine.train_batch()`` of a pipeline. Each of several ranks has its report, and
    the first one prints.

    Args:
        engine: What ``deepspeed.initialize`` returns first.
        **options: As for ``torchtraceap.profile``.

    Raises what ``torchtraceap.profile`` and the session's `start` raise, TypeError if
    it is not an engine.
    """
    if not hasattr(engine, "global_steps"):
        raise TypeError(
            "profile_engine takes the engine that deepspeed.initialize returns first, "
            f"but got {type(engine).__name__}"
        )
    session = profile(**options)
    session.step_call = STEP_CALL
    updates = engine.global_steps  # Counted at boundaries of accumulation only.

    def stepping(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def stepped(*args: Any, **kwargs: Any) -> Any:
            nonlocal updates
            result = function(*args, **kwargs)
            if engine.global_steps != updates:
                updates = engine.global_steps
                session.step()
            return result

        return stepped

    wrapped = [name for name in _STEPS if hasattr(engine, name)]
    for name in wrapped:
        vars(engine)[name] = stepping(getattr(engine, name))
    try:
        with session:
            yield session
    finally:
        for name in wrapped:
            del vars(engine)[name]
