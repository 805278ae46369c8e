# SPDX-License-Identifier: BSD-3-Clause
"""text.py: an explanation as text for a terminal, and as Markdown.

All that a trace, a file or a model said passes through `printable`.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import wrapped
from torchtraceap.base.units import counted
from torchtraceap.explain.explanation import Change, Explanation, Usage
from torchtraceap.views.opinion_text import opinion_texts

_INDENT = "  "
_PARTS = (("What", "what"), ("Why", "why"), ("Fix", "fix"), ("Gain", "gain"))


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
    lines += ["", f"{_INDENT}More: {explanation.docs}"]
    if explanation.opinion:
        lines.append("")
        for paragraph in opinion_texts(explanation.opinion):
            lines += wrapped(paragraph, _INDENT * 2, _INDENT)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def explanation_markdown(explanation: Explanation) -> str:
    """Return the same as Markdown."""
    parts = [f"## {_escaped(_title(explanation))}"]
    for title, name in _PARTS:
        if said := getattr(explanation, name):
            parts.append(f"**{title}.** {_escaped(printable(said))}")
            change = explanation.change
            if name == "fix" and change:
                parts += [f"{_escaped(_before(change))}", _fenced(change.before)]
                parts += ["After:", _fenced(change.after)]
    if explanation.check:
        parts += ["To keep it so, a test:", _fenced(explanation.check)]
    parts.append(f"More: {explanation.docs}")
    if explanation.opinion:
        said = [_escaped(paragraph) for paragraph in opinion_texts(explanation.opinion)]
        parts.append("\n>\n".join(f"> {paragraph}" for paragraph in said))
    return "\n\n".join(parts) + "\n"


def usage_text(usage: Usage) -> str:
    """Say what asking a model cost; "" if none was asked."""
    if not (usage.requests or usage.cached or usage.failed):
        return ""
    parts = [counted(usage.requests, "answer")]
    parts.append(f"{usage.prompt_tokens:,} tokens sent")
    parts.append(f"{usage.completion_tokens:,} received")
    if usage.usd is not None:
        parts.append(f"{usage.usd:.4f} US dollars")
    if usage.cached:
        parts.append(f"{counted(usage.cached, 'finding')} answered from the cache")
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


def _change_lines(change: Change | None) -> Iterator[str]:
    if change is None:
        return
    for title, code in ((_before(change), change.before), ("After:", change.after)):
        yield ""
        yield f"{_INDENT * 3}{title}"
        yield from (_INDENT * 4 + line for line in _code(code))
    yield ""


def _before(change: Change) -> str:
    if not change.place:
        return "Before (an example, not your code):"
    return f"Before ({printable(change.place)}):"


def _code(code: str) -> list[str]:
    """Return the lines of code, safe to show; tabs would be escapes."""
    lines = code.rstrip("\n").split("\n")
    return [printable(line.expandtabs(4)) for line in lines]


def _fenced(code: str) -> str:
    lines = _code(code)
    # A fence that no line of the code can end.
    fence = "```"
    while any(fence in line for line in lines):
        fence += "`"
    return "\n".join([f"{fence}python", *lines, fence])


def _escaped(text: str) -> str:
    for mark in "\\`*_<>[]|#":
        text = text.replace(mark, "\\" + mark)
    return text
