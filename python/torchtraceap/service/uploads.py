# SPDX-License-Identifier: BSD-3-Clause
"""uploads.py: a request's body, written to files while it arrives.

It is never whole in memory, and not a byte beyond the limit is written.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import IO

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from torchtraceap.service.problems import Problem

#: What a body without parts may be. A trace is recognized by its content.
MEDIA_TYPES = ("application/json", "application/gzip", "application/octet-stream")
MULTIPART = "multipart/form-data"
_RAW = "trace"  # The name of a body without parts.
_MOST_PARTS, _MOST_NAME = 4096, 255


class Upload:
    """The files of one body, in a folder that is there for it."""

    def __init__(self, folder: str, content_type: str, most: int, is_job: bool) -> None:
        """Raises Problem for a type that is not a trace's."""
        self.names: list[str] = []  #: Relative to the folder.
        self._folder = folder
        self._left = self._most = most
        self._is_job = is_job
        self._file: IO[bytes] | None = None
        self._field, self._value = b"", b""
        self._headers: dict[bytes, bytes] = {}
        self._is_whole = False
        kind, options = parse_options_header(content_type)
        self._parser: MultipartParser | None = None
        if kind == MULTIPART.encode():
            self._parser = self._parser_of(options.get(b"boundary", b""))
        elif kind and kind.decode("latin-1") not in MEDIA_TYPES:
            raise Problem(
                415,
                "media_type",
                f"{content_type} is not a trace. Send {MULTIPART} (curl -F "
                f"trace=@FILE), or the file as {', '.join(MEDIA_TYPES)}.",
            )

    def refuse(self, length: str | None) -> None:
        """Raise Problem for a body whose header says that it is too long."""
        if length is not None and length.isdecimal() and int(length) > self._most:
            raise self._too_long()

    async def receive(self, chunks: AsyncIterator[bytes]) -> None:
        """Write the files as they arrive. Raises Problem if they are too long, or are
        not what they should be."""
        try:
            if self._parser is None:
                self._open(_RAW)
            async for chunk in chunks:
                self._left -= len(chunk)
                if self._left < 0:
                    raise self._too_long()
                if self._parser is None:
                    self._write(chunk, 0, len(chunk))
                else:
                    self._parser.write(chunk)
        except FormParserError as error:
            raise _not_parts(error) from error
        except OSError as error:
            raise not_kept(error) from error
        finally:
            self._close()
        if self._parser is not None and not self._is_whole:
            raise Problem(400, "invalid", "the body ends in the middle of a part.")
        if not self.names:
            raise Problem(422, "invalid", "the body has no file. Send a trace.")

    def _too_long(self) -> Problem:
        return Problem(
            413,
            "upload_limit",
            f"the body has more than {self._most} bytes. Send the trace as .json.gz, "
            "record fewer steps, or start the server with --max-upload-bytes.",
        )

    # --- Files ------------------------------------------------------------------------

    def _open(self, name: str) -> None:
        if self.names and not self._is_job:
            raise Problem(
                422,
                "invalid",
                "the body has several files, and a report is of one trace. Send the "
                "ranks of a job to jobs.",
            )
        path = os.path.join(self._folder, name)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self._file = open(path, "xb")  # noqa: SIM115 - closed by the part's end.
        except (FileExistsError, IsADirectoryError, NotADirectoryError):
            text = f"two files are called {name}. Give each a name of its own."
            raise Problem(422, "invalid", text) from None
        self.names.append(name)

    def _write(self, data: bytes, begin: int, end: int) -> None:
        if self._file is not None:
            self._file.write(memoryview(data)[begin:end])

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    # --- Parts ------------------------------------------------------------------------

    def _parser_of(self, boundary: bytes) -> MultipartParser:
        if not boundary:
            text = f"the body is not {MULTIPART}: its type has no boundary."
            raise Problem(400, "invalid", text)
        calls = {
            "on_part_begin": self._headers.clear,
            "on_header_field": self._on_field,
            "on_header_value": self._on_value,
            "on_header_end": self._on_header,
            "on_headers_finished": self._on_headers,
            "on_part_data": self._write,
            "on_part_end": self._close,
            "on_end": self._on_end,
        }
        try:
            return MultipartParser(boundary, calls)
        except FormParserError as error:  # Such as a boundary that is too long.
            raise _not_parts(error) from error

    def _on_field(self, data: bytes, begin: int, end: int) -> None:
        self._field += data[begin:end]

    def _on_value(self, data: bytes, begin: int, end: int) -> None:
        self._value += data[begin:end]

    def _on_header(self) -> None:
        self._headers[self._field.lower()] = self._value
        self._field, self._value = b"", b""

    def _on_headers(self) -> None:
        disposition = self._headers.get(b"content-disposition", b"")
        _, options = parse_options_header(disposition)
        name = options.get(b"filename")
        if name is None:
            field = options.get(b"name", b"").decode("utf-8", "replace")
            text = f"the part {field!r} is not a file. Send traces only."
            raise Problem(422, "invalid", text)
        if len(self.names) >= _MOST_PARTS:
            text = f"the body has more than {_MOST_PARTS} files. Send fewer."
            raise Problem(422, "invalid", text)
        self._open(safe_name(name.decode("utf-8", "replace")))

    def _on_end(self) -> None:
        self._is_whole = True


def not_kept(error: OSError) -> Problem:
    """Return the problem of a body for which there is no place."""
    return Problem(507, "storage", f"the upload cannot be kept: {error.strerror}.")


def _not_parts(error: Exception) -> Problem:
    return Problem(400, "invalid", f"the body is not {MULTIPART}: {error}.")


def safe_name(given: str) -> str:
    """Return a relative path of the same look that stays in its folder."""
    parts = given.replace("\\", "/").replace("\0", "").split("/")
    kept = [part for part in parts if part not in ("", ".", "..")]
    return os.path.join(*(_cut(part) for part in kept[-4:])) if kept else _RAW


def _cut(part: str) -> str:
    """Return a part of a path, which a file system takes; its end may tell its form."""
    data = part.encode("utf-8", "replace")[-_MOST_NAME:]
    return data.decode("utf-8", "ignore")
