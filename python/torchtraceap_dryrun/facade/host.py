# SPDX-License-Identifier: BSD-3-Clause
"""host.py: what the stand-ins for torch.cuda tell, and ask, of the run they are in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.record import DEFAULT_STREAM, CallKind

if TYPE_CHECKING:
    from torchtraceap_dryrun.estimate.gpus import Gpu


class Host(Protocol):
    """The recorder, as far as the stand-ins know it."""

    gpu: Gpu
    current_stream: int

    def call(
        self, kind: CallKind, stream: int = DEFAULT_STREAM, event: int = -1
    ) -> Any:
        """Write down that the host orders streams."""

    def wait(self, api: str) -> Any:
        """Write down that the host waits, after the `call` that says for what."""

    def note(self, sentence: str) -> Any:
        """Say once what is not as on a GPU."""

    def check_thread(self) -> Any:
        """Raise DryRunError in a thread that is not followed."""

    def memory(self) -> tuple[int, int]:
        """Return the bytes that tensors take now, and the most since `reset_peak`."""

    def reset_peak(self) -> Any:
        """Begin to look for the most anew."""


_active: Host | None = None
_run = 0  # How many runs there were.


def active() -> Host:
    """Return the host of the run that is under way.

    Streams and events may live longer than the run that made them, as in a variable of
    a module, so they do not keep a host of their own.

    Raises:
        DryRunError: None is under way.
    """
    if _active is None:
        raise DryRunError(
            "this stream or event was made in a dry run that has ended. Make a new one"
        )
    return _active


def is_active() -> bool:
    """Tell whether a run is under way."""
    return _active is not None


def set_active(host: Host | None) -> None:
    """Let a host be the one of the run that is under way; None: of none."""
    global _active, _run
    _active = host
    _run += host is not None


def run_number() -> int:
    """Tell one run from those before it."""
    return _run
