# SPDX-License-Identifier: BSD-3-Clause
"""opinion.py: what a language model said of findings and windows, and how that ranks.

No figure comes from here, and no order of the findings themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from torchtraceap._core import Finding

#: Who says so.
LLM = "llm"
#: What a model answers where none of the patterns is to blame.
NONE = "none"
#: What a finding counts for in the order where the model names another pattern, or
#: none: its gain stays the larger part of the order. Chosen.
_OTHER, _NONE = 1 / 2, 1 / 4


@dataclass(frozen=True, kw_only=True)
class Opinion:
    """What a language model said of one digest: its origin is "llm".

    It decides no figure. ``pattern`` was asked without any name of the trace, so that
    no name can decide it; the words were asked with the names, as quoted data.
    """

    subject: str  #: The id of a finding, or ``window 12``.
    model: str
    key: str  #: Of the digest, SHA-256 in hex.
    #: The pattern that it names, or "none"; None: it gave no answer that can be used.
    pattern: str | None = None
    #: With rules: it names the finding's pattern, or another that costs 5 % and more of
    #: its windows. Where they are silent, with the detector. None: no answer.
    agrees: bool | None = None
    #: With the detector: it names what that guesses where it flags; or "none" where it
    #: flags nothing. None: no answer, or the detector says nothing of these windows.
    agrees_with_detector: bool | None = None
    explanation: str = ""
    advice: str = ""
    #: What in its words is not in the digest: ids, numbers, lines. Words with such are
    #: shown with a mark.
    problems: tuple[str, ...] = ()
    #: "" or a stable word for why there is no answer, or only a part of one: "timeout",
    #: "unreachable", "key", "refused", "truncated", "malformed", "overflow", "limit"
    #: (too many requests), "server", "model" (there is none of that name).
    failure: str = ""
    why: str = ""  #: The failure in a sentence, with what to do.
    requests: int = 0  #: That were answered for it.
    prompt_tokens: int = 0  #: As the endpoint counts them.
    completion_tokens: int = 0
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return it as what ``json.dumps`` takes, with its origin."""
        return asdict(self) | {"origin": LLM, "problems": list(self.problems)}


@dataclass(frozen=True)
class Ranked:
    """A finding at its place in the order in which opinions put them."""

    finding: Finding
    was: int  #: Its place among ``Report.findings``, from 0.
    opinion: Opinion | None = None

    @property
    def text(self) -> str:
        """What the opinion is, in a few words; "" without one."""
        if self.opinion is None or self.opinion.pattern is None:
            return ""
        pattern = self.opinion.pattern
        return f"{LLM}: {'agrees' if self.opinion.agrees else f'says {pattern}'}"


def ranked(
    findings: Sequence[Finding], opinions: Iterable[Opinion]
) -> tuple[Ranked, ...]:
    """Return findings in the order of their gains, of which those count half that a
    model calls something else, and a quarter those that it calls nothing.

    Findings without a known gain stay after those with one, those of the detector last,
    each in the same way by the time that they waste. Without an opinion that disagrees
    the order is that of the findings.
    """
    said = {o.subject: o for o in opinions if o.pattern is not None}
    rows = [Ranked(f, was, said.get(f.id)) for was, f in enumerate(findings)]
    if all(_weight(row.opinion) == 1 for row in rows):
        return tuple(rows)
    kinds = {
        kind: [row for row in rows if _kind(row.finding) == kind]
        for kind in dict.fromkeys(_kind(row.finding) for row in rows)
    }
    return tuple(row for kind in kinds.values() for row in _in_order(kind))


def _kind(finding: Finding) -> tuple[bool, bool]:
    return finding.basis == "model", finding.recoverable_us is None


def _in_order(rows: list[Ranked]) -> list[Ranked]:
    """Move each that counts less behind those that then are worth more."""
    worth = [_worth(row.finding) for row in rows]
    # The order that there is stays: a finding is worth no more than those before it.
    least = [min(worth[: i + 1]) for i in range(len(worth))]
    order = sorted(
        range(len(rows)), key=lambda i: (-least[i] * _weight(rows[i].opinion), i)
    )
    return [rows[i] for i in order]


def _worth(finding: Finding) -> float:
    if finding.basis == "model":
        return 1.0  # It claims no time.
    gain = finding.recoverable_us
    return finding.wasted_us if gain is None else gain


def _weight(opinion: Opinion | None) -> float:
    if opinion is None or opinion.agrees is not False:
        return 1.0
    return _NONE if opinion.pattern == NONE else _OTHER
