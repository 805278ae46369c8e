# SPDX-License-Identifier: BSD-3-Clause
"""private_names.py: every private name of torch that a dry run needs.

They may change with any version: 2.11 and 2.13 have all of them. Loads torch.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from torchtraceap.errors import DryRunError

#: name: what it is needed for.
NAMES = {
    "torch._C._current_autograd_node": "tell backward operators from forward ones",
    "torch._C._autograd._get_sequence_nr": "find what backward belongs to",
    "torch._C.DisableTorchFunction": "keep devices as they are inside operators",
    "torch._C._dispatch_has_kernel_for_dispatch_key": "take composite operators apart",
    "torch._dynamo.device_interface": "load it before there seems to be CUDA, where "
    "it would ask for more of it",
    "torch.utils._device.DeviceContext": "find a default device",
    "torch.serialization._package_registry": "load onto the device",
    "torch.storage.TypedStorage._data_ptr": "load storages once",
    "torch._prims_common.suggest_memory_format": "lay out what convolutions give",
    "torch._tensor_str._str": "print tensors as they would be on a GPU",
    "torch.library._scoped_library": "give operators the kernels of a GPU for a while",
    "torch._C.DispatchKey": "let autocast see tensors on the device",
    "torch._C.DispatchKeySet": "let autocast see tensors on the device",
    "torch._C._dispatch_tls_set_dispatch_key_included": "let autocast see tensors "
    "on the device",
    "torch._C._ExcludeDispatchKeyGuard": "cast as autocast does, once",
    "torch._C._AutoDispatchBelowAutograd": "run an operator as one, with its gradient",
    "torch._C._get_sdp_priority_order": "choose the attention kernel",
    "torch.utils.data._utils.worker._worker_loop": "end the run in workers",
    "torch.utils._python_dispatch._disable_current_modes": "end the run in workers, "
    "and hide what it works out from modes of others",
    "torch.utils._python_dispatch._push_mode": "show operators to modes of others",
    "torch.utils._python_dispatch._pop_mode": "show operators to modes of others",
    "torch._C._len_torch_dispatch_stack": "find modes of others",
    "torch.utils.data._utils.pin_memory.pin_memory": "pin batches",
    "torch.utils.data.dataloader._MultiProcessingDataLoaderIter": "pin batches",
    "torch.distributed.distributed_c10d._new_process_group_helper": "stand for NCCL",
    "torch.distributed.distributed_c10d._world": "stand for NCCL",
    "torch.distributed.distributed_c10d._get_default_timeout": "stand for NCCL",
    "torch.distributed._compute_bucket_assignment_by_size": "stand for DDP's reducer",
    "torch.autograd.Variable._execution_engine": "stand for DDP's reducer",
    "torch.autograd._engine_run_backward": "see code that backward calls",
    "torch._C._autograd._push_saved_tensors_default_hooks": "see code that packs",
    "torch._C._EnableTorchFunction": "see code that torch calls back",
    "torch._C._is_torch_function_all_disabled": "see code that torch calls back",
    "torch.overrides._get_current_function_mode_stack": "find a default device",
    "torch._dynamo.eval_frame._callback_from_stance": "see calls of what was compiled",
    "torch.nn.modules.module._has_any_global_hook": "let torch.compile not warn of us",
    "torch.overrides._pop_mode": "leave modes of the program where they are",
    "torch.overrides._push_mode": "leave modes of the program where they are",
    "torch.utils._python_dispatch._get_current_dispatch_mode_stack": "leave modes of "
    "the program where they are",
    "torch._GLOBAL_DEVICE_CONTEXT": "set the default device back",
    "torch._C._swap_tensor_impl": "move parameters and bring them back",
    "torch.Tensor._cdata": "move parameters and bring them back",
    "torch._C._group_tensors_by_device_and_dtype": "run optimizers as on a GPU",
}


@cache
def private(path: str) -> Any:
    """Return a private object of torch by its dotted path, which `NAMES` must have.

    Raises:
        DryRunError: This version of torch has no such name.
    """
    import torch

    use = NAMES[path]
    parts = path.split(".")
    found: Any = torch
    for at, part in enumerate(parts[1:], 2):
        if not hasattr(found, part):
            try:
                import_module(".".join(parts[:at]))
            except ImportError:
                raise DryRunError(
                    f"torch {torch.__version__} has no {path}, which a dry run needs "
                    f"to {use}. Use torch 2.11 to 2.13, or report it as a bug of "
                    "torchtraceap"
                ) from None
        found = getattr(found, part)
    return found


def check_names() -> None:
    """Raise DryRunError, before anything is changed, if a name is missing."""
    for path in NAMES:
        private(path)
