# SPDX-License-Identifier: BSD-3-Clause
"""digest.py: what a language model is shown of a finding or a window."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256


@dataclass(frozen=True, kw_only=True)
class Digest:
    """The facts of a finding or a window, in few tokens and in a text people can read.

    It is the same for the same trace. ``facts`` hold no text that the trace chose: its
    names stand there by short ids with the kind of thing that they name. ``told`` holds
    what rules, replay and detector say, then the names as quoted data, and where that
    was asked for the lines of source.
    """

    subject: str  #: The id of a finding, or ``window 12``.
    facts: str
    told: str
    candidates: tuple[str, ...]  #: The patterns that ``facts`` describe.
    #: What of names and source was taken out, with how often: "path", "secret".
    masked: tuple[tuple[str, int], ...] = ()

    @property
    def text(self) -> str:
        """All of it."""
        return f"{self.facts}\n{self.told}"

    @cached_property
    def key(self) -> str:
        """SHA-256 of the text, in hex."""
        return sha256(self.text.encode()).hexdigest()
