// SPDX-License-Identifier: BSD-3-Clause
// timeline/occupancy.h: how much of a device a kernel's blocks can fill, and why not
// more.
//
// After NVIDIA's rules for what fits on a multiprocessor (CUDA C++ Programming Guide,
// "Compute Capabilities"): registers are given out by 256 a warp, shared memory with 1
// KiB for the system a block from compute capability 8 on.
#pragma once

#include <optional>

#include "timeline/device_properties.h"
#include "timeline/event_args.h"

namespace tta::timeline {

/// What keeps more threads off; the pattern low_occupancy has them as sub-types, in
/// this order.
enum class OccupancyLimit : std::uint8_t {
  kRegisters,
  kSharedMemory,
  kBlockSize,
  kGrid,
  kUnknown,
};

struct Occupancy {
  double percent = 0;  ///< Of the threads that a multiprocessor can hold; 0 to 100.
  OccupancyLimit limit = OccupancyLimit::kUnknown;
};

/// Returns the share of a device's multiprocessors that a grid has blocks for, capped
/// to 1; nothing if the grid is unknown, or both the device and Kineto's "blocks per
/// SM" are. `device` may be null.
std::optional<double> fill(const WorkArgs& work, const DeviceProperties* device);

/// Returns the multiprocessors of the device, -1 if unknown: as the header has it, else
/// from the grid and Kineto's "blocks per SM". `device` may be null.
std::int64_t multiprocessors(const WorkArgs& work, const DeviceProperties* device);

/// Returns what a multiprocessor's resources allow of a kernel: blocks that fit at once
/// and the resource that allows no more. Nothing if a needed number is unknown.
struct Residency {
  std::int64_t blocks = 0;
  OccupancyLimit limit = OccupancyLimit::kUnknown;
};
std::optional<Residency> residency(const WorkArgs& work,
                                   const DeviceProperties& device);

/// Fills in Kineto's estimates ("blocks per SM", "warps per SM", "est. achieved
/// occupancy %") where a writer left them out, as Cuspy does, and all they follow from
/// is known. Above 48 KiB of shared memory the last one is 0, as Kineto's is.
void complete_occupancy(const DeviceProperties& device, WorkArgs& work);

/// Returns a kernel's occupancy and what limits it: Kineto's estimate if given, else
/// computed. A zero counts as not given: Kineto rounds to whole percents, so zero means
/// less than half a percent or a failed estimate. Nothing if neither is possible.
/// `device` may be null.
std::optional<Occupancy> occupancy(const WorkArgs& work,
                                   const DeviceProperties* device);

}  // namespace tta::timeline
