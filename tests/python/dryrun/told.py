# SPDX-License-Identifier: BSD-3-Clause
"""told.py: a recorder that only remembers its calls."""

from __future__ import annotations

from dataclasses import dataclass, field

from torchtraceap_dryrun.estimate.gpus import Gpu, gpu


@dataclass
class Told:
    """A recorder that only remembers."""

    gpu: Gpu = field(default_factory=lambda: gpu("H100"))
    current_stream: int = 7
    calls: list[tuple[str, int, int]] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    now: int = 0
    peak: int = 0

    def check_thread(self) -> None:
        """Follow all of them."""

    def call(self, kind: str, stream: int = 7, event: int = -1) -> None:
        self.calls.append((kind, stream, event))

    def wait(
        self, api: str, kind: str, stream: int | None = None, event: int = -1
    ) -> None:
        self.call(kind, self.current_stream if stream is None else stream, event)
        self.waits.append(api)

    def note(self, sentence: str) -> None:
        self.notes.append(sentence)

    @property
    def live(self) -> Told:
        """What counts memory."""
        return self

    def use(self, size: int) -> None:
        self.now = size
        self.peak = max(self.peak, size)
