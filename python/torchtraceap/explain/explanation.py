# SPDX-License-Identifier: BSD-3-Clause
"""explanation.py: a finding or a window explained, by rules and by a model, also as
text for a terminal.

In text all that a trace, a file or a model said passes through `printable`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from torchtraceap._core import Finding, Window
from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import wrapped
from torchtraceap.base.units import counted
from torchtraceap.data.opinion import Opinion
from torchtraceap.explain.digest import Digest
from torchtraceap.views.opinion_text import opinion_texts

_INDENT = "  "
_PARTS = (("What", "what"), ("Why", "why"), ("Fix", "fix"), ("Gain", "gain"))


@dataclass(frozen=True)
class CodeChange:
    """Code before a fix and after it."""

    before: str
    after: str
    #: Where `before` lies: of the user's own file; "" for an example of the pattern's
    #: page, as where the file is not available or the line is of no form that is known.
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A finding or a window explained: without a model, and beside it by one."""

    subject: str  #: The id of the finding, or ``window 12``.
    finding: Finding | None
    window: Window | None
    #: What it is: of a finding its pattern, of a window the label that wastes most or,
    #: where rules are silent, the detector's guess; "none" where both are silent.
    pattern: str
    origin: str  #: Who says so: "rule", "dry-run", "model"; of "none" "rule".
    what: str  #: What happens.
    why: str  #: Why that costs time.
    fix: str  #: What helps, in words.
    change: CodeChange | None  #: The same as code; None: no code would be right.
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
        return explanation_text(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))  # What a notebook shows.


@dataclass(frozen=True)
class Usage:
    """The cost of asking a model."""

    requests: int = 0  #: Requests that were answered.
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


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

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def explanation_text(explanation: Explanation) -> str:
    """Return an explanation as plain text of the summary's width; code is as wide as it
    is."""
    lines = [_title(explanation), ""]
    for title, name in _PARTS:
        if said := getattr(explanation, name):
            lines += wrapped(printable(said), _INDENT * 3, f"{_INDENT}{title + ':':<6}")
            if name == "fix":
                lines += _change_lines(explanation.change)
    if explanation.check:
        lines += ["", f"{_INDENT}To keep it so, a test:"]
        lines += [_INDENT * 2 + line for line in _code(explanation.check)]
    lines += ["", f"{_INDENT}More: {_more(explanation)}"]
    if explanation.opinion:
        lines.append("")
        for paragraph in opinion_texts(explanation.opinion):
            lines += wrapped(paragraph, _INDENT * 2, _INDENT)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _more(explanation: Explanation) -> str:
    """Say where there is more: the pages of patterns come with the package too."""
    if explanation.docs == f"docs/patterns/{explanation.pattern}.md":
        return f"torchtraceap patterns {explanation.pattern}, or {explanation.docs}"
    return explanation.docs


def usage_text(usage: Usage) -> str:
    """Say what asking a model cost; "" if none was asked."""
    if not (usage.requests or usage.failed):
        return ""
    parts = [counted(usage.requests, "answer")]
    parts.append(f"{usage.prompt_tokens:,} tokens sent")
    parts.append(f"{usage.completion_tokens:,} received")
    if usage.failed:
        parts.append(f"{usage.failed} without an answer")
    return f"Asking the model: {', '.join(parts)}."


def _title(explanation: Explanation) -> str:
    finding, pattern = explanation.finding, explanation.pattern
    if finding and not explanation.window:
        pattern = finding.kind
    who = {"model": ", by the detector", "dry-run": ", in a dry run"}
    return printable(
        f"{explanation.subject}: {pattern}{who.get(explanation.origin, '')}"
    )


def _change_lines(change: CodeChange | None) -> Iterator[str]:
    if change is None:
        return
    after = "After:" if change.after else "After: taken out."
    for title, code in ((_before(change), change.before), (after, change.after)):
        yield ""
        yield f"{_INDENT * 3}{title}"
        yield from (_INDENT * 4 + line for line in _code(code) if code)
    yield ""


def _before(change: CodeChange) -> str:
    if not change.place:
        return "Before (an example, not your code):"
    return f"Before ({printable(change.place)}, the file as it is now):"


def _code(code: str) -> list[str]:
    """Return the lines of code, safe to show; tabs would be escapes."""
    lines = code.rstrip("\n").split("\n")
    return [printable(line.expandtabs(4)) for line in lines]
