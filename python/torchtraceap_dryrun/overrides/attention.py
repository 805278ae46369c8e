# SPDX-License-Identifier: BSD-3-Clause
"""attention.py: which kernel `scaled_dot_product_attention` takes on a GPU.

On the "meta" device torch always takes attention apart into matrix products. Here it
asks what a GPU would ask, in the order in which the program wants the kernels tried.
torch also prefers cuDNN's kernel on some GPUs with some of its versions; which one
there is cannot be known here, so that kernel is taken only if the program asks for it
(`torch.nn.attention.sdpa_kernel`). Loads torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend

from torchtraceap_dryrun.overrides.kernels import operator, replaced
from torchtraceap_dryrun.private_names import private

HALF = torch.float16, torch.bfloat16


@dataclass(frozen=True, slots=True)
class Attention:
    """What was asked for, and of which GPU."""

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    dropout: float
    causal: bool
    grouped: bool
    capability: tuple[int, int]

    def backend(self) -> SDPBackend:
        """Return the kernel that a GPU would choose.

        Raises:
            RuntimeError: The program allows none that can do it; as torch does.
        """
        cuda = torch.backends.cuda
        fits = {
            SDPBackend.FLASH_ATTENTION: (cuda.flash_sdp_enabled, self.flash),
            SDPBackend.EFFICIENT_ATTENTION: (
                cuda.mem_efficient_sdp_enabled,
                self.efficient,
            ),
            SDPBackend.CUDNN_ATTENTION: (cuda.cudnn_sdp_enabled, self.cudnn),
            SDPBackend.MATH: (cuda.math_sdp_enabled, lambda: True),
        }
        for number in private("torch._C._get_sdp_priority_order")():
            for backend, (enabled, can) in fits.items():
                if int(backend) == number and enabled() and can():
                    return backend
        raise RuntimeError("No available kernel. Aborting execution.")

    def flash(self) -> bool:
        """Tell whether FlashAttention can do it."""
        heads = {each.size(-1) for each in self._all()}
        return (
            self._four_dims()
            and self.mask is None
            and len(heads) == 1
            and max(heads) <= 256
            and self.capability >= (8, 0)
            and not self._too_wide_to_train(max(heads))
            and not (self.causal and self.query.size(-2) != self.key.size(-2))
            and self.query.dtype in HALF
            and self._heads_match(self.grouped)
            and all(each.stride(-1) == 1 or each.size(-1) == 1 for each in self._all())
        )

    def efficient(self) -> bool:
        """Tell whether the memory-efficient kernel can do it."""
        half = self.query.dtype in HALF
        cores = self.capability >= (8, 0) or (self.capability >= (7, 0) and half)
        least = 4 if self.capability >= (8, 0) else 1
        aligned = max(least, 128 // (16 if half else 32)) if cores else least
        width, out = self.query.size(-1), self.value.size(-1)
        types = {torch.float16, torch.float32}
        if self.capability >= (8, 0):
            types.add(torch.bfloat16)
        return (
            self._four_dims()
            and width == self.key.size(-1)
            and width > 0
            and out > 0
            and width % aligned == 0
            and out % aligned == 0
            # torch's documentation: groups of heads for flash and math only.
            and self._heads_match(grouped=False)
            and all(each.stride(-1) == 1 for each in self._all())
            and self.query.dtype in types
        )

    def cudnn(self) -> bool:
        """Tell whether cuDNN's kernel can do it, by what all its versions ask for."""
        widths = self.query.size(-1), self.value.size(-1)
        return (
            self._four_dims()
            and self.capability >= (8, 0)
            and self.query.dtype in HALF
            and all(width <= 128 and width % 8 == 0 for width in widths)
            and self.key.size(2) > 1
            and self._heads_match(self.grouped)
        )

    def _all(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.query, self.key, self.value

    def _four_dims(self) -> bool:
        return all(each.dim() == 4 for each in self._all())

    def _heads_match(self, grouped: bool) -> bool:
        query, key, value = (each.size(1) for each in self._all())
        heads = key == value and (query % key == 0 if grouped and key else query == key)
        batches = len({each.size(0) for each in self._all()}) == 1
        return heads and batches and min(self.query.size(2), self.key.size(2)) > 0

    def _too_wide_to_train(self, width: int) -> bool:
        small = (8, 6) <= self.capability <= (8, 9) or self.capability >= (12, 0)
        if not small or not self.trains():
            return False
        return width > 192 and (self.dropout > 0 or width <= 224)

    def trains(self) -> bool:
        """Tell whether a gradient will be asked for."""
        wanted = any(each.requires_grad for each in self._all())
        return torch.is_grad_enabled() and wanted


def _added(mask: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """Return a mask to add to scores; a boolean one says what may be looked at."""
    if mask is None or mask.dtype is not torch.bool:
        return mask
    low = torch.scalar_tensor(-math.inf, dtype=dtype, device=mask.device)
    return torch.where(mask, 0.0, low)


def _aligned(mask: Tensor, ask: Attention) -> Tensor:
    """Return a mask as the memory-efficient kernel takes it: rows of multiples of 8."""
    if mask.stride(-1) != 1 or any(step % 8 for step in mask.stride()[:-1]):
        width = mask.size(-1)
        padded = torch.nn.functional.pad(mask, (0, 8 - width % 8))
        mask = padded[..., :width]
    return mask.expand(*ask.query.shape[:3], ask.key.size(2))


def attend(ask: Attention, scale: float | None) -> Tensor:
    """Return the attention, worked out by the operators of the chosen kernel."""
    query, key, value = ask.query, ask.key, ask.value
    backend = ask.backend()
    mask = _added(ask.mask, query.dtype)
    if backend is SDPBackend.FLASH_ATTENTION:
        width = query.size(-1)
        scale = 1 / math.sqrt(width) if scale is None else scale
        if width % 8:  # as the kernel wants it; the program's own width comes back
            more = (0, 8 - width % 8)
            query, key, value = (torch.nn.functional.pad(t, more) for t in ask._all())
        flash = operator("_scaled_dot_product_flash_attention")
        out: Tensor = flash(
            query, key, value, ask.dropout, ask.causal, False, scale=scale
        )[0]
        return out[..., :width] if width % 8 else out
    if backend is SDPBackend.MATH:
        whole = operator("_scaled_dot_product_attention_math")
        return whole(
            query, key, value, mask, ask.dropout, ask.causal, None,
            scale=scale, enable_gqa=ask.grouped,
        )[0]  # fmt: skip
    name = "_scaled_dot_product_efficient_attention"
    rest = ask.trains(), ask.dropout, ask.causal
    if backend is SDPBackend.CUDNN_ATTENTION:
        name = "_scaled_dot_product_cudnn_attention"
    elif mask is not None:
        mask = _aligned(mask, ask)
    return operator(name)(query, key, value, mask, *rest, scale=scale)[0]


@contextmanager
def installed(capability: tuple[int, int]) -> Iterator[None]:
    """Let attention on the device take the kernels of a GPU of that compute capability
    ((9, 0) for an H100)."""

    def kernel(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
        dropout_p: float = 0.0, is_causal: bool = False, *,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Any:  # fmt: skip
        return attend(
            Attention(
                query, key, value, attn_mask, dropout_p, is_causal, enable_gqa,
                capability,
            ),
            scale,
        )  # fmt: skip

    with replaced({("scaled_dot_product_attention", "AutogradMeta"): kernel}):
        yield
