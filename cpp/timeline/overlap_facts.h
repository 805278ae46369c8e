// SPDX-License-Identifier: BSD-3-Clause
// timeline/overlap_facts.h: how much of a device's communication and copies its
// computation hides.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/timeline.h"

namespace tta::timeline {

/// One device's time by kind of work. Each number is the length of a union over all
/// streams, in nanoseconds inside the analysed span: what runs twice at once counts
/// once.
struct OverlapFacts {
  std::int32_t device = 0;
  std::int64_t compute_ns = 0;  ///< All work but communication, copies and memsets.
  std::int64_t comm_ns = 0;     ///< Kernels of Timeline::is_communication.
  std::int64_t copy_ns = 0;     ///< Copies of any direction, and memsets.

  std::int64_t hidden_comm_ns = 0;  ///< Communication while computation ran too.
  std::int64_t hidden_copy_ns = 0;  ///< Copies while computation ran too.
  std::int64_t comm_copy_ns = 0;    ///< Communication and copies at once.
};

/// Measures each device with work, in the order of Timeline::devices; empty for a trace
/// without device work. O(n log n) in the device rows.
std::vector<OverlapFacts> overlap_facts(const Timeline& timeline);

}  // namespace tta::timeline
