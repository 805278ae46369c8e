// SPDX-License-Identifier: BSD-3-Clause
// patterns/pattern_rows.h: the one list of anti-patterns. The ids, the table, the
// declarations of the rules and the list of rules are all made of it.
//
// The order is the order of precedence: where two causes could explain the same idle
// nanosecond, the one further up has it. The profiler's own doing comes first (never
// the user's fault), then causes with the narrowest evidence.
#pragma once

// id (its rule is id##Rule), name in reports, JSON and documentation, side, family,
// fix; flags, sub-types; what happened, what to do about it.
//
//   kFinding: its claims are reported; without, they are only accounted for.
//   kEstimate: its claims beyond idle time are an upper estimate of how much faster the
//     same work could be; without, they are measured time, all of it lost.
//   kOnHost: it can also be found in a trace without device work, where it wastes host
//     time; the others are unknown for such a trace.
#define TTA_PATTERNS(X)                                                                \
  X(kProfilerArtifact, "profiler_artifact", kCpu, kOther, kShorten, kNothing, (),      \
    "The profiler itself kept the device waiting.",                                    \
    "Nothing to fix in the program: the time is not there without the profiler.")      \
  X(kNoRequests, "no_requests", kCpu, kOther, kShorten, kNothing, (),                  \
    "A serving engine had no requests.",                                               \
    "Nothing to fix in the program: record under load to judge it.")                   \
  X(kDataloaderBound, "dataloader_bound", kCpu, kInput, kSkip, kFinding | kOnHost,     \
    ("single_process", "multi_process", "worker_start"),                               \
    "The program waited for the next batch.",                                          \
    "Load in the background: DataLoader(num_workers=4 or more, pin_memory=True, "      \
    "persistent_workers=True); if it has workers, use more of them, a larger "         \
    "prefetch_factor, or cheaper decoding and augmentation.")                          \
  X(kGcPause, "gc_pause", kCpu, kWait, kHide, kFinding | kOnHost,                      \
    ("recorded", "conjectured"), "Python's garbage collector stopped the program.",    \
    "Collect at moments of your choice: gc.disable() or gc.freeze() after set-up "     \
    "and gc.collect() every N steps; break reference cycles that keep tensors "        \
    "alive.")                                                                          \
  X(kRecompileOrLazyLoad, "recompile_or_lazy_load", kCpu, kCompile, kHide,             \
    kFinding | kOnHost,                                                                \
    ("first_iteration", "module_loading", "recompile", "late_compile",                 \
     "context_creation"),                                                              \
    "Code was compiled or loaded.",                                                    \
    "Warm up first: run a few iterations with every shape "                            \
    "that will occur.")                                                                \
  X(kAllocatorChurn, "allocator_churn", kCpu, kCompile, kSkip, kFinding,               \
    ("allocate", "release", "uncached", "retry"),                                      \
    "Device memory was allocated from or freed to the driver within the steps.",       \
    "Let the caching allocator keep its memory: do not call "                          \
    "torch.cuda.empty_cache() in the loop, keep shapes stable, or set "                \
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.")                               \
  X(kCpuInitThenCopy, "cpu_init_then_copy", kCpu, kInput, kSkip, kFinding, (),         \
    "Tensors were filled on the CPU and then copied to the device.",                   \
    "Make the tensor where it is used: torch.zeros(..., device=device) instead "       \
    "of torch.zeros(...).to(device).")                                                 \
  X(kPageableCopy, "pageable_copy", kCpu, kCopy, kPin, kFinding | kEstimate, (),       \
    "Copies from or to pageable memory made the host wait.",                           \
    "Pin the host's memory (DataLoader(pin_memory=True), tensor.pin_memory()) "        \
    "and copy with non_blocking=True.")                                                \
  X(kFrequentMemcpy, "frequent_memcpy", kCpu, kCopy, kSkip, kFinding,                  \
    ("small", "round_trip"), "Many small copies between host and device.",             \
    "Make the tensors on the device (device=...), or gather them into one pinned "     \
    "buffer and copy once a step with non_blocking=True.")                             \
  X(kDataParallel, "data_parallel", kCpu, kLaunch, kHide, kFinding,                    \
    ("module", "buffers"),                                                             \
    "Data parallelism kept the host busy around every forward pass.",                  \
    "Use DistributedDataParallel, one process a device: no scatter, no gather, "       \
    "no copy of the module in each step.")                                             \
  X(kDecodeEagerFallback, "decode_eager_fallback", kCpu, kLaunch, kCapture, kFinding,  \
    ("size", "eager"), "A serving engine ran a step without a CUDA graph.",            \
    "Capture graphs for all batches that occur.")                                      \
  X(kGraphLaunchExposed, "graph_launch_exposed", kCpu, kLaunch, kHide, kFinding, (),   \
    "The device waited for the launch of a decode step's graph.",                      \
    "Launch it while the step before still runs (asynchronous scheduling), or make "   \
    "it smaller: a launch takes about 1 µs a node, so fuse its small kernels.")        \
  X(kDecodeSamplingSync, "decode_sampling_sync", kCpu, kWait, kDropWaits, kFinding,    \
    (), "Reading the sampled tokens made the device run dry between decode steps.",    \
    "Keep the tokens on the device for the next step, and read them later.")           \
  X(kAsyncSchedulingOff, "async_scheduling_off", kCpu, kLaunch, kHide, kFinding, (),   \
    "Each decode step was scheduled only after the one before had ended.",             \
    "Schedule asynchronously: vLLM --async-scheduling, SGLang without "                \
    "--disable-overlap-schedule.")                                                     \
  X(kDecodeHostGap, "decode_host_gap", kCpu, kLaunch, kHide, kFinding, (),             \
    "The device idled between decode steps while the host was busy.",                  \
    "Move that work off the path from one step to the next.")                          \
  X(kPiecewiseGraph, "piecewise_graph", kCpu, kLaunch, kHide, kFinding, (),            \
    "A decode step consisted of many graphs, and the device idled between them.",      \
    "Capture decode steps as one graph, attention included.")                          \
  X(kSyncStall, "sync_stall", kCpu, kWait, kDropWaits, kFinding,                       \
    ("scalar_read", "data_dependent_shape", "blocking_copy", "event", "explicit"),     \
    "The host waited for the device, and the device then ran dry.",                    \
    "Keep the value on the device: accumulate losses as tensors and read them "        \
    "every N steps, replace data-dependent shapes by masks or torch.where, and "       \
    "remove explicit synchronization from the step.")                                  \
  X(kLoopIndexing, "loop_indexing", kCpu, kWait, kBatch, kFinding | kOnHost, (),       \
    "A Python loop indexed a tensor element by element.",                              \
    "Work on the whole tensor at once: batch the loop's body, or use "                 \
    "index_select, gather, unbind, torch.vmap.")                                       \
  X(kGraphBreak, "graph_break", kCpu, kCompile, kSkip, kFinding | kOnHost, (),         \
    "Eager code ran between the compiled regions of one step.",                        \
    "Find where the graph breaks (TORCH_LOGS=graph_breaks, or fullgraph=True to "      \
    "make it an error): move printing, .item() and data-dependent branches out "       \
    "of the compiled function.")                                                       \
  X(kUnfusedOptimizer, "unfused_optimizer", kCpu, kOptimizer, kMultiTensor,            \
    kFinding | kEstimate | kOnHost, ("single_tensor", "many_kernels"),                 \
    "The optimizer updated the parameters one by one.",                                \
    "Build the optimizer with fused=True or foreach=True, e.g. "                       \
    "torch.optim.AdamW(..., fused=True).")                                             \
  X(kZeroGradFill, "zero_grad_fill", kCpu, kOptimizer, kSkip, kFinding | kOnHost, (),  \
    "Gradients were filled with zeros instead of dropped.",                            \
    "Call optimizer.zero_grad(set_to_none=True), the default since torch 2.0.")        \
  X(kDecodeCommExposed, "decode_comm_exposed", kGpu, kCommunication, kOverlap,         \
    kFinding, (), "Collectives of decode steps ran with no computation beside them.",  \
    "Use one-shot all-reduce kernels, fused with the norm after them.")                \
  X(kSmallCollectives, "small_collectives", kGpu, kCommunication, kBucket,             \
    kFinding | kEstimate, ("latency", "issuing"),                                      \
    "Many small collectives, each with the latency of a large one.",                   \
    "Put small tensors into one collective: larger DDP buckets (bucket_cap_mb), "      \
    "torch.distributed's coalescing manager, flattened gradients.")                    \
  X(kMissedCudaGraph, "missed_cuda_graph", kCpu, kLaunch, kCapture, kFinding, (),      \
    "The same kernels were launched one by one in every step.",                        \
    "Capture this stretch of the step, which repeats exactly: "                        \
    "torch.compile(mode=\"reduce-overhead\"), torch.cuda.make_graphed_callables, "     \
    "or torch.cuda.CUDAGraph around the code between two waits or reads.")             \
  X(kLaunchBound, "launch_bound", kCpu, kLaunch, kCapture, kFinding,                   \
    ("kernels", "graphs"), "The device was faster than the host could launch work.",   \
    "Launch less: torch.compile(mode=\"reduce-overhead\") or CUDA graphs, larger "     \
    "batches, fused or foreach operators instead of loops over small tensors.")        \
  X(kHostBoundPython, "host_bound_python", kCpu, kLaunch, kHide, kFinding | kOnHost,   \
    ("recorded", "unrecorded"),                                                        \
    "Python code between the operators held everything up.",                           \
    "Move the work out of the step (precompute, cache, another thread or "             \
    "process), or let torch.compile remove the Python code.")                          \
  X(kStepOutlier, "step_outlier", kCpu, kWait, kShorten, kFinding | kOnHost,           \
    ("step", "kernel"), "Single steps or kernels took far longer than the others.",    \
    "Compare a slow step with a usual one: garbage collection, checkpoints, "          \
    "logging, evaluation, other jobs on the machine.")                                 \
  X(kCommStreamSerialised, "comm_stream_serialised", kGpu, kCommunication, kOverlap,   \
    kFinding, (),                                                                      \
    "Communication and computation took turns without a recorded dependency.",         \
    "Start the collective with async_op=True and wait for it where its result is "     \
    "used; let FSDP or DDP prefetch.")                                                 \
  X(kCommExposed, "comm_exposed", kGpu, kCommunication, kOverlap, kFinding | kOnHost,  \
    (), "Communication ran with no computation beside it.",                            \
    "Overlap it: gradients in buckets (DDP bucket_cap_mb), FSDP prefetch, "            \
    "async_op=True with work between; then check whether another rank is late.")       \
  X(kSlowCopy, "slow_copy", kGpu, kCopy, kShorten, kFinding | kEstimate,               \
    ("large", "small"), "Copies were far slower than the link allows.",                \
    "Pin the host's memory and copy in few large pieces; check the PCIe link "         \
    "(nvidia-smi -q: current link width) and the NUMA node.")                          \
  X(kExposedCopy, "exposed_copy", kGpu, kCopy, kOverlap, kFinding, (),                 \
    "Copies between host and device ran with no computation beside them.",             \
    "Copy the next batch while this one computes: non_blocking=True from pinned "      \
    "memory on a separate stream.")                                                    \
  X(kCpuCast, "cpu_cast", kCpu, kCopy, kSkip, kFinding | kEstimate | kOnHost, (),      \
    "The CPU converted tensors to another dtype.",                                     \
    "Keep one dtype: create tensors and load data in the type that is computed with, " \
    "convert weights once outside the loop. Casts of autocast go only with a model "   \
    "in that type (model.to(torch.bfloat16)).")                                        \
  X(kDequantPerStep, "dequant_per_step", kGpu, kKernel, kShorten, kFinding, (),        \
    "Weights were dequantized again in each decode step.",                             \
    "Use a kernel that computes with quantized weights: vLLM and SGLang choose "       \
    "Marlin "                                                                          \
    "or Machete for AWQ and GPTQ where sizes and device allow.")                       \
  X(kDecodePadding, "decode_padding", kGpu, kKernel, kShorten, kFinding | kEstimate,   \
    (), "Decode steps computed padding beside their requests.",                        \
    "Capture graphs for more batch sizes: cudagraph_capture_sizes (vLLM), "            \
    "--cuda-graph-bs (SGLang).")                                                       \
  X(kPrefillBlocksDecode, "prefill_blocks_decode", kGpu, kKernel, kShorten,            \
    kFinding | kEstimate, (),                                                          \
    "Requests waited for the prompts of others between two of their tokens.",          \
    "Let decode steps run in chunks of prompts: vLLM --enable-chunked-prefill, "       \
    "SGLang --enable-mixed-chunk.")                                                    \
  X(kRedundantD2d, "redundant_d2d", kGpu, kCopy, kSkip, kFinding,                      \
    ("cast", "layout", "copy", "graph_buffers"),                                       \
    "The device copied or converted data that it already had.",                        \
    "Keep one dtype and one memory format through the model: cast once outside "       \
    "the loop, use channels_last throughout, avoid .contiguous() and .clone() "        \
    "where views suffice.")                                                            \
  X(kTensorCoreUnused, "tensor_core_unused", kGpu, kKernel, kShorten,                  \
    kFinding | kEstimate, (), "Matrix products ran without tensor cores.",             \
    "Run in float16 (torch.autocast), bfloat16, or allow TF32: "                       \
    "torch.set_float32_matmul_precision(\"high\") (both from Ampere on).")             \
  X(kMisalignedGemm, "misaligned_gemm", kGpu, kKernel, kShorten, kFinding | kEstimate, \
    (), "Half-precision matrix products had sizes that are not multiples of 8.",       \
    "Pad the sizes (vocabulary, hidden, batch) to multiples of 8, preferably 64.")     \
  X(kUnfusedAttention, "unfused_attention", kGpu, kKernel, kShorten,                   \
    kFinding | kEstimate | kOnHost, (),                                                \
    "Attention ran as separate products and softmax.",                                 \
    "Use torch.nn.functional.scaled_dot_product_attention, or a model option for "     \
    "it (attn_implementation=\"sdpa\").")                                              \
  X(kAttentionBackend, "attention_backend", kGpu, kKernel, kShorten,                   \
    kFinding | kEstimate, (), "A serving engine computed attention unfused.",          \
    "Choose a fused attention backend.")                                               \
  X(kConvBiasBn, "conv_bias_bn", kGpu, kKernel, kShorten, kFinding | kOnHost, (),      \
    "A convolution added a bias that the batch norm after it removes.",                \
    "Make the convolution with bias=False.")                                           \
  X(kUnfusedSmallKernels, "unfused_small_kernels", kGpu, kKernel, kShorten,            \
    kFinding | kEstimate, (),                                                          \
    "Decode steps ran chains of tiny kernels in each layer.",                          \
    "Let the engine fuse them.")                                                       \
  X(kFusibleChain, "fusible_chain", kGpu, kKernel, kFuse, kFinding | kEstimate, (),    \
    "Chains of small elementwise kernels passed data through memory each time.",       \
    "Let torch.compile fuse the chain, or use a fused operator (F.layer_norm, "        \
    "F.gelu, fused optimizers).")                                                      \
  X(kSmallGrid, "small_grid", kGpu, kKernel, kShorten, kFinding | kEstimate, (),       \
    "Kernels had fewer blocks than the device has multiprocessors.",                   \
    "Give each kernel more work: larger batches, batched instead of single "           \
    "products, several streams.")                                                      \
  X(kLowOccupancy, "low_occupancy", kGpu, kKernel, kShorten, kFinding | kEstimate,     \
    ("registers", "shared_memory", "block_size", "grid", "unknown"),                   \
    "Kernels kept few of the device's threads busy.",                                  \
    "Launch your own kernels with fewer registers, less shared memory a block or "     \
    "other block sizes; for others, try larger problems or another algorithm.")        \
  X(kSlowKernel, "slow_kernel", kGpu, kKernel, kShorten, kFinding | kEstimate,         \
    ("misaligned", "precision", "format", "old_kernel", "waves", "tiles", "head_size", \
     "depthwise", "few_channels", "dilated", "transposed", "pointwise", "strided",     \
     "low_intensity", "product", "convolution", "attention", "memory"),                \
    "Kernels ran far below what the device can do.",                                   \
    "Use a kernel that suits the sizes: another backend, memory format or size, or "   \
    "torch.compile.")
