# SPDX-License-Identifier: BSD-3-Clause
"""masking.py: takes out of names and source lines what must not leave the machine.

A path becomes the name of its file, or a word if it leads to none; secrets, mail
addresses, hosts and this machine's own names a word that says what was there. It knows
forms, not meanings: a secret that is called by no such name passes, so who sends lines
of source is asked to look first (``--dry-run``).
"""

from __future__ import annotations

import getpass
import json
import re
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from torchtraceap.base.safe_text import printable

# By the letters that its kind begins with; those of few letters need a digit, too.
_TOKENS = r"""
    \b(?:sk|pk|rk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9_-]{16,}       # OpenAI, Stripe
    | \b(?:hf|api_org|gh[opsur]|glpat|github_pat|npm|pypi|xox[abeoprs]|xapp|nvapi|gsk
        |do[opr]_v1|wandb_v\d|dckr_[po]at|sq0[a-z]{3}|gocspx|age-secret-key)
      [-_][A-Za-z0-9_-]{10,}
    | \b(?:xai|r8|gl[a-z]{2,5}|rubygems|sntrys|shp(?:at|ca|pa|ss)|lsv2_[a-z]{2}|pplx
        |tvly|pmak|p8e|figd|lin_api|secret|ntn|fw)
      [-_](?=[\w.-]*\d)[A-Za-z0-9_.-]{16,}
    | (?-i:\b(?:A3T[A-Z0-9]|AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{12,}  # AWS
      | \b(?:AIza|LTAI|ya29\.|AKC|ATATT3|dapi|hv[bsr]\.|SG\.|SK|AP[\dA-F])
        (?=[\w.-]*\d)[A-Za-z0-9_.=-]{8,}
      | GR1348941[\w-]{20,}
      | \b\d{8,10}:[\w-]{35}\b                                       # Telegram
      | \b[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27}                     # Discord
      | [\w~.]{3}\dQ~[\w~.-]{31,34}                                  # Azure
      | \b[0-9a-z]{32}-us\d{1,2}\b)                                  # Mailchimp
    | \bey[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?  # JSON web tokens
    | (?:-----)?BEGIN[ A-Z\d]*PRIVATE\ KEY.* | PuTTY-User-Key-File.*
"""
# What is called a password, and what may follow it: no call, no type, no comparison.
_PASSWORD = r"(?:passw(?:or)?d|passphrase|passcode|pwd|contrase[nñ]a)"
_ASSIGNED = r"""["'\]]{0,2}\s*(?::?=|:)(?!=)\s*"""
_VALUE = r"""(?:"[^"]+"?|'[^']+'?
    |(?!\w[\w.]*[(\[]|(?:str|bytes|bool|None|True|False)\b)[^\s"',;()\[\]{}]+)"""
_NO_VALUE = "and|are|as|at|bool|does|for|from|if|in|is|must|not|of|on|or|str|to|was"
#: What a secret of a known kind looks like, and assignments to what is called one.
_SECRETS = re.compile(
    rf"""
    {_TOKENS}
    | \bauthorization["']?\s*[:=,]\s*["']?(?:[A-Za-z]+\s+)?[^\s"']+
    | (?:\bauth\s*=\s*|auth)\(\s*["'][^)]*\)?                       # A name, a password
    | (?:secret|{_PASSWORD}|(?<=_)pass\b)\w{{0,20}}{_ASSIGNED}{_VALUE}
    | --[\w-]*(?:secret|{_PASSWORD}|token)\s+[^\s-]\S*
    | \b{_PASSWORD}\s+(?:is\s+)?(?:"[^"]+"?|'[^']+'?
        |(?!(?:{_NO_VALUE})\b)[^\s"',;()\[\]{{}}=:<>!]{{4,}}(?![\w.]*\())
    | (?:set-)?cookies?{_ASSIGNED}(?:\{{[^}}]*\}}?|"[^"]+"?|'[^']+'?
        |(?=\S)(?!\w[\w.]*[(\[]|None\b)[^"'\n]+)
    | (?:sess(?:ion)?[_-]?id|\.sid|_session)["']?\s*[:=]\s*["']?[\w.%-]{{8,}}
    | \b(?:sig|(?:x-\w+-)?signature)=[\w%+/=-]{{16,}}                 # Signed links
    | (?:(?:api|access|auth|secret|private|signing|encryption|client)[-_]?)?
      (?:key|token|credentials?)
      ["']?\s*(?:=|:)\s*
      (?:"[^"]{{4,}}"|'[^']{{4,}}'|(?=[\w+/=-]*\d)[\w+/=-]{{8,}}(?![\w.(\[]))
    | \b[Bb]earer\s+[A-Za-z0-9._~+/=-]{{8,}}
    | \b(?-i:Basic)\s+(?=\S*[\d=])[A-Za-z0-9+/]{{8,}}={{0,2}}
    | \b(?=[A-Za-z0-9+/_-]*\d)(?=[A-Za-z0-9+/_-]*[A-Za-z])
      (?:[A-Fa-f0-9]{{32,}}|[A-Za-z0-9+/]{{40,}}={{0,2}})               # hashes, base64
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Names of Python end like hosts (self.net, torch.dev): of the second kind only those
# count that are long and begin as no such name does.
_HOSTS = re.compile(
    r"""
    (?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?(?![\w.])
    | (?<![\w.@-])(?:[A-Za-z0-9-]+\.)+
      (?:com|org|edu|gov|mil|corp|lan|internal|intranet|localdomain)
      (?::\d+)?(?!\w|\.\w|\()
    | (?<![\w.@-])(?!(?:self|cls|torch|nn|np|tf|jax|model|cfg|config|args)\.)
      (?:[A-Za-z0-9-]+\.){2,}(?:net|io|dev|ai|local|cloud|app|co|uk|de|fr|eu|cn|jp|ru)
      (?::\d+)?(?!\w|\.\w|\()
    | (?<![\w.@\[-])(?:[A-Za-z0-9-]+\.)+
      (?!(?:py|pyx|cu|cuh|c|cc|cpp|cxx|h|hpp|rs|js|ts|go|java)\b)[A-Za-z][\w-]*
      :\d{2,5}(?![\w.])
    # IPv6 and the addresses of network cards; not c10::add, which is C++.
    | (?<![\w:])
      (?:(?:[0-9a-f]{1,4}:){5,7}[0-9a-f]{1,4}
        |(?:[0-9a-f]{1,4}:){2,7}(?::[0-9a-f]{1,4}){1,6}
        |[0-9a-f]{1,4}:(?::[0-9a-f]{1,4}){2,6}
        |(?:fe80|f[cd][0-9a-f]{2}|2[0-9a-f]{3})::[0-9a-f]{1,4})
      (?:%\w+)?(?![\w:])
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PART = r"[\w.@+~$%#&!-][\w.@+~$%#&!=, -]*[\\/]"
_LAST = r"(?:[\w.@+~-]+(?:[=,][\w.@+~-]+)*)?"
# Endings of files that are as long as the names of attributes.
_LONG = "safetensors|parquet|pickle|feather|sqlite3?|tfrecords?|torchscript|tensors"
# From a root, a drive, a share or home, or through a folder of homes; or relative, if
# that leads to a file.
_PATHS = re.compile(
    rf"""
    (?:
      (?<![\w.)\]])/(?:{_PART})+
      | (?<![\w.])(?:[A-Za-z]:[\\/]|\\\\|\.{{1,2}}/|~\w*/)(?:{_PART})*(?=[\w.@+~-])
      | (?<![\w./])(?:[\w.@+-]+[\\/])*?(?:[Hh]ome|[Uu]sers)[\\/](?:{_PART})*(?=\w)
    ){_LAST}
    | (?<![\w./])(?:[\w.@+-]+[\\/])+[\w+-][\w.+-]*\.(?:[A-Za-z]\w{{0,4}}|{_LONG})\b
    | (?<![\w./])(?:[\w.@+-]+[\\/]){{2,}}[\w+-][\w.+-]*\.[A-Za-z]\w{{0,19}}\b(?!\()
    """,
    re.VERBOSE,
)
_FILE = re.compile(r"[\w.@+~-]+\.(?:[A-Za-z]\w{0,4}|" + _LONG + r")(?:\.\d+)*")
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("url", re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>)]+")),
    ("secret", _SECRETS),
    ("address", re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    ("host", _HOSTS),
    ("path", _PATHS),
)
_LONGEST = 1000
_NAME_WIDTH = 48
_OBJECT = re.compile(r"\b0x[0-9a-fA-F]{6,}")
# What a user or a machine is called, but other things are too.
_COMMON = (
    "admin attn base build conv cuda data docker host jenkins kernel linear localhost "
    "loss machine main model node python root runner self server test torch train "
    "ubuntu user users worker"
)


@dataclass
class Mask:
    """Masks texts and counts what it took out of them."""

    taken: Counter[str] = field(default_factory=Counter)
    _own: list[tuple[str, re.Pattern[str]]] = field(
        default_factory=lambda: [*_own_names()]
    )

    def __call__(self, text: str) -> str:
        """Return a text without what it may not tell."""
        text = text[:_LONGEST]  # Before the forms, some of which take time squared.
        for kind, form in (*_FORMS, *self._own):
            text, count = form.subn(_file_of if kind == "path" else f"<{kind}>", text)
            self.taken[kind] += count
        # Addresses of objects say nothing, and differ from run to run.
        return _OBJECT.sub("0x…", text)

    @property
    def counts(self) -> tuple[tuple[str, int], ...]:
        """What was taken out, and how often."""
        return tuple(sorted((kind, n) for kind, n in self.taken.items() if n))


def _file_of(path: re.Match[str]) -> str:
    """Return the name of the file that a path leads to; a folder may be called after a
    person or a project."""
    *folders, last = re.split(r"[\\/]", path[0])
    is_home = folders[-1].lower() in ("home", "users")
    return last if _FILE.fullmatch(last) and not is_home else "<path>"


def _own_names() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Give forms of what this machine and its user are called."""
    host = socket.gethostname()
    names = [("host", host), ("host", host.partition(".")[0])]
    with suppress(Exception):  # Each system has another one for a user without a name.
        names.append(("user", getpass.getuser()))
    for kind, name in names:
        if len(name) > 3 and name.lower() not in _COMMON.split():
            word = rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])"
            yield kind, re.compile(word, re.IGNORECASE)


class Names:
    """Short ids for names in the trace: o1 an operator, c1 a runtime call, k1 device
    work, a1 a range, f1 a Python frame, u1 a line of the program."""

    def __init__(self) -> None:
        self.mask = Mask()
        self._ids: dict[object, tuple[str, str]] = {}
        self._count: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def forget(self) -> None:
        """Start again with the first numbers."""
        self._ids.clear()
        self._count.clear()

    def id_of(self, key: object, letter: str, name: str) -> str:
        """Return the id for a key, which has this name."""
        if key not in self._ids:
            self._count[letter] = number = self._count.get(letter, 0) + 1
            self._ids[key] = f"{letter}{number}", name
        return self._ids[key][0]

    def lines(self) -> list[str]:
        """Return the name of each id as quoted data, in the order of first use."""
        return [
            f"{id} = {self.quoted(name, _NAME_WIDTH)}"
            for id, name in self._ids.values()
        ]

    def quoted(self, text: str, width: int) -> str:
        """Return a text as a JSON string, masked, printable, cut in its middle."""
        return json.dumps(printable(self.mask(text), width), ensure_ascii=False)
