# SPDX-License-Identifier: BSD-3-Clause
"""cause_table.py: which patterns are put into programs, in which ways, and nulls.

A mechanism edits the steps of a program. Its strength, 0 to 1, is what it was drawn
with; what it costs, the schedule without it tells. Its null touches the same path and
should cost nothing. Mechanisms have the same names in all sources: see pairs.toml and
perturbation/table.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.lab.corpus.simulation import attention_causes as attention
from benchmarks.lab.corpus.simulation import communication_causes as communication
from benchmarks.lab.corpus.simulation import device_causes as device
from benchmarks.lab.corpus.simulation import host_causes as host
from benchmarks.lab.corpus.simulation import memory_causes as memory
from benchmarks.lab.corpus.simulation import product_causes as products
from benchmarks.lab.corpus.simulation import wait_causes as waits
from benchmarks.lab.corpus.simulation.items import Steps
from benchmarks.lab.corpus.simulation.place import Place

Edit = Callable[[Steps, float, Place], None]


@dataclass(frozen=True)
class Mechanism:
    """One way in which a pattern comes about."""

    pattern: str
    name: str
    edit: Edit
    weight: float = 1.0


MECHANISMS = (
    Mechanism("sync_stall", "item", waits.read_scalars, 3),
    Mechanism("sync_stall", "device_synchronize", waits.synchronize, 2),
    Mechanism("sync_stall", "event_synchronize", waits.wait_for_events),
    Mechanism("sync_stall", "nonzero", waits.find_rows),
    Mechanism("dataloader_bound", "no_workers", host.load_in_step, 2),
    Mechanism("dataloader_bound", "slow_workers", host.load_slowly, 2),
    Mechanism("dataloader_bound", "collate", host.collate_in_step),
    Mechanism("gc_pause", "collect_each_step", host.collect_often),
    Mechanism("gc_pause", "collect_rarely", host.collect_once),
    Mechanism("gc_pause", "collector", host.collect_twice),
    Mechanism("host_bound_python", "loop", host.loop_in_python),
    Mechanism("host_bound_python", "log_text", host.log_metrics),
    Mechanism("host_bound_python", "hooks", host.run_hooks),
    Mechanism("recompile_or_lazy_load", "lazy_load", host.load_modules),
    Mechanism("recompile_or_lazy_load", "compile_again", host.compile_again),
    Mechanism("recompile_or_lazy_load", "autotune", host.tune_convolutions),
    Mechanism("frequent_memcpy", "small_uploads", memory.upload_often, 2),
    Mechanism("frequent_memcpy", "small_downloads", memory.download_often),
    Mechanism("frequent_memcpy", "per_tensor_constants", memory.upload_constants),
    Mechanism("pageable_copy", "batch_upload", memory.upload_pageable),
    Mechanism("pageable_copy", "offload", memory.offload_pageable),
    Mechanism("pageable_copy", "results_download", memory.download_pageable),
    Mechanism("exposed_copy", "late_batch", memory.upload_late),
    Mechanism("exposed_copy", "late_results", memory.download_late),
    Mechanism("exposed_copy", "late_weights", memory.upload_weights_late),
    Mechanism("allocator_churn", "malloc_free", memory.allocate),
    Mechanism("allocator_churn", "empty_cache", memory.empty_cache),
    Mechanism("allocator_churn", "retries", memory.retry_allocation),
    Mechanism("unfused_optimizer", "single_tensor", device.update_singly, 2),
    Mechanism("unfused_optimizer", "clip_per_tensor", device.clip_singly),
    Mechanism("unfused_optimizer", "ema_per_tensor", device.average_singly),
    Mechanism("redundant_d2d", "cast", device.cast_back_and_forth),
    Mechanism("redundant_d2d", "clone", device.clone_activations),
    Mechanism("redundant_d2d", "memcpy", device.copy_memory),
    Mechanism("fusible_chain", "pointwise", device.chain_pointwise),
    Mechanism("fusible_chain", "activation", device.chain_activation),
    Mechanism("fusible_chain", "normalize", device.chain_normalize),
    Mechanism("small_grid", "one_row", device.small_grids),
    Mechanism("small_grid", "samples_alone", device.grids_per_sample),
    Mechanism("small_grid", "narrow_product", device.narrow_products),
    Mechanism("tensor_core_unused", "fp32_everywhere", products.compute_in_fp32),
    Mechanism("tensor_core_unused", "fp32_block", products.compute_block_in_fp32),
    Mechanism("tensor_core_unused", "fp32_casts", products.cast_to_fp32),
    Mechanism("misaligned_gemm", "odd_vocabulary", products.odd_vocabulary),
    Mechanism("misaligned_gemm", "odd_hidden_size", products.odd_hidden_size),
    Mechanism("misaligned_gemm", "odd_sequence", products.odd_sequence),
    Mechanism("unfused_attention", "forward_only", attention.attend_forward),
    Mechanism("unfused_attention", "both_passes", attention.attend_and_back),
    Mechanism("unfused_attention", "mask_and_dropout", attention.attend_with_mask),
    Mechanism("launch_bound", "split_kernels", device.split_kernels),
    Mechanism("launch_bound", "elementwise_loop", device.loop_elementwise),
    Mechanism("launch_bound", "scalar_updates", device.update_scalars),
)
#: Only where there is another rank.
DISTRIBUTED = (
    Mechanism("comm_exposed", "after_backward", communication.reduce_late, 2),
    Mechanism("comm_exposed", "large_last_bucket", communication.reduce_last),
    Mechanism("comm_exposed", "slow_link", communication.reduce_slowly),
    Mechanism("small_collectives", "per_parameter", communication.reduce_singly, 2),
    Mechanism("small_collectives", "small_buckets", communication.reduce_in_pieces),
    Mechanism("small_collectives", "metrics", communication.reduce_metrics),
    Mechanism("comm_exposed", "late_each_step", communication.come_late, 2),
    Mechanism("comm_exposed", "late_once", communication.come_late_once),
    Mechanism("comm_exposed", "uneven_batches", communication.come_late_at_times),
)
