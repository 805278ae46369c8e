# SPDX-License-Identifier: BSD-3-Clause
"""manifest.py: the output folder, which is also the state.

``manifest.json`` lists what is done and what is not; ``traces-N.tar`` hold the
traces. A file is only ever replaced whole, archives before the manifest that names
their members, so a run killed at any moment leaves a folder that the next run can
continue: members that no manifest names are dropped when their archive is next written.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

SCHEMA_VERSION = 1
MAX_FILES = 8  # The manifest and seven archives: few enough to fetch one by one.
MAX_ARCHIVE_BYTES = 15_000_000  # Under the 16 MiB at which file stores begin to balk.
MANIFEST_BYTES = 500_000  # Set aside for the manifest when space is counted.


class OtherRun(Exception):
    """The folder holds results from another machine, torch, scale or seed."""


class Manifest:
    """The folder ``--out``.

    ``cases`` maps a case's name to its record; ``save`` writes it. A record's
    ``status`` is ``timed``, ``recorded``, ``skipped`` or ``failed``.
    """

    def __init__(self, folder: Path, identity: dict[str, Any]) -> None:
        """Open or create ``folder``.

        Raises:
            OtherRun: Its manifest has another ``identity``: times and traces of two
                machines must not be mixed.
            ValueError: Its manifest is not one of ours.
        """
        self.folder = folder
        self.path = folder / "manifest.json"
        folder.mkdir(parents=True, exist_ok=True)
        self.data: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION, "identity": identity,
            "runs": [], "pairs": {}, "cases": {},
        }  # fmt: skip
        if self.path.exists():
            self._load(identity)
        self.cases: dict[str, dict[str, Any]] = self.data["cases"]
        self._forget_lost_traces()

    def _load(self, identity: dict[str, Any]) -> None:
        found = json.loads(self.path.read_text("utf-8"))
        if not isinstance(found, dict) or found.get("schema_version") != SCHEMA_VERSION:
            raise ValueError(f"{self.path}: not a manifest of version {SCHEMA_VERSION}")
        for key, value in identity.items():
            if found["identity"].get(key) != value:
                raise OtherRun(
                    f"{self.folder} was recorded with {key} "
                    f"{found['identity'].get(key)!r}, this run has {value!r}: "
                    "choose another --out"
                )
        self.data = found

    def _forget_lost_traces(self) -> None:
        """Take back to ``timed`` what an archive does not hold after all."""
        held = {path.name: set(read_archive(path)) for path in self.archives()}
        for case in self.cases.values():
            traces = [side.get("trace") for side in sides(case)]
            if case["status"] == "recorded" and not all(
                trace and trace["member"] in held.get(trace["archive"], ())
                for trace in traces
            ):
                case["status"] = "timed"

    def save(self) -> None:
        text = json.dumps(self.data, indent=1, allow_nan=False)
        replace(self.path, (text + "\n").encode())

    def archives(self) -> list[Path]:
        return sorted(self.folder.glob("traces-*.tar"))

    def members(self, archive: str) -> set[str]:
        """Name the members of ``archive`` that a recorded case represents."""
        traces = (
            side["trace"]
            for case in self.cases.values()
            if case["status"] == "recorded"
            for side in sides(case)
        )
        return {trace["member"] for trace in traces if trace["archive"] == archive}

    def store(self, traces: dict[str, bytes], max_bytes: int) -> str | None:
        """Put ``traces`` together into the first archive with room for them.

        Returns the archive's name, or None if all would pass ``max_bytes`` together,
        manifest included, or no archive may grow so far. Nothing is written then.
        """
        sizes = {path.name: path.stat().st_size for path in self.archives()}
        for number in range(1, MAX_FILES):
            path = self.folder / f"traces-{number}.tar"
            kept = self.members(path.name)
            found = read_archive(path) if kept else {}
            data = archive({name: found[name] for name in kept} | traces)
            others = sum(size for name, size in sizes.items() if name != path.name)
            if len(data) > MAX_ARCHIVE_BYTES:
                continue
            if others + len(data) + MANIFEST_BYTES > max_bytes:
                return None
            replace(path, data)
            return path.name
        return None


def sides(case: dict[str, Any]) -> list[dict[str, Any]]:
    return [case[side] for side in ("slow", "fixed") if side in case]


def replace(path: Path, data: bytes) -> None:
    """Write ``path`` so that a reader sees the old file or the new one."""
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def archive(members: dict[str, bytes]) -> bytes:
    """Pack into a tar without dates or owners: the same members, the same bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in sorted(members.items()):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def read_archive(path: Path) -> dict[str, bytes]:
    """Read every member; an archive that cannot be read holds nothing."""
    try:
        with tarfile.open(path) as tar:
            files = ((info.name, tar.extractfile(info)) for info in tar)
            return {name: file.read() for name, file in files if file is not None}
    except (tarfile.TarError, OSError):
        return {}
