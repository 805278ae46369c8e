# SPDX-License-Identifier: BSD-3-Clause
"""overrides.py: all that makes tensors on the device go CUDA's way. Loads torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from torchtraceap_dryrun.device.dispatch import Dispatch
from torchtraceap_dryrun.overrides import (
    attention,
    autocast,
    collectives,
    compile,
    composites,
    ddp,
    early_autocast,
    foreach,
    loader,
    profilers,
    rnn,
    transformers_loading,
)


@contextmanager
def overrides(run: Dispatch, world_size: int = 8) -> Iterator[None]:
    """Be like the GPU of ``run`` while the block lasts, in what differs from "meta"."""
    with ExitStack() as undo:
        casts = undo.enter_context(autocast.installed())
        undo.enter_context(early_autocast.installed(run.recorder.note))
        undo.enter_context(attention.installed(run.recorder.gpu.compute_capability))
        undo.enter_context(rnn.installed(casts))
        undo.enter_context(composites.installed())
        undo.enter_context(foreach.installed())
        undo.enter_context(loader.installed())
        undo.enter_context(collectives.installed(run, world_size))
        undo.enter_context(ddp.installed(run.recorder))
        undo.enter_context(compile.installed(run.recorder.note))
        undo.enter_context(transformers_loading.installed())
        undo.enter_context(profilers.installed(run.recorder.note))
        yield
