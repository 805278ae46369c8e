# SPDX-License-Identifier: BSD-3-Clause
"""answers.py: takes a model's answer apart, and checks its words against what it was
shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from torchtraceap.base.safe_text import printable
from torchtraceap.explain.digest import Digest

_THOUGHTS_END = "</think>"  # Some servers leave the beginning out.
MOST_WORDS = 1_500  # Characters of an explanation or an advice that are kept.
_MOST_PROBLEMS = 10
_MOST_READ = 4_000  # Characters that are checked: of both, and some.

# What a unit measures, and how much of that it is; another word is none.
_UNITS: dict[str, tuple[str, Decimal]] = {
    word: (measures, Decimal(scale))
    for measures, scale, words in (
        ("time", "1", "ns nanosecond nanoseconds"),
        ("time", "1e3", "us µs μs microsecond microseconds"),
        ("time", "1e6", "ms millisecond milliseconds"),
        ("time", "1e9", "s sec secs second seconds"),
        ("time", "6e10", "min minute minutes"),
        ("share", "1", "% percent"),
        ("factor", "1", "x × times"),
        ("bytes", "1", "b byte bytes"),
        ("bytes", "1e3", "kb"),
        ("bytes", "1e6", "mb"),
        ("bytes", "1e9", "gb"),
        ("bytes", "1024", "kib"),
        ("bytes", "1048576", "mib"),
        ("bytes", "1073741824", "gib"),
    )
    for word in words.split()
}
_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_URL = re.compile(r"https?://[^\s\"'<>)\]`]+", re.IGNORECASE)
# A file of source; of another ending where a line of it is named.
_PLACE = re.compile(
    r"([\w./\\-]{1,200}\.(?:(?:pyi?|pyx|ipynb|cuh?|cc|cpp|cxx|hpp)\b"
    r"|[A-Za-z]\w{0,9}(?=:\d|,?\s(?:at\s|on\s)?lines?\s\d)))"
    r"(?:[:(](\d{1,9}))?"
)
_LINE = re.compile(r"\blines?\s+(\d{1,9})(?:\s*(?:-|–|to|and)\s*(\d{1,9}))?\b", re.I)
# What `digest._Names` gives; not c10::Half, nor what types and devices are called.
_ID = re.compile(
    r"(?<![\w.])(?!(?:f(?:8|16|32|64)|a(?:10|30|40|100))\b)[ockafu]\d{1,6}(?!\w|::)"
)
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_NUMBER = re.compile(
    r"(?<![\w.])(\d{1,3}(?:[,_]\d{3})+(?:\.\d+)?|\d{0,30}\.\d{1,30}|\d{1,30})(?!\d)"
    r"(?:\s?(%|×|[a-zµμ]+)(?![\w(]))?",
    re.IGNORECASE,
)
# Shares and factors in words; "half" alone is often a type or a part of a batch.
_SPOKEN = re.compile(
    rf"\b({'|'.join(_WORDS)})[ -]?(times|fold|percent)\b"
    r"|\b(twice) as\b|\b(?:by|in) half\b(?![\s-]precision)"
    r"|\bhalf (?:of )?(?:the|its) (?:\w+ )?time\b",
    re.IGNORECASE,
)
# "1. First", at the start of the words or of a sentence: a list, no figure.
_LIST_MARK = re.compile(r"(?:^|(?<=[.:;!?\n]))\s*\(?[1-9][.)]\s")


@dataclass(frozen=True)
class _Number:
    text: str  # As it is written, with its unit.
    value: Decimal
    digits: int  # Behind the point.
    unit: str  # What it measures; "" if that is not stated.
    scale: Decimal
    is_in_code: bool


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
        raise ValueError("is not a JSON object" if content.strip() else "is empty")
    checked = {}
    for name, wanted in schema["properties"].items():
        value = answer.get(name)
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"has no text for {name!r}")
        if "enum" in wanted:
            value = value.strip().lower()
            if value not in wanted["enum"]:
                raise ValueError(
                    f"names {printable(value, 40)!r}, which is not a {name}"
                )
        checked[name] = value
    return checked


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # Not JSON, or nested to crash who reads it.
        return None


def problems_of(text: str, digest: Digest) -> tuple[str, ...]:
    """Return what of a model's words is not in the digest, as they write it: ids,
    files, lines, numbers, links.

    A number is there if the same amount is, in whatever unit or with its last digits
    rounded away to no fewer than two. In code, numbers are settings that are proposed,
    and are free, except for times, shares and factors.
    """
    text, shown = text[:_MOST_READ], digest.text
    found = [*_links(text, shown)]
    text = _URL.sub(" ", text)
    found += [*_places(text, shown), *_ids(text, shown)]
    for pattern in (_PLACE, _LINE, _ID):
        text = pattern.sub(" ", text)
    found += _numbers_not_in(text, shown)
    return tuple(dict.fromkeys(printable(one, 80) for one in found))[:_MOST_PROBLEMS]


def safe_words(text: str) -> str:
    """Return a model's words on one line, cut where they are too long; what could drive
    a terminal is written as escapes. Each view escapes its own markup."""
    line = printable(" ".join(text[: 2 * MOST_WORDS].split()))
    return line if len(line) <= MOST_WORDS else line[: MOST_WORDS - 1] + "…"


def _links(text: str, shown: str) -> Iterator[str]:
    known = {one.rstrip(".,;:") for one in _URL.findall(shown)}
    for link in _URL.findall(text):
        if link.rstrip(".,;:") not in known:
            yield link


def _places(text: str, shown: str) -> Iterator[str]:
    known = {(_base(file), line) for file, line in _PLACE.findall(shown)}
    files = {file for file, _ in known}
    # Of files, of words, and numbers before lines of source.
    lines = {line for _, line in known} | set(
        re.findall(r"^[ >*]*(\d{1,9})(?=[ |:])", shown, re.MULTILINE)
    )
    lines |= {line for pair in _LINE.findall(shown) for line in pair}
    for file, line in _PLACE.findall(text):
        if _base(file) not in files or (line and (_base(file), line) not in known):
            yield f"{file}:{line}" if line else file
    for pair in _LINE.findall(text):
        for line in pair:
            if line and line not in lines:
                yield f"line {line}"


def _ids(text: str, shown: str) -> Iterator[str]:
    known = set(_ID.findall(shown))
    yield from (one for one in _ID.findall(text) if one not in known)


def _numbers_not_in(text: str, shown: str) -> Iterator[str]:
    known = [*_numbers(shown)]
    for number in (*_numbers(_LIST_MARK.sub(" ", text)), *_spoken(text)):
        free = number.is_in_code and number.unit not in ("time", "share", "factor")
        if not free and not any(_is_same(number, other) for other in known):
            yield number.text


def _numbers(text: str) -> Iterator[_Number]:
    code = [match.span() for match in _CODE.finditer(text)]
    for match in _NUMBER.finditer(text):
        begin, digits = match.start(), match[1]
        unit, scale = _UNITS.get((match[2] or "").lower(), ("", Decimal(1)))
        yield _Number(
            text=match[0] if unit else digits,
            value=Decimal(re.sub("[,_]", "", digits)),
            digits=len(digits.partition(".")[2]),
            unit=unit,
            scale=scale,
            # Also `num_workers=4` and `cuda:0` without a mark of code.
            is_in_code=text[:begin].endswith(("=", ":"))
            or any(first <= begin < last for first, last in code),
        )


def _spoken(text: str) -> Iterator[_Number]:
    for match in _SPOKEN.finditer(text):
        word, unit = match[1], (match[2] or "").lower()
        value, measures = Decimal(50), "share"  # A half.
        if word or match[3]:
            value = Decimal(_WORDS.index(word.lower()) + 2 if word else 2)
            measures = "share" if unit == "percent" else "factor"
        yield _Number(match[0], value, 0, measures, Decimal(1), is_in_code=False)


def _is_same(said: _Number, shown: _Number) -> bool:
    if said.unit and shown.unit and said.unit != shown.unit:
        return False
    amount = shown.value
    if said.unit and shown.unit:
        amount *= shown.scale / said.scale
    if said.value == amount:
        return True
    figures = len(str(said.value).replace(".", "").lstrip("0"))
    half = Decimal(5).scaleb(-said.digits - 1)  # Of the last digit.
    return figures >= 2 and abs(said.value - amount) <= half


def _base(file: str) -> str:
    return re.split(r"[/\\]", file)[-1]
