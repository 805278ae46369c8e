# SPDX-License-Identifier: BSD-3-Clause
"""urls.py: URLs of traces: their file systems, and what of them may be shown."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from torchtraceap.base.errors import trace_error

# Stores in whose URLs no user stands before an "@".
_WITHOUT_USERS = ("github", "git", "abfs", "abfss", "az", "adl")
# Parameters of a URL that give access: of signatures of S3, Google, Alibaba, Huawei,
# Tencent, Akamai and others, and tokens.
_ACCESS = re.compile(
    r"x-(amz|goog|oss|obs)-.*|q-(sign|ak|key|header|url)\b.*|hdn(ts|tl|ea)|"
    r".*(token|signature|secret|password|passwd|credential|authorization|"
    r"(access|api)[-_]?key([-_]?id)?)(__)?|googleaccessid|sign?|sas|pass|pwd|jwt|auth|hmac",
    re.IGNORECASE,
)
# Those that come with a signature, of Azure, Google and Cloudfront: by itself each
# may be of another use.
_SIGNED = re.compile(
    r"s[eprtv]|spr|sip|ske|sks|skt|skv|skoid|sktid|expires|policy|key-pair-id|keyname",
    re.IGNORECASE,
)
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s'\"<>]+", re.IGNORECASE)


def is_url(text: str) -> bool:
    """Tell whether a source is for fsspec, and not for the file system."""
    scheme = r"([a-z][a-z0-9+.-]*::)*[a-z][a-z0-9+.-]*://"
    return re.match(scheme, text, re.IGNORECASE) is not None


def place_of(url: str) -> str:
    """Return a URL without the query that one of the web may have, such as a
    signature; a path as it is."""
    return url.partition("?")[0] if url.startswith(("http://", "https://")) else url


def public_url(url: str) -> str:
    """Return a URL without passwords and signatures, which a data set must not keep,
    and which differ from one call to the next; a path as it is."""
    scheme, colon, rest = url.partition("://")
    if not colon or "/" in scheme or scheme in _WITHOUT_USERS:
        return url
    place, mark, query = rest.partition("?")
    host, slash, path = place.partition("/")
    public = f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
    if scheme not in ("http", "https"):  # Others have no query.
        return f"{public}{mark}{query}"
    query = query.partition("#")[0]
    parts = re.split("[&;]", query)
    names = {one: unquote(one.partition("=")[0]) for one in parts}
    is_signed = {"sig", "signature"} & {name.lower() for name in names.values()}
    kept = [
        one
        for one, name in names.items()
        if not _ACCESS.fullmatch(name) and not (is_signed and _SIGNED.fullmatch(name))
    ]
    return f"{public}?{'&'.join(kept)}" if any(kept) else public


def public_text(text: str) -> str:
    """Return a message, as of a store's library, in which all URLs are public."""
    return _URL.sub(lambda found: public_url(found[0]), text)


def file_system(url: str) -> Any:
    """Return fsspec's file system of a URL. Raises TraceError if there is none."""
    return system_and_path(url)[0]


def system_and_path(url: str) -> tuple[Any, str]:
    """Return that, and what it calls the URL. Raises TraceError likewise."""
    try:
        from fsspec import get_filesystem_class
    except ImportError as error:
        hint = "Install it with pip install 'torchtraceap[fleet]'"
        raise trace_error(
            public_url(url), "no_fsspec", "a URL needs fsspec", hint
        ) from error
    if re.match(r"[a-z][a-z0-9+.-]*::|.*::[a-z][a-z0-9+.-]*://", url):
        hint = "Copy or unpack what it names to a folder, and give that"
        cause = "a URL of a file in another one cannot be read"
        raise trace_error(public_url(url), "chained_url", cause, hint)
    try:
        # As `url_to_fs` does, which takes a "::" of an address for a chain.
        kind = get_filesystem_class(url.partition("://")[0])
        system = kind(**kind._get_kwargs_from_urls(url))
        path = kind._strip_protocol(url)
    except Exception as error:  # Of any store's library, from a network.
        hint = "Check the URL and the credentials, install the package that it names"
        cause = f"fsspec cannot open it ({first_line(error)})"
        raise trace_error(public_url(url), "no_protocol", cause, hint) from error
    return system, path


def store_of(url: str) -> str:
    """Return the part of a URL that says where its paths are; "" of a path."""
    return "/".join(url.split("/", 3)[:3]) if is_url(url) else ""


def first_line(error: BaseException) -> str:
    """Return what a store's library says, without what gives access."""
    return public_text((str(error) or type(error).__name__).splitlines()[0])
