# SPDX-License-Identifier: BSD-3-Clause
"""saving.py: files of values of the device are left out: they are guesses.

A script that saves its checkpoints would otherwise replace real ones by zeros. Files
loaded again in the run come from memory. Loads torch.
"""

from __future__ import annotations

import importlib
import io
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, UntypedStorage

from torchtraceap.base.errors import DryRunError
from torchtraceap.base.safe_text import printable
from torchtraceap_dryrun.device.guesses import is_guessed
from torchtraceap_dryrun.device.storages import bytes_of, is_storage_here
from torchtraceap_dryrun.device.tensors import is_here
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.private_names import private

_registry = private("torch.serialization._package_registry")
# torch asks where a storage is in this order; see storages.py.
_FIRST = -2
_MOST_KEPT = 1 << 30  # Bytes of all files together.
_PATH_WIDTH = 120


class _Kept(io.BytesIO):
    """A file in memory; content beyond ``most`` is dropped as it is written."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self.whole = True

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        if self.whole and self.tell() + size > self._most:
            self.whole = False
            self.seek(0)
            self.truncate()
        return super().write(data) if self.whole else size


class Saving:
    """Stands in for torch.save and torch.load of files, and safetensors' save_file."""

    def __init__(self, note: Callable[[str], Any]) -> None:
        self._note = note
        self._files: dict[str, bytes | None] = {}  # None: too large to be kept.
        self._mine = threading.local()  # Several threads may save.
        self._on = False

    def seen(self, tensor: Tensor) -> None:
        """Note each tensor that is pickled."""
        if is_here(tensor) or is_guessed(tensor):
            self._mine.seen = True

    def _seen_storage(self, storage: UntypedStorage) -> None:
        """Note each storage that is pickled: some are without a tensor."""
        if is_storage_here(storage) or is_guessed(bytes_of(storage)):
            self._mine.seen = True

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Stand in while the block lasts."""
        with Replacements() as replaced:
            functions = [(torch.save, self._save), (torch.load, self._load)]
            if (safetensors := _safetensors()) is not None:
                functions.append((safetensors.save_file, self._save_file))
            rows = [(one, self._in_place_of(one, do)) for one, do in functions]
            for module in (torch, torch.serialization):
                replaced.set(module, "save", rows[0][1])
                replaced.set(module, "load", rows[1][1])
            replaced.set_wherever(rows)
            row = (_FIRST, self._seen_storage, lambda storage, location: None)
            _registry.insert(0, row)
            self._on = True
            try:
                yield
            finally:
                self._on = False
                _registry.remove(row)

    def _in_place_of(self, former: Any, stand_in: Any) -> Any:
        def standing_in(*args: Any, **kwargs: Any) -> Any:
            # What was imported in the block is held longer.
            if not self._on:
                return former(*args, **kwargs)
            return stand_in(former, *args, **kwargs)

        return standing_in

    def _save(self, former: Any, obj: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(f, str | os.PathLike):
            return former(obj, f, *args, **kwargs)
        self._mine.seen = False
        held = sum(len(kept) for kept in list(self._files.values()) if kept)
        kept = _Kept(max(0, _MOST_KEPT - held))
        former(obj, kept, *args, **kwargs)
        path = _absolute(f)
        if not self._mine.seen:
            self._files.pop(path, None)
            return former(obj, f, *args, **kwargs)
        self._files[path] = kept.getvalue() if kept.whole else None
        self._left_out("torch.save", f)
        return None

    def _load(self, former: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
        path = _absolute(f) if isinstance(f, str | os.PathLike) else None
        if path not in self._files:
            return former(f, *args, **kwargs)
        kept = self._files[path]
        if kept is None:
            raise DryRunError(
                f"torch.load of {_named(f)}: what was saved there was left out, and is "
                "too large to be kept in memory. allow_writes=True (--allow-writes) "
                "writes it"
            )
        kwargs.pop("mmap", None)  # There is no file to map.
        return former(io.BytesIO(kept), *args, **kwargs)

    def _save_file(
        self, former: Any, tensors: Any, filename: Any, *args: Any, **kwargs: Any
    ) -> Any:
        values = tensors.values() if isinstance(tensors, dict) else ()
        guesses = [
            value
            for value in values
            if isinstance(value, Tensor) and (is_here(value) or is_guessed(value))
        ]
        if not guesses:
            return former(tensors, filename, *args, **kwargs)
        for value in guesses:
            value.cpu()  # As it does, and so waits.
        self._left_out("safetensors' save_file", filename)
        return None

    def _left_out(self, what: str, path: Any) -> None:
        self._note(
            f"{what}(...) to {_named(path)} was left out: values on the device are "
            "guesses; --allow-writes, or dry_run(allow_writes=True), writes them"
        )


def _safetensors() -> ModuleType | None:
    """Programs import it later, so it is looked for, not only among what is loaded."""
    try:
        return importlib.import_module("safetensors.torch")
    except Exception:  # Not installed, or not usable with this torch.
        return None


def _absolute(path: Any) -> str:
    return os.path.realpath(os.fsdecode(path))


def _named(path: Any) -> str:
    return printable(repr(os.fsdecode(path)), _PATH_WIDTH)
