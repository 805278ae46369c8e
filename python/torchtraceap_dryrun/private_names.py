# SPDX-License-Identifier: BSD-3-Clause
"""private_names.py: every private name of torch that a dry run needs.

They may change with any version, so all are looked up before anything is changed.
`Class()` in a name means an instance of it, as only instances have some attributes.
Loads torch.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from torchtraceap.base.errors import DryRunError

#: The version of torch that all tests were run with.
TESTED = "2.13"

_ITERATOR = "torch.utils.data.dataloader._MultiProcessingDataLoaderIter"

#: name: what it is needed for.
NAMES = {
    "torch._C._set_default_tensor_type": "refuse types of CUDA",
    "torch._C._current_autograd_node": "tell backward operators from forward ones",
    "torch._C._autograd._get_sequence_nr": "find what backward belongs to",
    "torch._C.DisableTorchFunction": "keep devices as they are inside operators",
    "torch._C._dispatch_has_kernel_for_dispatch_key": "take composite operators apart",
    "torch._dynamo.device_interface": "load it before there seems to be CUDA, where "
    "it would ask for more of it",
    "torch.utils._device.DeviceContext": "find a default device",
    "torch.utils._device._device_constructors": "find what is asked to be on meta",
    "torch.serialization._package_registry": "load onto the device",
    "torch.UntypedStorage._cdata": "tell memory apart",
    "torch.UntypedStorage._write_file": "pickle storages",
    "torch.UntypedStorage._set_from_file": "load pickled storages",
    "torch.UntypedStorage._share_cuda_": "refuse other processes",
    "torch.storage.TypedStorage._data_ptr": "load storages once",
    "torch._prims_common.suggest_memory_format": "lay out what convolutions give",
    "torch.storage.TypedStorage()._untyped_storage": "load storages once",
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
    _ITERATOR: "pin batches",
    _ITERATOR + "._next_data": "pin batches",
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
    "torch.nested._internal.nested_tensor.NestedTensor": "refuse nested tensors",
    "torch._subclasses.fake_tensor.FakeTensorMode": "refuse torch.export",
    "torch._dynamo.eval_frame._callback_from_stance": "see calls of what was compiled",
    "torch.nn.modules.module._has_any_global_hook": "let torch.compile not warn of us",
    "torch.overrides._pop_mode": "leave modes of the program where they are",
    "torch.overrides._push_mode": "leave modes of the program where they are",
    "torch.utils._python_dispatch._get_current_dispatch_mode_stack": "leave modes of "
    "the program where they are",
    "torch._GLOBAL_DEVICE_CONTEXT": "set the default device back",
    "torch.cuda._lazy_init": "refuse other threads than the one that is followed",
    "torch._C._swap_tensor_impl": "move parameters and bring them back",
    "torch.Tensor._cdata": "move parameters and bring them back",
    "torch._has_compatible_shallow_copy_type": "move modules as on a GPU",
    "torch._C._group_tensors_by_device_and_dtype": "run optimizers as on a GPU",
    "torch.utils._python_dispatch.TorchDispatchMode": "see operators",
    "torch._C.DispatchKey.CompositeImplicitAutograd": "take composite operators apart",
    "torch.ops.aten.add.Tensor.py_kernels": "take composite operators apart",
    "torch.ops.aten.add.Tensor.decompose": "take composite operators apart",
    "torch.ops.aten.add.Tensor._op_dk": "take composite operators apart",
    "torch.ops.aten.add.Tensor._schema": "know what operators take and give",
    "torch.ops.aten.add.Tensor._overloadname": "tell operators apart",
    "torch.ops.aten._to_copy": "copy between the host and the device",
    "torch.ops.aten._safe_softmax": "work out attention",
    "torch._neg_view": "work out values of views",
    "torch._C._FunctionBase._sequence_nr": "find what backward belongs to",
    "torch.library.Library().m": "give operators the kernels of a GPU for a while",
    "torch.Tensor._is_view": "cast as autocast does, once",
    "torch.nn.Module._apply": "bring modules back to the host",
    "torch.nn.RNN()._parameters": "bring modules back to the host",
    "torch.nn.RNN()._buffers": "bring modules back to the host",
    "torch.nn.RNN()._init_flat_weights": "bring modules back to the host",
    "torch.nn.RNN()._flat_weights": "lay out weights as cuDNN does",
    "torch.nn.RNN()._flat_weights_names": "lay out weights as cuDNN does",
    "torch.distributed._Work": "stand for NCCL",
    "torch.distributed.distributed_c10d.rendezvous": "stand for NCCL",
    "torch.distributed.Backend._plugins": "stand for NCCL",
    "torch.distributed.Backend.backend_list": "stand for NCCL",
    "torch.distributed.Backend.backend_capability": "stand for NCCL",
    "torch.distributed.Backend.backend_type_map": "stand for NCCL",
    "torch.distributed.Backend.default_device_backend_map": "stand for NCCL",
    "torch.distributed.Reducer": "stand for DDP's reducer",
    "torch.distributed.Logger": "stand for DDP's reducer",
    "torch.distributed._broadcast_coalesced": "stand for DDP's reducer",
    "torch.distributed._verify_params_across_processes": "stand for DDP's reducer",
    "torch.distributed._register_comm_hook": "stand for DDP's reducer",
    "torch.distributed._register_builtin_comm_hook": "stand for DDP's reducer",
}

# How to make the objects that NAMES asks attributes of, small and without values.
_MADE_WITH: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "RNN": ((1, 1), {"device": "meta"}),
    "Library": (("aten", "IMPL"), {}),
    "TypedStorage": ((), {"_internal": True}),
}


@cache
def private(path: str) -> Any:
    """Return a private object of torch by its dotted path, which `NAMES` must have.

    Raises:
        DryRunError: This version of torch has no such name.
    """
    import torch

    use = NAMES[path]
    found: Any = torch
    parts = path.split(".")
    for at, part in enumerate(parts[1:], 2):
        name = part.removesuffix("()")
        if not hasattr(found, name):
            try:
                import_module(".".join(parts[:at]))
            except ImportError:
                raise missing(path, f", which a dry run needs to {use}") from None
        found = getattr(found, name)
        if name != part:
            args, kwargs = _MADE_WITH[name]
            found = found(*args, **kwargs)
    return found


def missing(name: str, use: str = "") -> DryRunError:
    """Return what says that this version of torch has no such name."""
    import torch

    return DryRunError(
        f"torch {torch.__version__} has no {name}{use}. Dry runs were tested with "
        f"torch {TESTED}: use that, or report it as a bug of torchtraceap"
    )


def check_names() -> None:
    """Raise DryRunError, before anything is changed, if a name is missing."""
    for path in NAMES:
        private(path)
