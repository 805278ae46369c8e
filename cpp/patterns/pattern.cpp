// SPDX-License-Identifier: BSD-3-Clause
// patterns/pattern.cpp: the table's rows.
#include "patterns/pattern.h"

namespace tta::patterns {
namespace {

constexpr std::array<std::string_view, 5> kSyncKinds = {
    "scalar_read", "data_dependent_shape", "blocking_copy", "event", "explicit"};
constexpr std::array<std::string_view, 2> kLoaderKinds = {"single_process",
                                                          "multi_process"};

constexpr std::array<PatternInfo, 6> kTable = {{
    {PatternId::kProfilerArtifact,
     "profiler_artifact",
     PatternSide::kCpu,
     false,
     "The profiler itself kept the device waiting.",
     "Nothing to fix in the program: the time is not there without the profiler.",
     {}},
    {PatternId::kDataloaderBound, "dataloader_bound", PatternSide::kCpu, true,
     "The device waited for the next batch.",
     "Load in the background: DataLoader(num_workers=4 or more, pin_memory=True, "
     "persistent_workers=True); with workers already, give more of them, a larger "
     "prefetch_factor, or cheaper decoding and augmentation.",
     kLoaderKinds},
    {PatternId::kFrequentMemcpy,
     "frequent_memcpy",
     PatternSide::kCpu,
     true,
     "Many small copies between host and device.",
     "Make the tensors on the device (device=...), or gather them into one pinned "
     "buffer and copy once a step with non_blocking=True.",
     {}},
    {PatternId::kSyncStall, "sync_stall", PatternSide::kCpu, true,
     "The host waited for the device, and the device then ran dry.",
     "Keep the value on the device: accumulate losses as tensors and read them every "
     "N steps, replace data-dependent shapes by masks or torch.where, and remove "
     "explicit synchronization from the step.",
     kSyncKinds},
    {PatternId::kCommExposed,
     "comm_exposed",
     PatternSide::kGpu,
     true,
     "Communication ran with no computation beside it.",
     "Overlap it: gradient bucketing (DDP bucket_cap_mb), async_op=True with work "
     "between, FSDP prefetch; then look whether another rank is late.",
     {}},
    {PatternId::kLaunchBound,
     "launch_bound",
     PatternSide::kCpu,
     true,
     "The device was faster than the host could launch work.",
     "Launch less: torch.compile(mode=\"reduce-overhead\") or CUDA graphs, larger "
     "batches, fused or foreach operators instead of loops over small tensors.",
     {}},
}};

}  // namespace

std::span<const PatternInfo> patterns() { return kTable; }

}  // namespace tta::patterns
