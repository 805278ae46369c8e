# SPDX-License-Identifier: BSD-3-Clause
"""answer_cache.py: keeps a model's answers, so that nobody pays twice for one.

A file each, by the digest of all that was sent and of where to. In it is the answer
only: neither the key nor what was asked.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from torchtraceap.base.files import replacing
from torchtraceap.explain.model.endpoint import Endpoint
from torchtraceap.explain.model.messages import Request

MOST_FILES = 10_000
MOST_BYTES = 64 << 20
_LONGEST = 64 << 10  # Of an answer.
#: What its files are called, and no other file is touched: whoever names a folder may
#: have traces in it.
_NAME = re.compile(r"[0-9a-f]{64}\.answer")


class AnswerCache:
    """Answers in a folder that this user alone may read; what goes wrong with it is no
    error, but as if it were empty."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        """``folder``: by default that of this user's caches.

        Raises ValueError if it is named, but empty."""
        if folder is not None and not os.fspath(folder):
            raise ValueError("cache must name a folder, but is empty")
        self.folder = Path(folder) if folder is not None else _default_folder()

    def get(self, key: str) -> str | None:
        """Return the answer that was kept under a key; None: there is none."""
        with suppress(OSError, ValueError), open(self._path(key), "rb") as file:
            return file.read(_LONGEST).decode()
        return None

    def put(self, key: str, answer: str) -> None:
        """Keep an answer."""
        data = answer.encode()
        if len(data) > _LONGEST:
            return
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replacing(self._path(key)) as new:
                file = os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
                with open(file, "wb") as out:
                    out.write(data)

    def trim(self) -> None:
        """Take the oldest answers away until no more is there than may be."""
        kept = []
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                if _NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    with suppress(OSError):  # Another program trims it too.
                        stat = entry.stat(follow_symlinks=False)
                        kept.append((stat.st_mtime_ns, stat.st_size, entry.path))
        count, size = len(kept), sum(one[1] for one in kept)
        for _, bytes_of_it, path in sorted(kept):
            if count <= MOST_FILES and size <= MOST_BYTES:
                return
            with suppress(OSError):
                os.unlink(path)
            count, size = count - 1, size - bytes_of_it

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.answer"


def key_of(request: Request, endpoint: Endpoint) -> str:
    """Return what the answer to a request is kept by: SHA-256, in hex, of the body that
    is sent and of the URL."""
    sent = [endpoint.url, request.body(endpoint.model)]
    return sha256(json.dumps(sent, sort_keys=True).encode()).hexdigest()


def _default_folder() -> Path:
    # As its specification says, a path that is not absolute counts as none.
    base = Path(os.environ.get("XDG_CACHE_HOME") or "")
    if not base.is_absolute():
        base = Path("~/.cache").expanduser()
    return base / "torchtraceap" / "answers"
