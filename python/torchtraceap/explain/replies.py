# SPDX-License-Identifier: BSD-3-Clause
"""replies.py: what an endpoint answered, whatever that may be."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from torchtraceap.base.safe_text import printable

_THOUGHTS_END = "</think>"  # Some servers leave the beginning out.
_MOST_TOKENS = 10**9  # A larger count is no count.


@dataclass(frozen=True)
class Reply:
    """An answer of chat completions, taken apart."""

    content: str
    finish: str  #: "stop", "length", "content_filter"; "" if that is not said.
    refusal: str  #: The words of a model that refuses; "" if it does not.
    prompt_tokens: int
    completion_tokens: int


def reply_of(text: str) -> Reply:
    """Take an answer's body apart; what is missing or of a wrong type is empty.

    Raises ValueError, which says what it is instead, if there is no choice in it.
    """
    data = _json(text)
    if data is None:
        start = printable(" ".join(text[:400].split()), 60)
        what = "an HTML page" if text.lstrip()[:1] == "<" else "no JSON"
        raise ValueError(f"answers with {what} ({start!r})")
    choices = data.get("choices") if isinstance(data, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        raise ValueError("answers with JSON that holds no choice")
    message, usage = _dict(choice.get("message")), _dict(data.get("usage"))
    return Reply(
        content=_str(message.get("content")),
        finish=_str(choice.get("finish_reason")),
        refusal=_str(message.get("refusal")),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
    )


def answer_of(content: str, schema: dict[str, Any]) -> dict[str, str]:
    """Return what a model says, as the schema of the request has it: words by name.

    Thoughts before the JSON, a fence or words around it are left out: models to which
    the schema is not forced write such. Raises ValueError, which says what is wrong.
    """
    content = content.rpartition(_THOUGHTS_END)[2]
    answer = _json(content)
    if answer is None and "{" in content:
        answer = _json(content[content.index("{") : content.rfind("}") + 1])
    if not isinstance(answer, dict):
        raise ValueError("is no JSON object" if content.strip() else "is empty")
    checked = {}
    for name, wanted in schema["properties"].items():
        value = answer.get(name)
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"has no text for {name!r}")
        if "enum" in wanted:
            value = value.strip().lower()
            if value not in wanted["enum"]:
                raise ValueError(f"names {printable(value, 40)!r}, which is no {name}")
        checked[name] = value
    return checked


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # Not JSON, or nested to crash who reads it.
        return None


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _str(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int:
    # True is an int too.
    if type(value) is not int or not 0 <= value <= _MOST_TOKENS:
        return 0
    return value
