# SPDX-License-Identifier: BSD-3-Clause
"""refused_tensors.py: what operators on the device may not be given. Loads torch.

Tensors of elsewhere beside those of the device, which CUDA refuses and the meta device
takes; nested and sparse ones, which CUDA takes.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.device.arguments import aten
from torchtraceap_dryrun.private_names import private

# They take tensors of the host beside those of the device, as CUDA's do.
_TAKE_BOTH = aten("""
    index index_put index_put_ _index_put_impl_ _pack_padded_sequence
    _pad_packed_sequence _cudnn_rnn _cudnn_rnn_backward _local_scalar_dense set_
""")

_Nested = private("torch.nested._internal.nested_tensor.NestedTensor")
_MAKE_NESTED = ("aten::_nested_view_from", "aten::_nested_tensor_from_tensor_list")


def refuse_mixed(name: str, tensors: Sequence[Tensor]) -> None:
    """Raise RuntimeError, as CUDA does, if an operator that is given tensors of the
    device is given others than numbers of the host."""
    if name in _TAKE_BOTH:
        return
    hosts = [t for t in tensors if t.device.type == "cpu" and t.dim() > 0]
    if hosts and len(hosts) < len(tensors):
        raise two_devices("cpu", name)


def two_devices(other: str, what: str) -> RuntimeError:
    """Return CUDA's error for tensors on it and on another device: which tensors, and
    the operator or other call that combined them."""
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two "
        f"devices, cuda:0 and {other}! ({what}, in a dry run as on a GPU)"
    )


def no_sparse() -> DryRunError:
    return DryRunError("sparse tensors cannot be run dry: leave them on the host")


def refuse_nested(name: str, types: Sequence[type]) -> None:
    """Raise DryRunError if an operator makes nested tensors, or takes them: ``types``
    has the classes of its tensors, as far as they are of Python."""
    if name.startswith(_MAKE_NESTED) or any(one is _Nested for one in types):
        raise DryRunError(
            "nested tensors cannot be run dry: take padded ones and a mask for the dry "
            "run, or leave out what needs them"
        )
