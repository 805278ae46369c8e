// SPDX-License-Identifier: BSD-3-Clause
// timeline/overlap_facts.h: how much of a device's communication and copies ran beside
// computation.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/timeline.h"

namespace tta::timeline {

/// One device's time by what ran, in nanoseconds inside the span. Each is a union over
/// all streams, so kinds that run at once count for both.
struct OverlapFacts {
  std::int32_t device = 0;          ///< Its number in the file.
  std::int64_t pid = -1;            ///< The process that feeds it, as of DeviceTime.
  std::int64_t compute_ns = 0;      ///< Kernels but those of communication.
  std::int64_t comm_ns = 0;         ///< Kernels of collectives, is_communication().
  std::int64_t copy_ns = 0;         ///< Copies; memsets are not.
  std::int64_t comm_hidden_ns = 0;  ///< Of comm_ns, with a compute kernel beside.
  std::int64_t copy_hidden_ns = 0;  ///< Of copy_ns, with a compute kernel beside.
};

/// Measures every device with work, in the order of Timeline::devices. O(n log n) in
/// the device rows.
std::vector<OverlapFacts> overlap_facts(const Timeline& timeline);

}  // namespace tta::timeline
