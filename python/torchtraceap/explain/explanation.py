# SPDX-License-Identifier: BSD-3-Clause
"""explanation.py: what is said of a finding or a window, by rules and by a model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from torchtraceap.data.events import Window
from torchtraceap.data.findings import Finding
from torchtraceap.data.opinion import Opinion
from torchtraceap.explain.digest import Digest


@dataclass(frozen=True)
class Change:
    """Code before a fix and after it."""

    before: str
    after: str
    #: Where `before` lies: of the user's own file; "" for an example of the pattern's
    #: page, as where the file is not at hand or the line is of no form that is known.
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A finding or a window explained: without a model, and beside it by one."""

    subject: str  #: The id of the finding, or ``window 12``.
    finding: Finding | None
    window: Window | None
    #: What it is: of a finding its pattern, of a window the label that wastes most or,
    #: where rules are silent, the detector's guess; "none" where nobody says anything.
    pattern: str
    origin: str  #: Who says so: "rule", "dry-run", "model"; of "none" "rule".
    what: str  #: What happens.
    why: str  #: Why that costs time.
    fix: str  #: What helps, in words.
    change: Change | None  #: The same as code; None: no code would be right.
    gain: str  #: What a fix gains, or why that is not known.
    check: str  #: Code that keeps it fixed: a test or a budget.
    docs: str  #: The page of the pattern.
    digest: Digest  #: What a model is shown of it.
    opinion: Opinion | None = None  #: None: no model was asked.

    def to_dict(self) -> dict[str, Any]:
        """Return it as what ``json.dumps`` takes; finding and window by their ids."""
        text = ("subject", "pattern", "origin", "what", "why", "fix")
        rest = ("gain", "check", "docs")
        return {
            **{name: getattr(self, name) for name in text},
            "change": self.change and asdict(self.change),
            **{name: getattr(self, name) for name in rest},
            "opinion": self.opinion and self.opinion.to_dict(),
        }

    def __str__(self) -> str:
        from torchtraceap.explain.text import explanation_text

        return explanation_text(self)


@dataclass(frozen=True)
class Usage:
    """What asking cost."""

    requests: int = 0  #: That were answered; those from the cache not counted.
    cached: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = None  #: None: no prices were given.
    seconds: float = 0.0


class Explanations(tuple[Explanation, ...]):
    """Explanations in the order in which they were asked for, findings first."""

    usage: Usage

    @classmethod
    def of(cls, those: Iterable[Explanation], usage: Usage) -> Explanations:
        """Make them of explanations, and of what it cost to ask a model."""
        made = cls(those)
        made.usage = usage
        return made

    def __str__(self) -> str:
        return "\n\n".join(map(str, self))
