# SPDX-License-Identifier: BSD-3-Clause
"""masking.py: takes out of names and source lines what must not leave the machine.

Paths become the names of their files; secrets, mail addresses and hosts a word that
says what was there. It knows forms, not meanings: a password that looks like a word
passes, so who sends lines of source is told to look first (``--dry-run``).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

#: What a secret of a known kind looks like, and assignments to what is called one.
_SECRETS = re.compile(
    r"""
    -----BEGIN[ A-Z]*PRIVATE\ KEY.*
    | \b(?:sk|pk|rk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9_-]{16,}   # OpenAI, Stripe
    | \b(?:hf|gh[opsur]|glpat|github_pat|npm|pypi|xox[abeoprs]|dop_v1|wandb_v\d)
      [-_][A-Za-z0-9_-]{10,}
    | \b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}                        # AWS
    | \bAIza[A-Za-z0-9_-]{20,}                                      # Google
    | \bey[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?  # JSON web tokens
    | (?:(?:api|access|auth|secret|private|signing|encryption|client)[-_]?)?
      (?:key|token|secret|passw(?:or)?d|passphrase|credentials?)
      ["']?\s*(?:=|:)\s*
      (?:"[^"]{4,}"|'[^']{4,}'|(?=[\w+/=-]*\d)[\w+/=-]{8,}(?![\w.(\[]))
    | \b[Bb]earer\s+[A-Za-z0-9._~+/=-]{8,}
    | \b(?=[A-Za-z0-9+/_-]*\d)(?=[A-Za-z0-9+/_-]*[A-Za-z])
      (?:[A-Fa-f0-9]{32,}|[A-Za-z0-9+/]{40,}={0,2})                 # hashes, base64
    """,
    re.VERBOSE | re.IGNORECASE,
)
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("url", re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>)]+")),
    ("secret", _SECRETS),
    ("address", re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    ("host", re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b")),
    # From a root, a drive, a share or home; or relative, if it leads to a file.
    (
        "path",
        re.compile(
            r"""
            (?<![\w.])(?:[A-Za-z]:[\\/]|\\\\|\.{1,2}/|~\w*/|/)
            (?:[\w.@+~-][\w.@+~ -]*[\\/])+
            | (?<![\w./])(?:[\w.@+-]+[\\/])+(?=[\w.+-]+\.[A-Za-z]\w{0,4}\b)
            """,
            re.VERBOSE,
        ),
    ),
)
_LONGEST = 1000
_OBJECT = re.compile(r"\b0x[0-9a-fA-F]{6,}")


@dataclass
class Mask:
    """Masks texts and counts what it took out of them."""

    taken: Counter[str] = field(default_factory=Counter)

    def __call__(self, text: str) -> str:
        """Return a text without what it may not tell."""
        text = text[:_LONGEST]  # Before the forms, some of which take time squared.
        for kind, form in _FORMS:
            # Of a path only its folders are taken: what is left names the file.
            instead = "" if kind == "path" else f"<{kind}>"
            text, count = form.subn(instead, text)
            self.taken[kind] += count
        # Addresses of objects say nothing, and differ from run to run.
        return _OBJECT.sub("0x…", text)

    @property
    def counts(self) -> tuple[tuple[str, int], ...]:
        """What was taken out, and how often."""
        return tuple(sorted((kind, n) for kind, n in self.taken.items() if n))
