# SPDX-License-Identifier: BSD-3-Clause
"""explanation.py: what is said of a finding or a window, by rules and by a model."""

from __future__ import annotations

from dataclasses import dataclass, field

from torchtraceap.data.events import Window
from torchtraceap.data.findings import Finding
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
class Opinion:
    """What a language model said of one digest: its origin is "llm".

    It decides no figure. ``pattern`` was asked without any name of the trace, so that
    no name can decide it; the words were asked with the names, as quoted data.
    """

    subject: str  #: The id of a finding, or ``window 12``.
    model: str
    key: str  #: Of the digest, SHA-256 in hex: what answers are kept by.
    #: The pattern that it names, or "none"; None: it gave no answer that can be used.
    pattern: str | None = None
    agrees: bool | None = None  #: With rules, or of where they are silent the detector.
    explanation: str = ""
    advice: str = ""
    #: What in its words is not in the digest: ids, numbers, lines. Words with such are
    #: shown with a mark.
    problems: tuple[str, ...] = ()
    #: "" or a stable word for why there is no answer, or only a part of one: "timeout",
    #: "unreachable", "key", "refused", "truncated", "malformed", "overflow", "limit"
    #: (too many requests), "server".
    failure: str = ""
    why: str = ""  #: The failure in a sentence, with what to do.
    cached: bool = False
    prompt_tokens: int = 0  #: As the endpoint counts them; 0 of a cached answer.
    completion_tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A finding or a window explained: without a model, and beside it by one."""

    subject: str  #: The id of the finding, or ``window 12``.
    finding: Finding | None
    window: Window | None
    #: What it is: of a finding its pattern, of a window the label that wastes most, or
    #: of where rules are silent the detector's guess; "none" where nobody says a thing.
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


@dataclass(frozen=True)
class Explanations:
    """Explanations in the order in which they were asked for."""

    explanations: tuple[Explanation, ...]
    usage: Usage = field(default_factory=Usage)

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self.explanations)
