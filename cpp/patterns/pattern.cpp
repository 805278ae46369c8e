// SPDX-License-Identifier: BSD-3-Clause
// patterns/pattern.cpp: the table's rows.
#include "patterns/pattern.h"

#include <algorithm>

namespace tta::patterns {
namespace {

template <std::size_t n>
using Kinds = std::array<std::string_view, n>;

constexpr Kinds<3> kDataloaderBoundKinds = {"single_process", "multi_process",
                                            "worker_start"};
constexpr Kinds<2> kGcPauseKinds = {"recorded", "conjectured"};
constexpr Kinds<5> kRecompileOrLazyLoadKinds = {"first_iteration", "module_loading",
                                                "recompile", "late_compile",
                                                "context_creation"};
constexpr Kinds<3> kAllocatorChurnKinds = {"allocate", "release", "uncached"};
constexpr Kinds<5> kSyncStallKinds = {"scalar_read", "data_dependent_shape",
                                      "blocking_copy", "event", "explicit"};
constexpr Kinds<2> kLaunchBoundKinds = {"kernels", "graphs"};
constexpr Kinds<2> kUnfusedOptimizerKinds = {"single_tensor", "many_kernels"};
constexpr Kinds<2> kDataParallelKinds = {"module", "buffers"};
constexpr Kinds<2> kSmallCollectivesKinds = {"latency", "issuing"};
constexpr Kinds<2> kStepOutlierKinds = {"step", "kernel"};
constexpr Kinds<2> kHostBoundPythonKinds = {"recorded", "unrecorded"};
constexpr Kinds<2> kFrequentMemcpyKinds = {"small", "round_trip"};
constexpr Kinds<2> kSlowCopyKinds = {"large", "small"};
constexpr Kinds<4> kRedundantD2dKinds = {"cast", "layout", "copy", "graph_buffers"};
constexpr Kinds<5> kLowOccupancyKinds = {"registers", "shared_memory", "block_size",
                                         "grid", "unknown"};

constexpr auto kCpu = PatternSide::kCpu;
constexpr auto kGpu = PatternSide::kGpu;

// clang-format off: a row a paragraph
constexpr std::array<PatternInfo, 33> kTable = {{
    {PatternId::kProfilerArtifact, "profiler_artifact", kCpu, false,
     "The profiler itself kept the device waiting.",
     "Nothing to fix in the program: the time is not there without the profiler.",
     {}},
    {PatternId::kDataloaderBound, "dataloader_bound", kCpu, true,
     "The device waited for the next batch.",
     "Load in the background: DataLoader(num_workers=4 or more, pin_memory=True,"
     " persistent_workers=True); with workers already, give more of them, a "
     "larger prefetch_factor, or cheaper decoding and augmentation.",
     kDataloaderBoundKinds,
     false,
     Fix::kSkip},
    {PatternId::kGcPause, "gc_pause", kCpu, true,
     "Python's garbage collector stopped the program.",
     "Collect at moments of your choice: gc.disable() or gc.freeze() after "
     "set-up and gc.collect() every N steps; break reference cycles that keep "
     "tensors alive.",
     kGcPauseKinds,
     false,
     Fix::kHide},
    {PatternId::kRecompileOrLazyLoad, "recompile_or_lazy_load", kCpu, true,
     "Code was compiled or loaded while the device waited.",
     "Warm up before what matters: run a few iterations first, with every shape "
     "that will occur.",
     kRecompileOrLazyLoadKinds,
     false,
     Fix::kHide},
    {PatternId::kAllocatorChurn, "allocator_churn", kCpu, true,
     "Device memory was taken from or given back to the driver within the steps.",
     "Let the caching allocator keep its memory: do not call "
     "torch.cuda.empty_cache() in the loop, keep shapes stable, or set "
     "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
     kAllocatorChurnKinds,
     false,
     Fix::kSkip},
    {PatternId::kCpuInitThenCopy, "cpu_init_then_copy", kCpu, true,
     "Tensors were filled on the CPU and then copied to the device.",
     "Make the tensor where it is used: torch.zeros(..., device=device) instead "
     "of torch.zeros(...).to(device).",
     {},
     false,
     Fix::kSkip},
    {PatternId::kPageableCopy, "pageable_copy", kCpu, true,
     "Copies from or to pageable memory made the host wait.",
     "Pin the host's memory (DataLoader(pin_memory=True), tensor.pin_memory()) "
     "and copy with non_blocking=True.",
     {},
     true,
     Fix::kPin},
    {PatternId::kFrequentMemcpy, "frequent_memcpy", kCpu, true,
     "Many small copies between host and device.",
     "Make the tensors on the device (device=...), or gather them into one "
     "pinned buffer and copy once a step with non_blocking=True.",
     kFrequentMemcpyKinds,
     false,
     Fix::kSkip},
    {PatternId::kDataParallel, "data_parallel", kCpu, true,
     "Data parallelism kept the host busy around every forward pass.",
     "Use DistributedDataParallel, one process a device: no scatter, no gather, "
     "no copy of the module in each step.",
     kDataParallelKinds,
     false,
     Fix::kHide},
    {PatternId::kSyncStall, "sync_stall", kCpu, true,
     "The host waited for the device, and the device then ran dry.",
     "Keep the value on the device: accumulate losses as tensors and read them "
     "every N steps, replace data-dependent shapes by masks or torch.where, and "
     "remove explicit synchronization from the step.",
     kSyncStallKinds,
     false,
     Fix::kDropWaits},
    {PatternId::kLoopIndexing, "loop_indexing", kCpu, true,
     "A Python loop indexed a tensor element by element.",
     "Work on the whole tensor at once: batch the loop's body, or use "
     "index_select, gather, unbind, torch.vmap.",
     {},
     false,
     Fix::kBatch},
    {PatternId::kGraphBreak, "graph_break", kCpu, true,
     "Eager code ran between the compiled regions of one step.",
     "Look where the graph breaks (TORCH_LOGS=graph_breaks, or fullgraph=True to"
     " make it an error): move printing, .item() and data-dependent branches out"
     " of the compiled function.",
     {},
     false,
     Fix::kSkip},
    {PatternId::kUnfusedOptimizer, "unfused_optimizer", kCpu, true,
     "The optimizer updated the parameters one by one.",
     "Build the optimizer with fused=True or foreach=True, e.g. "
     "torch.optim.AdamW(..., fused=True).",
     kUnfusedOptimizerKinds,
     true,
     Fix::kMultiTensor},
    {PatternId::kZeroGradFill, "zero_grad_fill", kCpu, true,
     "Gradients were filled with zeros instead of dropped.",
     "Call optimizer.zero_grad(set_to_none=True), the default since torch 2.0.",
     {},
     false,
     Fix::kSkip},
    {PatternId::kSmallCollectives, "small_collectives", kGpu, true,
     "Many small collectives, each with the latency of a large one.",
     "Put small tensors into one collective: larger DDP buckets (bucket_cap_mb),"
     " torch.distributed's coalescing manager, flattened gradients.",
     kSmallCollectivesKinds,
     true,
     Fix::kBucket},
    {PatternId::kMissedCudaGraph, "missed_cuda_graph", kCpu, true,
     "The same kernels were launched one by one in every step.",
     "This stretch of the step repeats exactly, so capture it: "
     "torch.compile(mode=\"reduce-overhead\"), "
     "torch.cuda.make_graphed_callables, or torch.cuda.CUDAGraph around what lies "
     "between two waits or reads.",
     {},
     false,
     Fix::kCapture},
    {PatternId::kLaunchBound, "launch_bound", kCpu, true,
     "The device was faster than the host could launch work.",
     "Launch less: torch.compile(mode=\"reduce-overhead\") or CUDA graphs, "
     "larger batches, fused or foreach operators instead of loops over small "
     "tensors.",
     kLaunchBoundKinds,
     false,
     Fix::kCapture},
    {PatternId::kHostBoundPython, "host_bound_python", kCpu, true,
     "Python code between the operators kept the device waiting.",
     "Move the work out of the step (precompute, cache, another thread or "
     "process), or let torch.compile take the Python away.",
     kHostBoundPythonKinds,
     false,
     Fix::kHide},
    {PatternId::kStepOutlier, "step_outlier", kCpu, true,
     "Single steps or kernels took far longer than the others.",
     "Compare a slow step with a usual one: garbage collection, checkpoints, "
     "logging, evaluation, other jobs on the machine.",
     kStepOutlierKinds},
    {PatternId::kCommStreamSerialised, "comm_stream_serialised", kGpu, true,
     "Communication and computation took turns though nothing says they must.",
     "Start the collective with async_op=True and wait for it where its result "
     "is used; let FSDP or DDP prefetch.",
     {},
     false,
     Fix::kOverlap},
    {PatternId::kCommExposed, "comm_exposed", kGpu, true,
     "Communication ran with no computation beside it.",
     "Overlap it: gradients in buckets (DDP bucket_cap_mb), FSDP prefetch, "
     "async_op=True with work between; then look whether another rank is late.",
     {},
     false,
     Fix::kOverlap},
    {PatternId::kSlowCopy, "slow_copy", kGpu, true,
     "Copies were far slower than the link allows.",
     "Pin the host's memory and copy in few large pieces; check the PCIe link "
     "(nvidia-smi -q: current link width) and the NUMA node.",
     kSlowCopyKinds,
     true},
    {PatternId::kExposedCopy, "exposed_copy", kGpu, true,
     "Copies between host and device ran with no computation beside them.",
     "Copy the next batch while this one computes: non_blocking=True from pinned"
     " memory on a stream of its own.",
     {},
     false,
     Fix::kOverlap},
    {PatternId::kRedundantD2d, "redundant_d2d", kGpu, true,
     "The device copied or converted data that it already had.",
     "Keep one dtype and one memory format through the model: cast once outside "
     "the loop, use channels_last throughout, avoid .contiguous() and .clone() "
     "where views do.",
     kRedundantD2dKinds,
     false,
     Fix::kSkip},
    {PatternId::kTensorCoreUnused, "tensor_core_unused", kGpu, true,
     "Matrix products ran without tensor cores.",
     "Run in float16 (torch.autocast), bfloat16, or allow TF32: "
     "torch.set_float32_matmul_precision(\"high\") (both from Ampere on).",
     {},
     true},
    {PatternId::kMisalignedGemm, "misaligned_gemm", kGpu, true,
     "Half-precision matrix products had sizes that are no multiple of 8.",
     "Pad the sizes (vocabulary, hidden, batch) to multiples of 8, better 64.",
     {},
     true},
    {PatternId::kUnfusedAttention, "unfused_attention", kGpu, true,
     "Attention ran as separate products and softmax.",
     "Use torch.nn.functional.scaled_dot_product_attention, or a model option "
     "for it (attn_implementation=\"sdpa\").",
     {},
     true},
    {PatternId::kConvBiasBn, "conv_bias_bn", kGpu, true,
     "A convolution added a bias that the batch norm after it removes.",
     "Make the convolution with bias=False.",
     {}},
    {PatternId::kFusibleChain, "fusible_chain", kGpu, true,
     "Chains of small elementwise kernels passed data through memory each time.",
     "Let torch.compile fuse the chain, or use a fused operator (F.layer_norm, "
     "F.gelu, fused optimizers).",
     {},
     true,
     Fix::kFuse},
    {PatternId::kSmallGrid, "small_grid", kGpu, true,
     "Kernels had fewer blocks than the device has multiprocessors.",
     "Give each kernel more work: larger batches, batched instead of single "
     "products, several streams.",
     {},
     true},
    {PatternId::kLowOccupancy, "low_occupancy", kGpu, true,
     "Kernels kept few of the device's threads busy.",
     "For kernels of your own: fewer registers or less shared memory a block, "
     "other block sizes; else larger problems or another algorithm.",
     kLowOccupancyKinds,
     true},
    {PatternId::kLowConcurrency, "low_concurrency", kGpu, true,
     "Small kernels on several streams ran one after another.",
     "Look what orders the streams (events, the default stream, blocking "
     "copies); or batch the work into fewer, larger kernels.",
     {},
     true},
    {PatternId::kQueueFull, "queue_full", kGpu, false,
     "The host was so far ahead that launching had to wait: the device is the "
     "limit.",
     "Nothing on the host's side would help: make the kernels faster or fewer.",
     {}},
}};
// clang-format on

// Those whose rules look at a process's own time where no device worked.
constexpr std::array kOnHost = {
    PatternId::kDataloaderBound,     PatternId::kGcPause,
    PatternId::kRecompileOrLazyLoad, PatternId::kLoopIndexing,
    PatternId::kGraphBreak,          PatternId::kUnfusedOptimizer,
    PatternId::kZeroGradFill,        PatternId::kHostBoundPython,
    PatternId::kStepOutlier,         PatternId::kCommExposed,
    PatternId::kRedundantD2d,        PatternId::kUnfusedAttention,
    PatternId::kConvBiasBn};

}  // namespace

std::span<const PatternInfo> patterns() { return kTable; }

bool found_on_host(PatternId id) {
  return std::find(kOnHost.begin(), kOnHost.end(), id) != kOnHost.end();
}

std::span<const FixInfo> fixes() {
  static constexpr FixInfo kFixes[] = {
#define TTA_FIX_INFO(id, name, doc) {name, doc},
      TTA_FIXES(TTA_FIX_INFO)
#undef TTA_FIX_INFO
  };
  return kFixes;
}

}  // namespace tta::patterns
