# SPDX-License-Identifier: BSD-3-Clause
"""endpoint.py: where a language model is asked, and why it gave no answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from torchtraceap.base.arguments import checked_int, of_type, wrong_number
from torchtraceap.base.safe_text import printable

#: Where a key is, as OpenAI's own client has it: most often one that is paid for.
KEY_VARIABLE = "OPENAI_API_KEY"
# Whose key that is; besides, a server on this machine takes it.
_KEY_HOSTS = ("openai.com", "openai.azure.com")
# After one of these, the next request would fail as well.
_OF_ALL = frozenset({"key", "unreachable", "model"})
_QUOTED = 300  # Characters of a server's message that are shown.


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A server that speaks OpenAI's chat completions.

    Raises ValueError or TypeError for an invalid value, and for a key that would be
    sent in plain text over a network.
    """

    url: str  #: Up to and with ``/v1``; a slash at the end does not count.
    model: str
    #: None or "": the server asks for none. Shown nowhere and kept nowhere.
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 60.0  #: How long an attempt waits for the server.
    retries: int = 2  #: After too many requests, an error of the server, no connection.
    parallel: int = 4  #: Digests that are asked at the same time, 1 to 32.

    def __post_init__(self) -> None:
        parts = _checked_url(self.url)
        object.__setattr__(self, "url", self.url.rstrip("/"))
        if not isinstance(self.model, str):
            raise TypeError(f"model must be a name, but is {of_type(self.model)}")
        if not self.model.strip() or not self.model.isprintable():
            raise ValueError(
                f"model must name a model of {self.url}, but is {self.model!r}"
            )
        self._check_key(parts)
        checked_int("retries", self.retries, 0, 10)
        checked_int("parallel", self.parallel, 1, 32)
        if wrong := wrong_number(self.timeout_s, 3600):
            raise ValueError(f"timeout_s {wrong}")
        if self.timeout_s <= 0:
            raise ValueError("timeout_s must be more than 0 seconds")

    @property
    def takes_default_key(self) -> bool:
        """Whether the key of the environment is meant for this host."""
        host = urlsplit(self.url).hostname or ""
        return _is_loopback(host) or f".{host}".endswith(
            tuple(f".{known}" for known in _KEY_HOSTS)
        )

    def quoted(self, text: object) -> str:
        """Return a server's message as one short line, without a key that it quotes."""
        words = str(text)[: 10 * _QUOTED]
        if self.api_key:
            words = words.replace(self.api_key, "[key]")
        return printable(" ".join(words.split()), _QUOTED).rstrip(".")

    def _check_key(self, parts: SplitResult) -> None:
        key = self.api_key
        if not key:
            return
        # No message quotes the key.
        if not isinstance(key, str):
            raise TypeError(f"api_key must be a str, but is {of_type(key)}")
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ValueError(
                "the API key has a blank, a line break or a character that is not "
                "ASCII: was all of it copied, and no more?"
            )
        if parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
            raise ValueError(
                f"{self.url}: the API key would go over the network in plain text. "
                "Use https, or a tunnel to this machine (ssh -L); or where that "
                "server asks for none, give none"
            )


class Failed(Exception):
    """A request without an answer that can be used.

    Attributes:
        kind: As in `Opinion.failure`.
        why: A sentence or two: what happened, and what to do.
        ends_all: The next request would fail as this one did.
    """

    def __init__(self, kind: str, why: str, ends_all: bool = False) -> None:
        super().__init__(kind, why)
        self.kind = kind
        self.why = why
        self.ends_all = ends_all or kind in _OF_ALL


def malformed(what: str) -> Failed:
    """Return the failure for an answer of another form than was asked for."""
    return Failed(
        "malformed",
        f"{what}. Is the URL that of an OpenAI-compatible server (…/v1), and does "
        "the model follow a JSON schema?",
    )


def _checked_url(url: object) -> SplitResult:
    if not isinstance(url, str):
        raise TypeError(f"the URL of a model must be a str, but is {of_type(url)}")
    example = "give one such as http://127.0.0.1:8080/v1"
    try:
        parts = urlsplit(url)
        _ = parts.port  # Raises if it is not a number.
    except ValueError as error:
        raise ValueError(f"{url!r} is not a URL ({error}): {example}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is not an http or https URL: {example}")
    if not (url.isascii() and url.isprintable()) or " " in url:
        raise ValueError(f"{url!r} is not a URL: it has a blank or is not ASCII")
    if parts.username is not None or parts.password is not None:
        # Not shown: it may be a password.
        raise ValueError(f"a URL with a user or a password: use api_key, and {example}")
    if parts.query or parts.fragment:
        raise ValueError(f"{url!r} has a query or a fragment: {example}")
    return parts


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
