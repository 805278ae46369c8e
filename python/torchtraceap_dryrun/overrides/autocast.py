# SPDX-License-Identifier: BSD-3-Clause
"""autocast.py: `torch.autocast("cuda")` for tensors on the device of a dry run.

Autocast is a dispatch key that tensors of a GPU carry and those on "meta" do not, with
kernels that cast only what is "cuda". Both are mended here. The lists of operators are
those of torch's documentation ("CUDA Ops that can autocast"). Names are aten's, with an
overload after a dot. Loads torch.

Without a GPU torch switches autocast off as it is made, as by `@torch.autocast("cuda")`
on a function of a module that was imported before the run. Afterwards nothing tells
that from `enabled=False`, so it stays off, and is noted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor

from torchtraceap_dryrun.device.tensors import is_here
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.lines import user_stack
from torchtraceap_dryrun.overrides.kernels import exists, key_set, operator, replaced
from torchtraceap_dryrun.private_names import private

#: Run in the type that autocast was given, float16 by default.
LOWER = """
    _convolution _convolution.deprecated conv1d conv2d conv3d conv_tbc conv_transpose1d
    conv_transpose2d.input conv_transpose3d.input convolution cudnn_convolution
    cudnn_convolution_transpose prelu addmm addmv addr matmul einsum mm mv linalg_vecdot
    linear addbmm baddbmm bmm chain_matmul linalg_multi_dot _thnn_fused_lstm_cell
    _thnn_fused_gru_cell lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell
    _scaled_dot_product_flash_attention scaled_dot_product_attention
"""

#: Run in float32.
FLOAT32 = """
    acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan
    pow.Tensor_Scalar pow.Tensor_Tensor pow.Scalar softplus layer_norm native_layer_norm
    rms_norm group_norm frobenius_norm.dim nuclear_norm nuclear_norm.dim
    cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss nll_loss2d
    hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss
    margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss
    multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp
    upsample_nearest1d _upsample_nearest_exact1d upsample_nearest2d
    _upsample_nearest_exact2d upsample_nearest3d _upsample_nearest_exact3d
    upsample_linear1d upsample_bilinear2d _upsample_bilinear2d_aa upsample_trilinear3d
    upsample_bicubic2d _upsample_bicubic2d_aa
"""

#: Called with ``dtype=`` float32 unless another is given; inputs are not cast before.
GIVE_FLOAT32 = """
    prod prod.dim_int softmax.int log_softmax.int cumprod cumsum linalg_vector_norm
    linalg_matrix_norm linalg_matrix_norm.str_ord sum sum.dim_IntList
"""

#: The same through another overload, the one with ``dtype``.
GIVE_FLOAT32_BY = {
    "norm.Scalar": "norm.ScalarOpt_dtype",
    "norm.ScalarOpt_dim": "norm.ScalarOpt_dim_dtype",
}

#: Run in the widest type among the arguments.
WIDEST = """
    addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot
    scatter_add
"""


KEY = "AutocastCUDA"


def eligible(value: Any) -> bool:
    """Tell whether autocast would cast this on a GPU."""
    return (
        is_here(value)
        and value.is_floating_point()
        and value.dtype is not torch.float64
    )


class Casts:
    """Casts arguments; parameters once until autocast ends, as its cache on a GPU."""

    def __init__(self) -> None:
        #: id of a parameter: itself, so that the id stays its own, and its cast.
        self._kept: dict[int, tuple[Tensor, Tensor]] = {}
        self._off = key_set(KEY)

    def clear(self) -> None:
        """Forget all casts."""
        self._kept.clear()

    def cast(self, value: Any, dtype: torch.dtype) -> Any:
        """Return ``value`` with each eligible tensor in it in ``dtype``."""
        if isinstance(value, (list, tuple)):
            return [self.cast(part, dtype) for part in value]
        if not eligible(value) or value.dtype is dtype:
            return value
        if not (
            dtype is torch.get_autocast_dtype("cuda")
            and value.dtype is torch.float32
            and value.requires_grad
            and value.is_leaf
            and not value._is_view()
            and torch.is_autocast_cache_enabled()
        ):
            return value.to(dtype)
        kept = self._kept.get(id(value))
        if kept is None:
            kept = self._kept[id(value)] = value, value.to(dtype)
        return kept[1]

    def kernel(
        self, name: str, dtype_of: Callable[..., torch.dtype]
    ) -> Callable[..., Any]:
        """Return an autocast kernel that casts all to what ``dtype_of(args)`` says."""
        run = operator(name)

        def kernel(*args: Any, **kwargs: Any) -> Any:
            with self.off():
                dtype = dtype_of((*args, *kwargs.values()))
                kwargs = {key: self.cast(part, dtype) for key, part in kwargs.items()}
                return run(*(self.cast(part, dtype) for part in args), **kwargs)

        return kernel

    def off(self) -> Any:
        """Return a context in which autocast does not cast again."""
        return private("torch._C._ExcludeDispatchKeyGuard")(self._off)

    def giving(self, name: str, by: str) -> Callable[..., Any]:
        """Return an autocast kernel for an operator called with ``dtype=`` float32."""
        same, other = operator(name), operator(by)
        names = [each.name for each in same._schema.arguments]

        def kernel(*args: Any, **kwargs: Any) -> Any:
            with self.off():
                given = dict(zip(names, args, strict=False)) | kwargs
                if not eligible(args[0]):
                    return same(*args, **kwargs)
                # A trailing default does not reach a kernel; the other overload may
                # have none there.
                for each in same._schema.arguments:
                    if each.name not in given:
                        given[each.name] = each.default_value
                if given.get("dtype") is None:
                    given["dtype"] = torch.float32
                return other(**given)

        return kernel


def _widest(args: Any) -> torch.dtype:
    widest = torch.get_autocast_dtype("cuda")
    flat = [each for arg in args for each in (arg if isinstance(arg, list) else [arg])]
    for each in filter(eligible, flat):
        if torch.float32 in (widest, each.dtype):
            widest = torch.float32
        elif each.dtype is not widest:
            raise RuntimeError(
                "Unexpected floating ScalarType in at::autocast::prioritize: "
                f"{each.dtype} under autocast to {widest}"
            )
    return widest


def _kernels(casts: Casts) -> dict[tuple[str, str], Callable[..., Any]]:
    made: dict[str, Callable[..., Any]] = {}
    for names, dtype_of in (
        (LOWER, lambda _: torch.get_autocast_dtype("cuda")),
        (FLOAT32, lambda _: torch.float32),
        (WIDEST, _widest),
    ):
        made |= {n: casts.kernel(n, dtype_of) for n in names.split() if exists(n, KEY)}
    made |= {name: casts.giving(name, name) for name in GIVE_FLOAT32.split()}
    made |= {name: casts.giving(name, by) for name, by in GIVE_FLOAT32_BY.items()}
    return {(name, KEY): kernel for name, kernel in made.items()}


@contextmanager
def installed() -> Iterator[Casts]:
    """Let `torch.autocast("cuda")` cast tensors on the device, in this thread."""
    casts, clear = Casts(), torch.clear_autocast_cache

    def clear_both() -> None:
        casts.clear()
        clear()

    with replaced(_kernels(casts)):
        try:
            with _seen(), Replacements() as attributes:
                attributes.set(torch, "clear_autocast_cache", clear_both)
                yield casts
        finally:
            casts.clear()


@contextmanager
def _seen() -> Iterator[None]:
    """Let autocast see tensors on the device."""
    # No guard, which would put back all keys as they were: modes that were entered
    # since need theirs when the run is suspended.
    include = private("torch._C._dispatch_tls_set_dispatch_key_included")
    here = private("torch._C.DispatchKey").AutocastCUDA
    try:
        include(here, True)
        yield
    finally:
        include(here, False)


@contextmanager
def early_noted(note: Callable[[str], None]) -> Iterator[None]:
    """Let ``note`` be called for each place at which such a block is entered."""
    made, enter = torch.autocast.__init__, torch.autocast.__enter__
    of_this_run: WeakSet[torch.autocast] = WeakSet()

    def __init__(self: torch.autocast, *args: Any, **kwargs: Any) -> None:
        of_this_run.add(self)
        made(self, *args, **kwargs)

    def __enter__(self: torch.autocast) -> Any:
        entered = enter(self)
        is_on = torch.is_autocast_enabled(self.device)
        if self.device == "cuda" and not is_on and self not in of_this_run:
            stack = user_stack(sys._getframe(1))
            note(
                f"{stack[0] if stack else 'a library'}: autocast is off here. It was "
                "made before the dry run, when there was no GPU, and torch switched "
                "it off then, unless it got enabled=False: import that module, "
                "or decorate that function, within the dry run"
            )
        return entered

    with Replacements() as replaced:
        replaced.set(torch.autocast, "__init__", __init__)
        replaced.set(torch.autocast, "__enter__", __enter__)
        yield
