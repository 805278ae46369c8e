# SPDX-License-Identifier: BSD-3-Clause
"""safe_text.py: makes text from a trace safe to show.

Names in a trace are whatever the profiled program chose. Shown raw, they could drive
a terminal, forge a line of the report or reverse its reading order.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

# Controls, formats (bidirectional and zero-width marks), lone surrogates, private and
# unassigned characters, line and paragraph separators, blanks other than " ".
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# Letters, marks and a symbol by their categories, but nothing is drawn for them:
# combining grapheme joiner, Hangul fillers, Khmer inherent vowels, blank Braille.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
# Marks that are drawn over the character before them. No script needs more on one;
# hundreds are drawn over the lines around, and one at the start over our own text.
_MARKS = frozenset({"Mn", "Me"})
_MOST_MARKS = 4

# What our own text needs where the terminal's encoding has no such characters.
_ASCII = str.maketrans({"×": "x", "µ": "u", "…": "...", "–": "-", "≤": "<="})


def printable(text: str, width: int = 0) -> str:
    """Return `text` on one line, with unsafe characters written as escapes.

    A ``width`` greater than zero is the longest result; the middle is left out, for
    names often differ at their ends.
    """
    if not (text.isascii() and text.isprintable()):
        text = "".join(_escape(text))
    if width <= 0 or len(text) <= width:
        return text
    tail = (width - 1) // 2
    return text[: width - 1 - tail] + "…" + text[len(text) - tail :]


def encodable(text: str, encoding: str | None) -> str:
    """Return `text` in characters that `encoding` (None: unknown) can write."""
    encoding = encoding or "ascii"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_ASCII)
        return text.encode(encoding, "backslashreplace").decode(encoding)
    except LookupError:
        return encodable(text, "ascii")
    return text


def writable(text: str) -> str:
    """Return `text` with ``?`` for halves of surrogate pairs, which JSON and Python can
    hold but no file in UTF-8 can."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _escape(text: str) -> Iterator[str]:
    marks = _MOST_MARKS
    for c in text:
        category = unicodedata.category(c)
        is_mark = category in _MARKS
        marks = marks + 1 if is_mark else 0
        hidden = (category in _UNSAFE and c != " ") or c in _INVISIBLE
        yield _escaped(c) if hidden or marks > _MOST_MARKS else c


def _escaped(c: str) -> str:
    code = ord(c)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
