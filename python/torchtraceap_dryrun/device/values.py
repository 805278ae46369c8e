# SPDX-License-Identifier: BSD-3-Clause
"""values.py: the values of small tensors on the device, worked out on the CPU.

Each storage on the device (which has no memory: it is "meta") may have a CPU storage of
the same size beside it, its shadow, in which the values are those that a GPU would have
("known") or an invention that fits ("guessed"). Views share a storage, so they share
its shadow, whatever made them. A guess is made once and kept, so that everything
derived from it is consistent. Loads torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, UntypedStorage

from torchtraceap_dryrun.device.arguments import map_tensors
from torchtraceap_dryrun.device.guesses import guess_into, is_guessed, mark_guessed
from torchtraceap_dryrun.device.tensors import (
    Memory,
    covers,
    is_users,
    memory_of,
    on_device,
)
from torchtraceap_dryrun.facade.stand_in_classes import Generator
from torchtraceap_dryrun.record import Dial

#: Elements of the largest tensor whose values are worked out: masks, ids, lengths and
#: counters decide where a program goes, and cost less than products of floats do.
SMALL, SMALL_WHOLE = 4096, 65536


class Values:
    """The shadows of one run. Not for several threads."""

    def __init__(self, dial: Dial, seed: int) -> None:
        self._dial = dial
        #: What random operators draw from, as the program sees and sets it.
        self.default_generator = Generator().manual_seed(seed)
        #: Of guesses: how many there are is not to change what a program draws.
        self.generator = torch.Generator().manual_seed(seed)
        #: Whether guesses were copied to tensors of the host, which then are marked.
        self.guessed_on_host = False

    def wants(self, tensor: Tensor) -> bool:
        """Tell whether values of a tensor of this size and type are kept."""
        if tensor.layout != torch.strided:
            return False
        if self._dial == "all":
            return True
        if self._dial == "none" and tensor.dtype != torch.bool:
            return False  # Bools are guesses, with which their results agree.
        whole = not (tensor.dtype.is_floating_point or tensor.dtype.is_complex)
        most = SMALL_WHOLE if whole else SMALL
        return bool(tensor.untyped_storage().nbytes() <= most * tensor.itemsize)

    def shadow(self, tensor: Tensor) -> Tensor | None:
        """Return a CPU tensor with the values of one on the device; writing to it
        changes them. None: they are not known and were not guessed."""
        memory = memory_of(tensor)
        if memory is None or memory.shadow is None:
            return None
        if memory.shadow.nbytes() != memory.nbytes and not self._resize(tensor, memory):
            return None
        return _over(tensor, memory.shadow)

    def _resize(self, tensor: Tensor, memory: Memory) -> bool:
        """Give a storage that was resized a shadow of its size: with guesses in what is
        new. False: it is too large for one."""
        former, memory.shadow = memory.shadow, None
        if former is None or not self.wants(tensor):
            return False
        memory.shadow = torch.UntypedStorage(memory.nbytes)
        whole = _whole(tensor, memory.shadow)
        old = _whole(tensor, former)[: whole.numel()]
        whole[: old.numel()] = old
        guess_into(whole[old.numel() :], self.generator)
        return True

    def shadows(
        self, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Return arguments with the shadows of those on the device in their place; None
        if one is missing."""
        missing = False

        def shadow(tensor: Tensor) -> Tensor:
            nonlocal missing
            if is_users(tensor):  # Its shape is asked for: empty_like.
                return torch.zeros((), dtype=tensor.dtype).expand(tensor.shape)
            found = self.shadow(tensor) if on_device(tensor) else tensor
            missing = missing or found is None
            return tensor if found is None else found

        hosted = map_tensors(tuple(args), shadow), map_tensors(kwargs, shadow)
        return None if missing else hosted

    def known(self, tensor: Tensor) -> bool:
        """Tell whether a tensor has values that are not guesses."""
        if not on_device(tensor):
            return not (self.guessed_on_host and is_guessed(tensor))
        memory = memory_of(tensor)
        return memory is not None and memory.shadow is not None and memory.known

    def put(self, tensor: Tensor, values: Tensor, known: bool) -> None:
        """Give a tensor on the device the values of a CPU tensor of its shape, if such
        are kept; the rest of its storage keeps what it has, or is guessed."""
        memory = memory_of(tensor)
        if memory is None or not self.wants(tensor):
            return
        whole = covers(tensor, memory)
        if memory.shadow is None:
            memory.shadow = torch.UntypedStorage(memory.nbytes)
            if not whole:
                guess_into(_whole(tensor, memory.shadow), self.generator)
                memory.known = False
        _over(tensor, memory.shadow).copy_(values)
        memory.known = known and self._dial != "none" and (whole or memory.known)

    def guess(
        self,
        tensor: Tensor,
        hint: Tensor | None = None,
        source: torch.Generator | None = None,
    ) -> None:
        """Invent values for a tensor on the device, if such are kept: those of ``hint``
        (a CPU tensor of its shape), else seeded ones by type, from ``source``."""
        memory = memory_of(tensor)
        if memory is None or not self.wants(tensor):
            return
        if hint is None:
            hint = torch.empty(tensor.shape, dtype=tensor.dtype)
            guess_into(hint, source or self.generator)
        self.put(tensor, hint, known=False)

    def doubt(self, tensor: Tensor) -> None:
        """From now on the values of a tensor's storage count as guessed."""
        memory = memory_of(tensor)
        if memory is not None:
            memory.known = False
            memory.counts.clear()

    def on_host(self, tensor: Tensor, known: bool) -> None:
        """Say that values were copied to a tensor of the host."""
        if not known:
            mark_guessed(tensor)
            self.guessed_on_host = True

    def read(self, tensor: Tensor) -> tuple[Tensor, bool]:
        """Return the values of a tensor on the device as a new CPU tensor, and whether
        they are known. A tensor without values gets a guess, and keeps it if it is
        small."""
        values = self.shadow(tensor)
        if values is None:
            self.guess(tensor)
            values = self.shadow(tensor)
        if values is None:
            # Not kept: large, or the dial is at none. Zeros cost no memory until used.
            values = torch.zeros(tensor.shape, dtype=tensor.dtype)
            if values.numel() <= SMALL:
                guess_into(values, self.generator)
            return values, False
        return values.clone(), self.known(tensor)


def _over(tensor: Tensor, storage: UntypedStorage) -> Tensor:
    view = torch.empty(0, dtype=tensor.dtype)
    view.set_(storage, tensor.storage_offset(), tensor.shape, tensor.stride())
    if tensor.is_conj():
        view = view.conj()
    return torch._neg_view(view) if tensor.is_neg() else view


def _whole(tensor: Tensor, storage: UntypedStorage) -> Tensor:
    elements = storage.nbytes() // tensor.itemsize
    return torch.empty(0, dtype=tensor.dtype).set_(storage, 0, (elements,), (1,))
