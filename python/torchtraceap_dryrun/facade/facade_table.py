# SPDX-License-Identifier: BSD-3-Clause
"""facade_table.py: what of torch a dry run replaces, by what: the one table.

torch.cuda, torch.accelerator and their like stay as they are. Replaced are the
functions of torch._C that they call, so torch's own checks and messages hold, and so
does what was imported from them before: `from torch.cuda import synchronize`. A CPU
build of torch has most of these functions not at all.
"""

from __future__ import annotations

_LEGACY = (
    *("Bool", "Byte", "Char", "Short", "Int", "Long"),
    *("Half", "BFloat16", "Float", "Double"),
)

_TUNING = (
    *("get_results", "get_validators", "get_filename", "read_file"),
    *("get_max_tuning_duration", "get_max_tuning_iterations"),
    "get_rotating_buffer_size",
)
_ALLOCATOR = (
    *("customAllocator", "getAllocator", "changeCurrentAllocator"),
    *("cudaCachingAllocator_raw_alloc", "cudaCachingAllocator_raw_delete"),
)

#: Name in torch: the attribute of `Facade` that stands in for it meanwhile.
REPLACED = {
    # There is a GPU.
    "torch._C._has_cuda": "yes",
    "torch._C._has_cudnn": "yes",
    "torch._C._cuda_getDeviceCount": "device.one",
    "torch._C._cuda_init": "device.nothing",
    "torch._C._cuda_isInBadFork": "device.is_forked",
    "torch._C._cuda_hasPrimaryContext": "device.yes",
    "torch._C._get_accelerator": "device.accelerator",
    "torch._C._accelerator_getAccelerator": "device.accelerator",
    "torch._C._is_flash_attention_available": "device.yes",
    "torch.cuda._initialized": "yes",
    "torch.cuda._lazy_init": "lazy_init",
    "torch.cuda._is_in_bad_fork": "device.is_forked",
    "torch.cuda._cached_device_count": "one",
    "torch.cuda._check_bf16_tensor_supported": "device.yes",
    "torch.cuda._get_pynvml_handler": "no_sensors",
    "torch.distributed.is_nccl_available": "device.yes",
    "torch.backends.cudnn.m._init": "device.yes",
    # What it is.
    "torch.cuda._get_device_properties": "device.properties",
    "torch._C._cuda_getArchFlags": "device.architectures",
    "torch._C._cuda_getCompiledVersion": "device.compiled_version",
    "torch._C._accelerator_getDeviceCapability": "device.capability",
    "torch._C._cuda_canDeviceAccessPeer": "device.no",
    # Which one is current.
    "torch._C._cuda_getDevice": "device.index",
    "torch._C._cuda_setDevice": "device.select",
    "torch._C._cuda_exchangeDevice": "device.exchange",
    "torch._C._cuda_maybeExchangeDevice": "device.exchange",
    "torch.cuda._exchange_device": "device.exchange",
    "torch.cuda._maybe_exchange_device": "device.exchange",
    "torch._C._accelerator_getDeviceIndex": "device.index",
    "torch._C._accelerator_setDeviceIndex": "device.select",
    "torch._C._accelerator_exchangeDevice": "device.exchange",
    "torch._C._accelerator_maybeExchangeDevice": "device.exchange",
    # Streams, events and waits.
    "torch.Stream": "any_stream",
    "torch.Event": "any_event",
    "torch.cuda.Stream.__new__": "cuda_stream",
    "torch.cuda.Stream.priority_range": "priority_range",
    "torch.cuda.Event.__new__": "cuda_event",
    "torch.cuda.Event.from_ipc_handle": "no_ipc",
    "torch._C._cuda_synchronize": "synchronize",
    "torch._C._cuda_getCurrentStream": "streams.current_data",
    "torch._C._cuda_getDefaultStream": "streams.default_data",
    "torch._C._cuda_getCurrentRawStream": "streams.current_handle",
    "torch._C._cuda_getStreamFromExternal": "streams.external_data",
    "torch._C._cuda_setStream": "streams.select_data",
    "torch._C._accelerator_getStream": "streams.current",
    "torch._C._accelerator_setStream": "streams.select",
    "torch._C._accelerator_synchronizeDevice": "synchronize_accelerator",
    "torch._C._cuda_set_sync_debug_mode": "device.sync_debug_mode.set",
    "torch._C._cuda_get_sync_debug_mode": "device.sync_debug_mode.get",
    "torch._C._cuda_sleep": "device.nothing",
    # Random numbers.
    "torch.Generator": "any_generator",
    "torch.cuda.default_generators": "generators",
    # Memory.
    "torch._C._cuda_memoryStats": "memory.stats",
    "torch._C._cuda_resetPeakMemoryStats": "memory.reset_peak",
    "torch._C._cuda_resetAccumulatedMemoryStats": "device.nothing",
    "torch._C._cuda_hostMemoryStats": "memory.host_stats",
    "torch._C._cuda_resetPeakHostMemoryStats": "device.nothing",
    "torch._C._cuda_resetAccumulatedHostMemoryStats": "device.nothing",
    "torch._C._cuda_emptyCache": "memory.empty_cache",
    "torch._C._host_emptyCache": "device.nothing",
    "torch._C._cuda_ipc_collect": "device.nothing",
    "torch._C._cuda_setMemoryFraction": "memory.set_fraction",
    "torch._C._cuda_getMemoryFraction": "memory.fraction",
    "torch._C._cuda_getAllocatorBackend": "memory.backend",
    "torch._C._cuda_cudaCachingAllocator_enable": "memory.caching.set",
    "torch._C._cuda_cudaCachingAllocator_is_enabled": "memory.caching.get",
    "torch._C._cuda_memorySnapshot": "memory.snapshot",
    "torch._C._cuda_record_memory_history": "device.nothing",
    "torch._C._cuda_record_memory_history_legacy": "device.nothing",
    "torch._C._cuda_isHistoryEnabled": "device.no",
    "torch._C._accelerator_isAllocatorInitialized": "device.yes",
    "torch._C._accelerator_getDeviceStats": "memory.stats",
    "torch._C._accelerator_resetPeakStats": "memory.reset_peak",
    "torch._C._accelerator_resetAccumulatedStats": "device.nothing",
    "torch._C._accelerator_emptyCache": "memory.empty_cache",
    "torch._C._accelerator_emptyHostCache": "device.nothing",
    "torch._C._accelerator_getMemoryInfo": "memory.info",
    # The runtime and its tools.
    "torch.cuda._cudart": "cudart",
    "torch.cuda.nvtx._nvtx": "nvtx",
    "torch._C._cuda_clearCublasWorkspaces": "device.nothing",
    "torch._C._cuda_get_cudnn_benchmark_limit": "device.benchmark_limit.get",
    "torch._C._cuda_set_cudnn_benchmark_limit": "device.benchmark_limit.set",
    "torch._C._cuda_setCublasWorkspaceSize": "device.workspace.set",
    "torch._C._cuda_getCublasWorkspaceSize": "device.workspace.get",
    "torch._C._cuda_setCublasLtWorkspaceSize": "device.workspace.set",
    "torch._C._cuda_getCublasLtWorkspaceSize": "device.workspace.get",
    "torch._C._nccl_version": "device.nccl_version",
    "torch._C._nccl_version_suffix": "device.nccl_suffix",
    "torch._C._cuda_tunableop_enable": "device.nothing",
    "torch._C._cuda_tunableop_is_enabled": "device.no",
    "torch._C._cuda_tunableop_tuning_enable": "device.nothing",
    "torch._C._cuda_tunableop_tuning_is_enabled": "device.no",
    "torch._C._cuda_record_untuned_enable": "device.nothing",
    "torch._C._cuda_record_untuned_is_enabled": "device.no",
    # Refused.
    **{f"torch._C._cuda_tunableop_{name}": "no_tuning" for name in _TUNING},
    **{f"torch.cuda.{kind}Tensor": "legacy_type" for kind in _LEGACY},
    "torch._C._set_default_tensor_type": "set_default_type",
    "torch.cuda.graphs._graph_pool_handle": "no_graph",
    "torch.cuda.CUDAGraph.__new__": "no_graph",
    "torch.accelerator.Graph.__new__": "no_graph",
    "torch.cuda.graphs._cuda_isCurrentStreamCapturing": "device.no",
    "torch._C._cuda_isCurrentStreamCapturing": "device.no",
    "torch.cuda.MemPool.__new__": "no_allocator",
    **{f"torch._C._cuda_{name}": "no_allocator" for name in _ALLOCATOR},
    "torch._C._cuda_getCurrentBlasHandle": "no_handle",
    "torch._C._cuda_getCurrentSolverHandle": "no_handle",
    "torch._C._cuda_jiterator_compile_and_launch_kernel": "no_jiterator",
}

#: Set only where torch says None, because it was built without CUDA.
SET_IF_NONE = {
    "torch.version.cuda": "cuda_version",
    "torch.backends.cudnn.m.__cudnn_version": "cudnn_version",
}

#: These remember what they said, so they are made to forget, before and after.
CACHES = (
    "torch.get_device_module",
    "torch.accelerator.get_device_capability",
    "torch.utils._triton.has_triton",
)
